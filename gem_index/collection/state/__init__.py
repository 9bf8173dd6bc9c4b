"""The state of a collection: rows in a transaction, views for readers, models and texts."""
