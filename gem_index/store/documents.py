"""The documents of a collection in the database: write, delete and read documents, and find changes."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from sqlalchemy import (
    ColumnElement,
    Connection,
    CursorResult,
    Select,
    bindparam,
    column,
    delete,
    func,
    select,
    table,
    true,
)
from sqlalchemy.exc import OperationalError

from gem_index.documents import Document, content_hash
from gem_index.errors import FilterError, InputError
from gem_index.forking import cached_property
from gem_index.quoting import quoted
from gem_index.store.kinds import Kinds, check_equalities, check_orderings, kind_of_value
from gem_index.store.records import StoredDocument
from gem_index.store.schema import documents, tombstones
from gem_index.store.upsert import OnExisting, Upsert, UpsertCounts, bury
from gem_index.store.where import compile_where, field_value, fields_of
from gem_index.text.chunking import Chunking
from gem_index.text.tokens import WeightedText
from gem_index.text.written_forms import found_in_any_form, written_forms

__all__ = ["DocumentRepository"]

Seqs: TypeAlias = npt.NDArray[np.int64]

_BATCH = 2000  # values in one statement, well below SQLite's limit

_LIMITS = ("too large", "stack overflow", "too complex", "too many")
"""Parts of SQLite's messages about statements that are too large."""

_STORED = (
    documents.c.seq,
    documents.c.document_id,
    documents.c.text,
    documents.c.metadata,
    documents.c.weights,
)


class DocumentRepository:
    """The documents of one collection.

    A document whose content changes gets a new ``seq``, and its old ``seq`` becomes a tombstone. So a ``seq`` always
    identifies the same content.
    """

    def __init__(self, connection: Connection, collection_id: int) -> None:
        self._connection = connection
        self._collection_id = collection_id

    @cached_property
    def _mine(self) -> ColumnElement[bool]:
        """The SQL condition that a row belongs to the collection."""
        return documents.c.collection_id == self._collection_id

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

    def upsert(
        self, items: Iterable[Document], on_existing: OnExisting = "replace"
    ) -> UpsertCounts:
        """Write documents without a document source; see :meth:`Upsert.take`."""
        upsert = self.upserting(on_existing)
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

    def field_values(self, name: str, after: int = 0) -> Iterator[tuple[int, Any]]:
        """Iterate over (seq, value) of the documents that have a field and a seq above ``after``, ascending by seq.

        Raises
        ------
        FilterError
            If no filter can name this field.
        """
        value, kind = field_value(name, documents.c.metadata)
        has_field = compile_where({name: {"$exists": True}}, documents.c.metadata)
        query = select(documents.c.seq, value, kind).order_by(documents.c.seq)
        for seq, found, json_type in self._connection.execute(
            query.where(self._mine, documents.c.seq > after, has_field)
        ):
            if json_type in ("true", "false"):
                yield seq, json_type == "true"
            else:
                yield seq, json.loads(found) if json_type in ("array", "object") else found

    def metadata_sample(self, count: int) -> list[str]:
        """Return the metadata, as JSON, of at most ``count`` documents, which are taken at even intervals of seqs."""
        query = select(func.min(documents.c.seq), func.max(documents.c.seq)).where(self._mine)
        first, last = self._connection.execute(query).one()
        if first is None:
            return []
        following = select(documents.c.seq, documents.c.metadata).where(
            self._mine, documents.c.seq >= bindparam("after")
        )
        following = following.order_by(documents.c.seq).limit(1)
        found: dict[int, str] = {}
        for after in np.linspace(first, last, count, dtype=np.int64).tolist():
            if not found or after > max(found):
                seq, metadata = self._connection.execute(following, {"after": after}).one()
                found[seq] = metadata
        return list(found.values())

    def last_seq(self) -> int:
        """Return the seq of the newest document; 0 without documents."""
        return int(
            self._connection.scalar(select(func.max(documents.c.seq)).where(self._mine)) or 0
        )

    def count(self, after: int = 0) -> int:
        """Return the number of documents above a seq; this reads every row."""
        query = select(func.count()).select_from(documents)
        return int(self._connection.scalar(query.where(self._mine, documents.c.seq > after)) or 0)

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

    def matching(self, where: Mapping[str, Any], after: int = 0) -> Seqs:
        """Return the seqs above ``after`` of the documents that a filter accepts, ascending."""
        query = select(documents.c.seq).where(
            self._mine, documents.c.seq > after, compile_where(where, documents.c.metadata)
        )
        try:
            rows = self._connection.execute(query.order_by(documents.c.seq))
            return np.fromiter(rows.scalars(), dtype=np.int64)
        except OperationalError as error:
            if not any(limit in str(error.orig) for limit in _LIMITS):
                raise
            raise FilterError(
                f"the filter is too large for SQLite: {error.orig}; expected fewer or shorter conditions: use $in for many "
                "values of one field"
            ) from error

    def accepted_mask(
        self, where: Mapping[str, Any], metadata: Sequence[str]
    ) -> npt.NDArray[np.bool_]:
        """Return a mask (n,) of the metadata (JSON objects) that a filter accepts."""
        table = func.json_each(json.dumps(metadata)).table_valued("key", "value")
        query = select(table.c.key).where(compile_where(where, table.c.value))
        found = np.zeros(len(metadata), np.bool_)
        found[np.fromiter(self._connection.scalars(query), dtype=np.int64)] = True
        return found

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

    def accepted(self, where: Mapping[str, Any]) -> Seqs:
        """Return the seqs that a filter accepts, ascending.

        Raises
        ------
        FilterError
            If an ordering compares values of different kinds (:func:`~gem_index.store.kinds.check_orderings`), or
            if no document is accepted and :meth:`check_fields` finds an error.
        """
        found = self.matching(where)
        check_orderings(where, self.kinds)
        if not len(found):
            self.check_fields(where)
        return found

    def kinds(self, name: str, after: int = 0) -> Kinds:
        """Return the kinds (number, text …) of a field's values in the documents above a seq."""
        kind, value = kind_of_value(name, documents.c.metadata)
        query = select(kind.label("kind"), func.min(value)).where(
            self._mine, documents.c.seq > after
        )
        return self._kinds(query)

    def kinds_in(self, name: str, metadata: Sequence[str]) -> Kinds:
        """Return the kinds of a field's values in given metadata (JSON objects)."""
        table = func.json_each(json.dumps(metadata)).table_valued("key", "value")
        kind, value = kind_of_value(name, table.c.value)
        return self._kinds(select(kind.label("kind"), func.min(value)).select_from(table))

    def _kinds(self, query: Select[Any]) -> Kinds:
        rows = self._connection.execute(query.group_by("kind"))
        return {kind: sample for kind, sample in rows if kind is not None}

    def check_fields(
        self,
        where: Mapping[str, Any],
        matching: Callable[[Mapping[str, Any]], Seqs] | None = None,
        kinds: Callable[[str], Kinds] | None = None,
    ) -> None:
        """Check the fields of a filter that accepts no document.

        Each field must exist. If the filter compares a field with a number, for example, at least one document must have a
        number in this field.

        Parameters
        ----------
        where : mapping
        matching, kinds : callable, optional
            Faster functions that are used instead of :meth:`matching` and :meth:`kinds`.

        Raises
        ------
        FilterError
            If one of the fields is in no document; the message has similar names. Also if the filter compares a field
            with a kind of value that this field never has.
        """
        matching = matching or self.matching
        for name in fields_of(where):
            if not len(matching({name: {"$exists": True}})) and self.count():
                raise FilterError(
                    f"no document has the field {quoted(name)} of the filter; {self._known_fields(name)}"
                )
        check_equalities(where, kinds or self.kinds)

    def check_field(self, name: str) -> None:
        """Check that at least one document has a field; without documents, check nothing.

        Raises
        ------
        InputError
            If no document has the field; the message has similar names.
        FilterError
            If no filter can name this field.
        """
        if not len(self.matching({name: {"$exists": True}})) and self.count():
            raise InputError(
                f"no document has the field {quoted(name)}; {self._known_fields(name)}"
            )

    def _known_fields(self, name: str) -> str:
        """Return the end of a message about a field that no document has."""
        known = self._fields()
        near = difflib.get_close_matches(name[:200], known, n=3)
        outer = sorted(field for field, nested in known.items() if not nested)[:8]
        there = (
            f"did you mean {' or '.join(map(quoted, near))}?"
            if near
            else f"the fields are {', '.join(map(quoted, outer))}"
            if outer
            else "these documents have no metadata"
        )
        return f"expected a field of the metadata: {there}"

    def field_names(self) -> list[str]:
        """Return the names of the documents' fields, ascending, without fields inside objects."""
        entries = func.json_each(documents.c.metadata).table_valued("key")
        query = select(entries.c.key).distinct()
        query = query.select_from(documents.join(entries, true())).where(self._mine)
        return sorted(self._connection.scalars(query))

    def _fields(self) -> dict[str, bool]:
        """Return the names by which filters call the documents' fields; the value is True for a field inside an object."""
        entries = func.json_tree(documents.c.metadata).table_valued("key", "fullkey", "path")
        columns = select(entries.c.key, entries.c.fullkey, entries.c.path).distinct()
        query = columns.select_from(documents.join(entries, true())).where(self._mine)
        found: dict[str, bool] = {}
        for key, place, above in self._connection.execute(query):
            if key is None:  # the metadata object itself
                continue
            if above == "$":
                found[str(key)] = False
            elif not set(place).intersection('"['):
                found.setdefault(place.removeprefix("$."), True)
        return found

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
