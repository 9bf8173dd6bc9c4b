"""Filters decided on the values of fields beside a snapshot, not on the metadata of every document."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gem_index.arrays import F64, Mask
from gem_index.index.fields import Codes, SnapshotFields
from gem_index.index.hits import Ids
from gem_index.store.documents import DocumentRepository

__all__ = ["FieldFilter"]

_EXACT = 2**53


class FieldFilter:
    """Finds the documents that a filter accepts, as :meth:`DocumentRepository.matching` does.

    SQLite decides each condition on every value of its field, so that there is one meaning of filters; what a value is
    decided is looked up for the documents of the snapshot. Later documents, and filters on fields whose values are not kept,
    are left to SQLite.

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

    def matching(self, where: Mapping[str, Any], after: int = 0) -> Ids:
        """Return the seqs of the documents after a seq that a filter accepts, ascending.

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
        except _NotKeptError:
            return self._documents.matching(where, after)
        accepted[self._fields.unsearched] = False
        found = self._ids[accepted]
        return np.concatenate([found[np.searchsorted(found, after, "right") :], later])

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
        names = {key, key.split(".")[0]}  # "a.b" is a field, or one of the object "a"
        if not all(map(self._fields.knows, names)):
            raise _NotKeptError
        columns = [(name, column) for name in names if (column := self._fields.column(name))]
        if len(columns) > 1:
            raise _NotKeptError

        def judged(values: Sequence[str]) -> Mask:
            """Decide for some values; the last is for documents without the field."""
            begin = f"{{{json.dumps(name, ensure_ascii=False)}: "
            objects = [f"{begin}{value}}}" for value in values]
            return self._documents.judged({key: condition}, [*objects, "{}"])

        if not columns:
            name = key
            return np.full(len(self._ids), judged([])[0])
        [(name, column)] = columns
        if isinstance(column, Codes):
            return np.roll(judged(column.values), 1)[column.codes]
        bounds = _bounds(condition)
        pieces = judged([repr(number) for number in _representatives(bounds)])
        return pieces[_pieces(column.numbers, bounds)]


class _NotKeptError(Exception):
    """The values of a field in the filter are not kept."""


def _bounds(condition: Any) -> F64:
    """Return the numbers in a condition, ascending: between two of them, all numbers are decided alike."""
    found: list[float] = []
    left = [condition]
    while left:
        value = left.pop()
        if isinstance(value, Mapping):
            left.extend(value.values())
        elif isinstance(value, Sequence) and not isinstance(value, str):
            left.extend(value)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            if not -_EXACT <= value <= _EXACT:  # NaN, too
                raise _NotKeptError
            found.append(float(value))
    return np.unique(np.array(found, dtype=np.float64))


def _representatives(bounds: F64) -> list[float]:
    """Return a number below m bounds, and of each bound itself and the next float, which may be the next bound: 2m + 1."""
    if not len(bounds):
        return [0.0]
    points = np.stack([bounds, np.nextafter(bounds, np.inf)], axis=1).ravel()
    return [float(np.nextafter(bounds[0], -np.inf)), *points.tolist()]


def _pieces(numbers: F64, bounds: F64) -> npt.NDArray[np.int64]:
    """Return for each number the position of what represents it; -1 for NaN."""
    places = np.searchsorted(bounds, numbers, "left")
    found = 2 * places
    inside = places < len(bounds)
    found[inside] += bounds[places[inside]] == numbers[inside]
    found[np.isnan(numbers)] = -1
    return found
