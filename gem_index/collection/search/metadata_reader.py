"""Filter, sort and count the present documents by their metadata, without the model."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

from gem_index.collection.search.field_filter import FieldFilter, accepted_documents
from gem_index.collection.search.ordering import sort_key
from gem_index.collection.state.access import CollectionAccess, CollectionRows
from gem_index.collection.state.metadata_fields import FieldCounts, ValueCount
from gem_index.common.arrays import F64, I64
from gem_index.errors import CorruptionError
from gem_index.index.hits import Ids, members
from gem_index.index.snapshot import open_fields

__all__ = ["MetadataReader"]

_LOG = logging.getLogger(__name__)
_Result = TypeVar("_Result")


class MetadataReader:
    """Reads the metadata of one transaction: from the snapshot's files of field values, else from the database.

    Parameters
    ----------
    access : CollectionAccess
    rows : CollectionRows
    """

    def __init__(self, access: CollectionAccess, rows: CollectionRows) -> None:
        self._access = access
        self._rows = rows

    def seqs(
        self,
        where: Mapping[str, Any] | None = None,
        sort_by: str | None = None,
        newest_first: bool = False,
    ) -> Ids:
        """Return the present documents that a filter accepts, in the order of :meth:`gem_index.Collection.documents`.

        Raises
        ------
        InputError
            If no document has the field to sort by; FilterError as from :meth:`gem_index.Collection.search`.
        """
        return self._read(lambda state: state.seqs(where, sort_by, newest_first))

    def count_by(
        self, name: str, where: Mapping[str, Any] | None, limit: int | None
    ) -> FieldCounts:
        """Count documents by the values of a field; see :meth:`gem_index.Collection.count_by`."""
        return self._read(lambda state: state.count_by(name, where, limit))

    def _read(self, work: Callable[[_State], _Result]) -> _Result:
        directory = self._rows.record.directory
        try:
            files = None if directory is None else open_fields(self._access.folder / directory)
            if files is not None:
                return work(
                    _State(self._access, self._rows, FieldFilter(self._rows.documents, *files))
                )
        except CorruptionError as error:
            # a writer may have replaced the snapshot and removed its files; then read the values from the database, where
            # the transaction still sees them
            if not self._access.views.replaced(directory):
                _LOG.warning("%s; reading the stored documents instead", error)
        return work(_State(self._access, self._rows, None))


class _State:
    """The present documents; ``fields`` is None if their values are read from the database."""

    def __init__(
        self, access: CollectionAccess, rows: CollectionRows, fields: FieldFilter | None
    ) -> None:
        self._access = access
        self._rows = rows
        self._fields = fields
        documents = rows.documents
        if fields is None:
            self._present = documents.seqs()
            return
        deleted, _ = documents.tombstones_after(0)
        self._kept = ~members(fields.ids, np.unique(np.array(deleted, np.int64)))
        self._last = int(fields.ids[-1])
        self._present = np.append(fields.ids[self._kept], documents.seqs(after=self._last))

    def seqs(self, where: Mapping[str, Any] | None, sort_by: str | None, newest_first: bool) -> Ids:
        seqs = self._accepted(where)
        if newest_first:
            seqs = seqs[::-1]
        if sort_by is None:
            return seqs
        name = sort_by.removeprefix("-")
        codes, distinct = self._values(name)
        ranks = _ranks(distinct, descending=name != sort_by)
        return seqs[np.argsort(ranks[self._of(seqs, codes)], kind="stable")]

    def count_by(
        self, name: str, where: Mapping[str, Any] | None, limit: int | None
    ) -> FieldCounts:
        seqs = self._accepted(where)
        codes, distinct = self._values(name)
        sizes = np.bincount(self._of(seqs, codes) + 1, minlength=len(distinct) + 1)[1:]
        known = distinct.tolist() if isinstance(distinct, np.ndarray) else distinct
        counts: Counter[tuple[str, Any]] = Counter()
        found = 0
        for code in np.flatnonzero(sizes).tolist():
            values = _counted(known[code])
            found += int(sizes[code]) if values else 0
            for value in values:
                counts[value] += int(sizes[code])
        frequent = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
        return FieldCounts(
            field=name,
            documents=len(seqs),
            missing=len(seqs) - found,
            distinct=len(frequent),
            values=tuple(ValueCount(value, size) for (_, value), size in frequent[:limit]),
        )

    def _accepted(self, where: Mapping[str, Any] | None) -> Ids:
        """Return the present documents that a filter accepts, ascending."""
        if where is None or where == {}:
            return self._present
        documents = self._fields or self._rows.documents
        accepted = accepted_documents(self._access, self._rows, documents, where)
        found = self._present[members(self._present, accepted)]
        if not len(found) and len(accepted):  # all are deleted: SQLite checks the fields
            return self._rows.documents.accepted(where)
        return found

    def _of(self, seqs: Ids, codes: I64) -> I64:
        return codes[np.searchsorted(self._present, seqs)]

    def _values(self, name: str) -> tuple[I64, list[Any] | F64]:
        """Return codes and distinct values of a field: document i has ``distinct[codes[i]]``; the code -1 means no value.

        Raises
        ------
        InputError
            If there are documents, and none has the field.
        """
        before: list[Any] | F64 = []
        last, kept = 0, np.zeros(0, np.int64)
        files = None if self._fields is None else self._fields.values(name)
        if files is not None:
            last, kept, before = self._last, files[0][self._kept], files[1]
        codes = np.full(len(self._present), -1, np.int64)
        codes[: len(kept)] = kept
        later: dict[tuple[type, str], tuple[int, Any]] = {}
        found: list[tuple[int, int]] = []
        for seq, value in self._rows.documents.field_values(name, last):
            key = type(value), repr(value)
            if key not in later:
                later[key] = len(before) + len(later), value
            found.append((seq, later[key][0]))
        if found:
            seqs, places = np.array(found, np.int64).T
            codes[np.searchsorted(self._present, seqs)] = places
        elif all(value is None for value in before):  # objects without the field give None
            self._rows.documents.check_field(name)
        return codes, [*before, *(value for _, value in later.values())] if later else before


def _ranks(distinct: list[Any] | F64, descending: bool) -> I64:
    """Return the rank of each value; one more rank, the last, is for documents without a value."""
    ranks = np.full(len(distinct) + 1, len(distinct), np.int64)
    if isinstance(distinct, np.ndarray):  # numbers, in ascending order
        ranks[:-1] = np.arange(len(distinct))[:: -1 if descending else 1]
        return ranks
    known = [(key, code) for code, value in enumerate(distinct) if (key := sort_key(value))]
    known.sort(reverse=descending)
    rank, before = -1, None
    for key, code in known:  # 1 and 1.0 have the same rank
        rank, before = rank + (key != before), key
        ranks[code] = rank
    return ranks


def _counted(value: Any) -> set[tuple[str, Any]]:
    """Return the value, or each member of a list, with its kind. So, as in filters, 1 equals 1.0, but not True."""
    found = value if isinstance(value, list) else [value]
    return {(_kind(each), each) for each in found if isinstance(each, str | int | float)}


def _kind(value: str | float) -> str:
    return type(value).__name__ if isinstance(value, str | bool) else "number"
