"""How many documents a collection holds, without counting those in its index."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection

from gem_index.store.documents import DocumentRepository
from gem_index.store.names import CollectionRepository

__all__ = ["Counts", "count_documents"]


@dataclass(frozen=True)
class Counts:
    """Vectors in the snapshot, those of them that are dead, and the documents after it."""

    vectors: int
    dead: int
    tail: int

    @property
    def documents(self) -> int:
        """The living documents."""
        return self.vectors - self.dead + self.tail


def count_documents(connection: Connection, collection_id: int) -> Counts:
    """Count the documents, by what the snapshot holds and what has changed since."""
    snapshot = CollectionRepository(connection).snapshot(collection_id)
    documents = DocumentRepository(connection, collection_id)
    if snapshot is None:
        return Counts(0, 0, documents.count())
    tail = documents.count(snapshot.last_seq)
    return Counts(snapshot.vectors, documents.buried(snapshot.last_seq), tail)
