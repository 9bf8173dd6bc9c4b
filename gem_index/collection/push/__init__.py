"""Fill vector databases from a collection or from texts, and keep them in step."""
