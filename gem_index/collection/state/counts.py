"""Count the documents of a collection without reading those in its index."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection

from gem_index.store.documents import DocumentRepository
from gem_index.store.names import CollectionRepository

__all__ = ["Counts", "count_documents"]


@dataclass(frozen=True)
class Counts:
    """The numbers of vectors in the snapshot, of deleted ones among them, and of documents in the tail."""

    vectors: int
    dead: int
    tail: int

    @property
    def documents(self) -> int:
        """The number of present documents."""
        return self.vectors - self.dead + self.tail


def count_documents(connection: Connection, collection_id: int) -> Counts:
    """Count the documents from the snapshot's size and the changes since it was written."""
    snapshot = CollectionRepository(connection).snapshot(collection_id)
    documents = DocumentRepository(connection, collection_id)
    if snapshot is None:
        return Counts(0, 0, documents.count())
    tail = documents.count(snapshot.last_seq)
    return Counts(snapshot.vectors, documents.buried(snapshot.last_seq), tail)
