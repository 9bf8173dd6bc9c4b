"""Filters and fields of a collection's documents in the database."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from sqlalchemy import ColumnElement, Connection, Select, bindparam, func, select, true
from sqlalchemy.exc import OperationalError

from gem_index.common.forking import cached_property
from gem_index.errors import FilterError, InputError
from gem_index.errors.quoting import quoted
from gem_index.store.kinds import Kinds, check_equalities, check_orderings, kind_of_value
from gem_index.store.schema import documents
from gem_index.store.where import compile_where, field_value, fields_of

__all__ = ["FilteredDocuments", "Seqs"]

Seqs: TypeAlias = npt.NDArray[np.int64]

_LIMITS = ("too large", "stack overflow", "too complex", "too many")
"""Parts of SQLite's messages about statements that are too large."""


class FilteredDocuments:
    """The documents of one collection that a filter accepts, and the fields and kinds of values in its metadata.

    Parameters
    ----------
    connection : Connection
    collection_id : int
    """

    def __init__(self, connection: Connection, collection_id: int) -> None:
        self._connection = connection
        self._collection_id = collection_id

    @cached_property
    def _mine(self) -> ColumnElement[bool]:
        """The SQL condition that a row belongs to the collection."""
        return documents.c.collection_id == self._collection_id

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

    def count(self, after: int = 0) -> int:
        """Return the number of documents above a seq; this reads every row."""
        query = select(func.count()).select_from(documents)
        return int(self._connection.scalar(query.where(self._mine, documents.c.seq > after)) or 0)

    def matching(self, where: Mapping[str, Any], after: int = 0) -> Seqs:
        """Return the seqs above ``after`` of the documents that a filter accepts, ascending."""
        query = select(documents.c.seq).where(
            self._mine, documents.c.seq > after, compile_where(where, documents.c.metadata)
        )
        with _size_as_filter_error():
            rows = self._connection.execute(query.order_by(documents.c.seq))
            return np.fromiter(rows.scalars(), dtype=np.int64)

    def accepted_mask(
        self, where: Mapping[str, Any], metadata: Sequence[str]
    ) -> npt.NDArray[np.bool_]:
        """Return a mask (n,) of the metadata (JSON objects) that a filter accepts; FilterError if it is too large."""
        table = func.json_each(json.dumps(metadata)).table_valued("key", "value")
        query = select(table.c.key).where(compile_where(where, table.c.value))
        found = np.zeros(len(metadata), np.bool_)
        with _size_as_filter_error():
            found[np.fromiter(self._connection.scalars(query), dtype=np.int64)] = True
        return found

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


@contextmanager
def _size_as_filter_error() -> Iterator[None]:
    """Raise FilterError if SQLite refuses the statement of a filter because of its size."""
    try:
        yield
    except OperationalError as error:
        if not any(limit in str(error.orig) for limit in _LIMITS):
            raise
        raise FilterError(
            f"the filter is too large for SQLite: {error.orig}; expected fewer or shorter conditions: use $in for many "
            "values of one field"
        ) from error
