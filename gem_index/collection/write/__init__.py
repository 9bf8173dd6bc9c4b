"""Change a collection: documents, fits, snapshots, exports."""
