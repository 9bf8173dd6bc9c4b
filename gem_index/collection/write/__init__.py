"""Change a collection: store documents, fit models, write snapshots, export and import."""
