"""The documents of a collection in the database: write, delete and read documents, and find changes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
from sqlalchemy import (
    CursorResult,
    column,
    delete,
    func,
    select,
    table,
)

from gem_index.documents import Document, content_hash
from gem_index.store.filtered import FilteredDocuments, Seqs
from gem_index.store.records import StoredDocument
from gem_index.store.schema import documents, tombstones
from gem_index.store.upsert import OnExisting, Upsert, UpsertCounts, bury
from gem_index.text.chunking import Chunking
from gem_index.text.tokens import WeightedText
from gem_index.text.written_forms import found_in_any_form, written_forms

__all__ = ["DocumentRepository"]

_BATCH = 2000  # values in one statement, well below SQLite's limit

_STORED = (
    documents.c.seq,
    documents.c.document_id,
    documents.c.text,
    documents.c.metadata,
    documents.c.weights,
)


class DocumentRepository(FilteredDocuments):
    """The documents of one collection.

    A document whose content changes gets a new ``seq``, and its old ``seq`` becomes a tombstone. So a ``seq`` always
    identifies the same content.
    """

    # ----------------------------------------------------------------- writing

    def upserting(
        self, on_existing: OnExisting = "replace", chunking: Chunking | None = None
    ) -> Upsert:
        """Return an upsert, which can write documents from several inputs, and counts their pieces."""
        return Upsert(self._connection, self._collection_id, on_existing, chunking or Chunking())

    def next_seq(self) -> int:
        """Return the seq that the next new document in the database will get; later documents get the following numbers."""
        kept = table("sqlite_sequence", column("name"), column("seq"))
        last = select(kept.c.seq).where(kept.c.name == documents.name)
        return int(self._connection.scalar(last) or 0) + 1

    def upsert(self, items: Iterable[Document]) -> UpsertCounts:
        """Write documents without a document source; see :meth:`Upsert.take`."""
        upsert = self.upserting()
        upsert.take(items)
        return upsert.counts

    def delete(self, ids: Iterable[str]) -> list[str]:
        """Delete documents by id; return the ids that the collection does not have."""
        wanted = list(dict.fromkeys(ids))
        missing = []
        for begin in range(0, len(wanted), _BATCH):
            batch = wanted[begin : begin + _BATCH]
            present = self._find(batch)
            missing += [identifier for identifier in batch if identifier not in present]
            bury(self._connection, self._collection_id, sorted(set(present.values())))
        return missing

    def _find(self, ids: Sequence[str]) -> dict[str, int]:
        forms = [form for identifier in ids for form in written_forms(identifier)]
        rows = self._connection.execute(
            select(documents.c.document_id, documents.c.seq).where(
                self._mine, documents.c.document_id.in_(forms)
            )
        )
        return found_in_any_form(ids, {row.document_id: row.seq for row in rows})

    # --------------------------------------------------------------- changes

    def tombstones_after(self, change: int) -> tuple[list[int], int]:
        """Return the seqs of tombstones after a change number, and the newest change number."""
        rows = self._connection.execute(
            select(tombstones.c.seq, tombstones.c.change)
            .where(tombstones.c.collection_id == self._collection_id, tombstones.c.change > change)
            .order_by(tombstones.c.change)
        ).all()
        return [seq for seq, _ in rows], rows[-1].change if rows else change

    def forget_tombstones(self, up_to_change: int) -> None:
        """Remove the tombstones up to a change number; the present snapshot must not have documents of these tombstones."""
        self._connection.execute(
            delete(tombstones).where(
                tombstones.c.collection_id == self._collection_id,
                tombstones.c.change <= up_to_change,
            )
        )

    def texts_after(self, seq: int) -> Iterator[tuple[int, str]]:
        """Iterate over (seq, text) of the documents above a seq, ascending."""
        columns = (documents.c.seq, documents.c.text, documents.c.weights)
        query = select(*columns).order_by(documents.c.seq).limit(_BATCH)
        while rows := self._connection.execute(
            query.where(self._mine, documents.c.seq > seq)
        ).all():
            yield from ((seq, _text(text, weights)) for seq, text, weights in rows)
            seq = rows[-1].seq

    def metadata_after(self, seq: int) -> Iterator[tuple[int, str]]:
        """Iterate over (seq, metadata as JSON) of the documents above a seq, ascending."""
        query = select(documents.c.seq, documents.c.metadata).order_by(documents.c.seq)
        rows = self._connection.execute(query.where(self._mine, documents.c.seq > seq))
        yield from ((at, text) for at, text in rows)

    def damaged(self, compared: Callable[[int], None] | None = None) -> Iterator[str]:
        """Iterate over the ids of documents whose text or metadata does not match its hash.

        ``compared`` is called with the number of compared documents.
        """
        seq = done = 0
        query = select(*_STORED, documents.c.content_hash).order_by(documents.c.seq).limit(_BATCH)
        while rows := self._connection.execute(
            query.where(self._mine, documents.c.seq > seq)
        ).all():
            for row in rows:
                if content_hash(row.text, row.metadata, row.weights) != row.content_hash:
                    yield row.document_id
            seq = rows[-1].seq
            done += len(rows)
            if compared is not None:
                compared(done)

    # ----------------------------------------------------------------- reading

    def seqs(self, first: int | None = None, after: int = 0) -> Seqs:
        """Return the seqs above ``after``, ascending; ``first`` is the largest number of seqs to return."""
        query = select(documents.c.seq).where(self._mine, documents.c.seq > after)
        query = query.order_by(documents.c.seq)
        rows = self._connection.execute(query.limit(first))
        assert isinstance(rows, CursorResult)
        # read the driver's tuples directly, because a collection may have millions of ids
        cursor: Any = rows.cursor
        return np.fromiter(chain.from_iterable(cursor), dtype=np.int64)

    def last_seq(self) -> int:
        """Return the seq of the newest document; 0 without documents."""
        return int(
            self._connection.scalar(select(func.max(documents.c.seq)).where(self._mine)) or 0
        )

    def characters(self, after: int) -> int:
        """Return the number of characters in the texts of documents above a seq; this reads the texts."""
        query = select(func.sum(func.length(documents.c.text)))
        return int(self._connection.scalar(query.where(self._mine, documents.c.seq > after)) or 0)

    def buried(self, up_to_seq: int) -> int:
        """Return the number of tombstones of documents up to a seq."""
        query = select(func.count(tombstones.c.seq.distinct())).where(
            tombstones.c.collection_id == self._collection_id, tombstones.c.seq <= up_to_seq
        )
        return int(self._connection.scalar(query) or 0)

    def ids_from(self, source_id: int) -> list[str]:
        """Return the ids of the documents that came from a document source, ascending."""
        query = select(documents.c.document_id).where(
            self._mine, documents.c.source_id == source_id
        )
        return sorted(self._connection.scalars(query))

    def ids_of(self, seqs: Seqs) -> list[str]:
        """Return the ids of the documents with these seqs, in the same order; all documents must exist."""
        found: dict[int, str] = {}
        for begin in range(0, len(seqs), _BATCH):
            wanted = documents.c.seq.in_(seqs[begin : begin + _BATCH].tolist())
            query = select(documents.c.seq, documents.c.document_id).where(self._mine, wanted)
            found |= {row.seq: row.document_id for row in self._connection.execute(query)}
        return [found[seq] for seq in seqs.tolist()]

    def texts(self, seqs: Sequence[int]) -> list[str]:
        """Return the texts of the documents with these seqs, in the same order; all documents must exist."""
        found: dict[int, str] = {}
        for begin in range(0, len(seqs), _BATCH):
            wanted = documents.c.seq.in_(seqs[begin : begin + _BATCH])
            rows = self._connection.execute(
                select(documents.c.seq, documents.c.text, documents.c.weights).where(
                    self._mine, wanted
                )
            )
            found.update((seq, _text(text, weights)) for seq, text, weights in rows)
        return [found[seq] for seq in seqs]

    def seqs_of(self, ids: Sequence[str]) -> dict[str, int]:
        """Return the seqs of the documents with these ids; missing documents are omitted."""
        found: dict[str, int] = {}
        for begin in range(0, len(ids), _BATCH):
            found |= self._find(ids[begin : begin + _BATCH])
        return found

    def by_seq(self, seqs: Sequence[int]) -> dict[int, StoredDocument]:
        """Return the documents with these seqs; missing documents are omitted."""
        return {
            seq: StoredDocument(seq=seq, document_id=name, text=text, metadata=metadata)
            for seq, name, text, metadata in zip(*self.columns(seqs), strict=True)
        }

    def columns(self, seqs: Sequence[int]) -> tuple[list[int], list[str], list[str], list[str]]:
        """Return seqs, ids, texts and metadata (JSON) of the documents with these seqs; missing documents are omitted."""
        wanted = sorted({int(seq) for seq in seqs})
        condition = "seq IN (SELECT value FROM json_each(?))"
        values: list[Any] = [json.dumps(wanted)]
        if wanted and wanted[-1] - wanted[0] < len(wanted):
            condition, values = "seq BETWEEN ? AND ?", [wanted[0], wanted[-1]]
        # read the driver's tuples, because SQLAlchemy would make an object for each row
        cursor: Any = self._connection.exec_driver_sql(
            "SELECT seq, document_id, text, metadata, weights FROM documents "  # noqa: S608 - parameters
            f"WHERE collection_id = ? AND {condition} ORDER BY seq",
            (self._collection_id, *values),
        ).cursor
        rows = cursor.fetchall()
        found, names, texts, metadata, weights = (
            map(list, zip(*rows, strict=True)) if rows else ([],) * 5
        )
        if any(weights):
            texts = [_text(*pair) for pair in zip(texts, weights, strict=True)]
        return found, names, texts, metadata

    def weighted(self) -> bool:
        """Tell whether at least one document has a text with weights."""
        query = select(documents.c.seq).where(self._mine, documents.c.weights.is_not(None))
        return self._connection.scalar(query.limit(1)) is not None


def _text(text: str, weights: str | None) -> str:
    return text if weights is None else WeightedText(text, json.loads(weights))
