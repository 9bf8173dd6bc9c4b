"""Fill vector databases from a collection or from texts, and update them."""
