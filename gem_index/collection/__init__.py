"""Collections: documents in the database, vectors in snapshots, and the use cases over both."""

from gem_index.collection.collection import Collection

__all__ = ["Collection"]
