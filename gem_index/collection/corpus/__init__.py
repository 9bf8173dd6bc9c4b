"""What all texts of a collection say: duplicates, topics, maps, drift."""
