"""Operations on all texts of a collection: duplicates, topics, maps, drift."""
