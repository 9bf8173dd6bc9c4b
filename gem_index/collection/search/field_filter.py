"""Evaluate filters on the field values that a snapshot stores, without reading the metadata of every document."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gem_index.collection.search.ordering import field_of
from gem_index.collection.state.access import CollectionAccess, CollectionRows
from gem_index.collection.state.filter_cache import FilteredDocuments
from gem_index.common.arrays import F64, Mask
from gem_index.errors import FilterError
from gem_index.index.fields import Codes, Column, SnapshotFields
from gem_index.index.hits import Ids
from gem_index.store.documents import DocumentRepository
from gem_index.store.kinds import NUMBER, Kinds, check_orderings, merged

__all__ = ["FieldFilter", "accepted_documents"]

_EXACT = 2**53  # up to here, float64 represents every whole number


class FieldFilter:
    """Finds the documents that a filter accepts; the result equals that of :meth:`DocumentRepository.matching`.

    For documents of the snapshot, SQLite decides each condition only once for each different value of the field, or for
    each range of numbers. Each document then gets the decision for its value. So a filter means the same here as in
    SQLite. The metadata of documents newer than the snapshot are always filtered by SQLite directly. So are the
    metadata of all documents if the snapshot does not store the values of a field in the filter.

    Parameters
    ----------
    documents : DocumentRepository
    fields : SnapshotFields
    ids : int64 array (n,)
        The documents of the snapshot, ascending.
    """

    def __init__(self, documents: DocumentRepository, fields: SnapshotFields, ids: Ids) -> None:
        self._documents = documents
        self._fields = fields
        self._ids = ids

    @property
    def ids(self) -> Ids:
        """The documents of the snapshot, ascending."""
        return self._ids

    def matching(self, where: Mapping[str, Any], after: int = 0) -> Ids:
        """Return, in ascending order, the seqs above ``after`` of the documents that a filter accepts.

        Raises
        ------
        FilterError
            If the filter is not of the form that :func:`~gem_index.store.where.compile_where` takes.
        CorruptionError
            If the files of fields cannot be read.
        """
        last = int(self._ids[-1])
        later = self._documents.matching(where, max(after, last))  # checks the filter, too
        if after >= last:
            return later
        try:
            accepted = self._all_of(where)
        except _NotDecidedError:
            return self._documents.matching(where, after)
        accepted[self._fields.unsearched] = False
        found = self._ids[accepted]
        return np.concatenate([found[np.searchsorted(found, after, "right") :], later])

    def kinds(self, name: str, after: int = 0) -> Kinds:
        """Return the kinds of a field's values in the documents after a seq; deleted documents may be included.

        Raises
        ------
        FilterError
            If no filter can name this field.
        CorruptionError
            If the files of fields cannot be read.
        """
        last = int(self._ids[-1])
        later = self._documents.kinds(name, max(after, last))
        if after >= last:
            return later
        try:
            column = self._column(name)
        except _NotDecidedError:
            return self._documents.kinds(name, after)
        if column is None:
            return later
        held, values = column
        if isinstance(values, Codes):
            return merged(self._documents.kinds_in(name, _objects(held, values.values)), later)
        numbers = values.numbers[~np.isnan(values.numbers)][:1].tolist()
        return merged({NUMBER: numbers[0]} if numbers and held == name else {}, later)

    def values(self, name: str) -> tuple[npt.NDArray[np.int64], list[Any] | F64] | None:
        """Return the values of a field in all documents of the snapshot; None if the files do not have them.

        Returns
        -------
        codes : int64 array (n,)
            The position of each document's value in ``distinct``; -1 for a document without the field.
        distinct : list or float64 array
            The different values; numbers are an ascending array. If the field is inside an object, the list has None for
            objects without the field.

        Raises
        ------
        CorruptionError
            If the files of fields cannot be read.
        """
        try:
            column = self._column(name)
        except _NotDecidedError:
            return None
        if column is None:
            return np.full(len(self._ids), -1, np.int64), []
        held, values = column
        if isinstance(values, Codes):
            known = [field_of({held: json.loads(value)}, name) for value in values.values]
            return values.codes.astype(np.int64) - 1, known
        if held != name:  # the field is inside objects, and a column of numbers has no objects
            return np.full(len(self._ids), -1, np.int64), []
        numbers, codes = np.unique(values.numbers, return_inverse=True)
        return np.where(np.isnan(values.numbers), -1, codes), numbers[~np.isnan(numbers)]

    def _column(self, key: str) -> tuple[str, Column] | None:
        """Return the column that has a field's values, and the name of this column.

        The values of the field "a.b" are in the column "a.b", or inside the objects of the column "a".

        Raises
        ------
        _NotDecidedError
            If the values of the field are not stored, or are in two columns.
        """
        names = {key, key.split(".")[0]}
        if not all(map(self._fields.knows, names)):
            raise _NotDecidedError
        columns = [(name, column) for name in names if (column := self._fields.column(name))]
        if len(columns) > 1:
            raise _NotDecidedError
        return columns[0] if columns else None

    def _all_of(self, where: Mapping[str, Any]) -> Mask:
        """Decide a filter for each document."""
        accepted = np.ones(len(self._ids), np.bool_)
        for key, value in where.items():
            if key == "$and":
                for part in value:
                    accepted &= self._all_of(part)
            elif key == "$or":
                accepted &= np.logical_or.reduce([self._all_of(part) for part in value])
            elif key == "$not":
                accepted &= ~self._all_of(value)
            else:
                accepted &= self._condition(key, value)
        return accepted

    def _condition(self, key: str, condition: Any) -> Mask:
        """Decide the condition on one field for each document."""
        found = self._column(key)

        def judged(values: Sequence[str]) -> Mask:
            """Return a decision for each value, and one more, the last, for documents without the field."""
            return self._documents.accepted_mask({key: condition}, [*_objects(name, values), "{}"])

        if found is None:
            name = key
            return np.full(len(self._ids), judged([])[0])
        name, column = found
        if isinstance(column, Codes):
            return np.roll(judged(column.values), 1)[column.codes]
        bounds = _bounds(condition)
        pieces = judged([repr(number) for number in _representatives(bounds)])
        return pieces[_ranges_of(column.numbers, bounds)]


def accepted_documents(
    access: CollectionAccess,
    rows: CollectionRows,
    documents: FilteredDocuments,
    where: Mapping[str, Any],
) -> Ids:
    """Check the fields and the compared values of a filter, and return the documents that it accepts.

    The seqs ascend. Some may be of documents that are deleted, or newer than the state that is searched.

    Raises
    ------
    FilterError
        As from :meth:`gem_index.Collection.search`.
    """
    directory, last_seq = rows.record.directory, rows.record.last_seq
    allowed = access.filters.matching(documents, where, directory, last_seq)

    def kinds(name: str) -> Kinds:
        return access.filters.kinds(documents, name, directory, last_seq)

    try:
        check_orderings(where, kinds)
    except FilterError:  # a value of a deleted document may have raised it
        check_orderings(where, rows.documents.kinds)
    if not len(allowed):
        rows.documents.check_fields(where, documents.matching, kinds)
    return allowed


def _objects(name: str, values: Sequence[str]) -> list[str]:
    """Return, for each JSON value, the JSON of an object whose only field ``name`` has this value."""
    begin = f"{{{json.dumps(name, ensure_ascii=False)}: "
    return [f"{begin}{value}}}" for value in values]


class _NotDecidedError(Exception):
    """The files of the snapshot cannot decide the filter: they do not have the values of one of its fields."""


def _bounds(condition: Any) -> F64:
    """Return the numbers in a condition, ascending.

    Between two neighbouring numbers, either all values satisfy the condition, or none does.
    """
    found: list[float] = []
    left = [condition]
    while left:
        value = left.pop()
        if isinstance(value, Mapping):
            left.extend(value.values())
        elif isinstance(value, Sequence) and not isinstance(value, str):
            left.extend(value)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            if not -_EXACT <= value <= _EXACT:  # also true for NaN
                raise _NotDecidedError
            found.append(float(value))
    return np.unique(np.array(found, dtype=np.float64))


def _representatives(bounds: F64) -> list[float]:
    """Return 2m + 1 numbers for m bounds, one for each range.

    The first number is below all bounds. Then follow, for each bound, the bound itself and a number just above it.
    """
    if not len(bounds):
        return [0.0]
    points = np.stack([bounds, np.nextafter(bounds, np.inf)], axis=1).ravel()
    return [float(np.nextafter(bounds[0], -np.inf)), *points.tolist()]


def _ranges_of(numbers: F64, bounds: F64) -> npt.NDArray[np.int64]:
    """Return, for each number, the position of the representative of its range; -1 for NaN."""
    places = np.searchsorted(bounds, numbers, "left")
    found = 2 * places
    inside = places < len(bounds)
    found[inside] += bounds[places[inside]] == numbers[inside]
    found[np.isnan(numbers)] = -1
    return found
