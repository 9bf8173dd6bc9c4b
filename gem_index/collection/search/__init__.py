"""Answer queries from a view of a collection."""
