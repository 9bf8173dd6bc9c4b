"""Collections: documents in the database, vectors in snapshots, and the operations on both."""

from gem_index.collection.collection import Collection
from gem_index.collection.request import SearchOptions

__all__ = ["Collection", "SearchOptions"]
