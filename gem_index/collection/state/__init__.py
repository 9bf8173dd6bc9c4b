"""The state of a collection: its rows in a transaction, its views for readers, its model and its texts."""
