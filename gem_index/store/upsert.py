"""Write documents by id: add new ones, replace those whose content differs, leave the others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal, TypeAlias

from sqlalchemy import Connection, delete, func, insert, select, update

from gem_index.documents import Document
from gem_index.errors import DuplicateIdError, ExistingIdError, InputError
from gem_index.store.content_ids import ContentIds
from gem_index.store.schema import documents, tombstones
from gem_index.text.chunking import Chunking
from gem_index.text.written_forms import composed

__all__ = ["ForeignDocumentError", "OnExisting", "Upsert", "UpsertCounts", "bury"]

OnExisting: TypeAlias = Literal["replace", "keep", "refuse"]
"""How to treat a document whose id is already stored."""

# a statement for the driver itself: for each row, SQLAlchemy's handling of parameters takes as long as SQLite's insert
_INSERT = (
    "INSERT INTO documents (collection_id, document_id, text, metadata, content_hash, weights, source_id) "
    "VALUES (?, ?, ?, ?, ?, ?, ?)"
)

_BATCH = 2000  # well below SQLite's limit on bound values in one statement


class ForeignDocumentError(InputError):
    """A document would replace one that came from another source."""

    def __init__(self, document_id: str, source_id: int) -> None:
        super().__init__(document_id)
        self.document_id = document_id
        self.source_id = source_id


@dataclass
class UpsertCounts:
    """The result of an upsert, in numbers of documents."""

    added: int = 0
    updated: int = 0
    unchanged: int = 0
    pieces: int = 0  # pieces of the added and updated documents


class Upsert:
    """One upsert into a collection, of documents from one source or several.

    Parameters
    ----------
    connection : Connection
    collection_id : int
    on_existing : {"replace", "keep", "refuse"}
    chunking : Chunking
        The chunking, to count the pieces.

    Attributes
    ----------
    counts : UpsertCounts
    """

    def __init__(
        self,
        connection: Connection,
        collection_id: int,
        on_existing: OnExisting,
        chunking: Chunking,
    ) -> None:
        self._chunking = chunking
        self._connection = connection
        self._collection_id = collection_id
        self._on_existing = on_existing
        self._first_new = 1 + int(connection.scalar(select(func.max(documents.c.seq))) or 0)
        self._unchanged = bytearray(self._first_new // 8 + 1)  # one bit for each earlier seq
        self._ids = ContentIds(connection, collection_id, self._written)
        self.counts = UpsertCounts()

    def take(
        self,
        items: Iterable[Document],
        source_id: int | None = None,
        replaceable: Iterable[int] = (),
    ) -> None:
        """Write documents.

        Parameters
        ----------
        items : iterable of Document
        source_id : int, optional
            The document source that the documents come from.
        replaceable : iterable of int
            Other sources whose documents the new ones may replace.

        Raises
        ------
        DuplicateIdError
            If an id occurs twice, in this call or an earlier one; the caller's transaction then rolls back.
        ExistingIdError
            If an id exists and ``on_existing`` is "refuse".
        ForeignDocumentError
            If an id exists and its document came from another source.
        """
        mine = None if source_id is None else {None, source_id, *replaceable}
        iterator = iter(items)
        while batch := list(islice(iterator, _BATCH)):
            self._take(batch, source_id, mine)

    def _take(
        self, batch: Sequence[Document], source_id: int | None, mine: set[int | None] | None
    ) -> None:
        for document in batch:
            if not isinstance(document, Document):
                raise InputError(f"found a {type(document).__name__}; expected a Document")
        ids, present = self._ids.resolve(batch)
        seen: set[str] = set()
        replaced: list[int] = []
        claimed: list[int] = []
        rows: list[tuple[Any, ...]] = []
        for identifier, document in zip(ids, batch, strict=True):
            stored = present.get(identifier)
            name = composed(identifier)
            if name in seen or (stored is not None and self._written(stored.seq)):
                raise DuplicateIdError(identifier)
            seen.add(name)
            if stored is not None and self._on_existing == "refuse":
                raise ExistingIdError(identifier)
            if stored is not None and mine is not None and stored.source_id not in mine:
                assert stored.source_id is not None
                raise ForeignDocumentError(identifier, stored.source_id)
            if stored is not None and (
                self._on_existing == "keep" or stored.content_hash == document.content_hash
            ):
                self._unchanged[stored.seq >> 3] |= 1 << (stored.seq & 7)
                self.counts.unchanged += 1
                if source_id is not None and stored.source_id != source_id:
                    claimed.append(stored.seq)
                continue
            if stored is None:
                self.counts.added += 1
            else:
                self.counts.updated += 1
                replaced.append(stored.seq)
            self.counts.pieces += len(self._chunking.pieces(document.text))
            rows.append(
                (
                    self._collection_id,
                    identifier,
                    document.text,
                    document.metadata_json,
                    document.content_hash,
                    document.weights_json,
                    source_id,
                )
            )
        bury(self._connection, self._collection_id, replaced)
        if claimed:
            mark = update(documents).where(documents.c.seq.in_(claimed))
            self._connection.execute(mark.values(source_id=source_id))
        if rows:
            self._connection.exec_driver_sql(_INSERT, rows)

    def _written(self, seq: int) -> bool:
        return seq >= self._first_new or bool(self._unchanged[seq >> 3] >> (seq & 7) & 1)


def bury(connection: Connection, collection_id: int, seqs: Sequence[int]) -> None:
    """Delete documents by seq, each leaving a tombstone."""
    if not seqs:
        return
    connection.execute(delete(documents).where(documents.c.seq.in_(seqs)))
    connection.execute(
        insert(tombstones), [{"collection_id": collection_id, "seq": seq} for seq in seqs]
    )
