"""A cache of the documents that metadata filters accept."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from gem_index.common.forking import ForkSafeLock
from gem_index.index.hits import Ids
from gem_index.store.kinds import Kinds, merged

__all__ = ["FilterCache", "FilteredDocuments"]


_MOST_IDS = 4_000_000  # ids in the cache: 32 MB
_MOST_FILTERS = 1000
_MOST_FIELDS = 200


class FilteredDocuments(Protocol):
    """Finds the documents that a filter accepts, in the database or in the files of fields of a snapshot."""

    def matching(self, where: Mapping[str, Any], after: int = 0) -> Ids:
        """Return the seqs above ``after`` of the documents that a filter accepts, ascending."""
        ...

    def kinds(self, name: str, after: int = 0) -> Kinds:
        """Return the kinds (number, text …) of a field's values in the documents whose seq is above ``after``."""
        ...


class FilterCache:
    """The documents that recently used filters accept; thread-safe.

    The content of a seq never changes, so the decision of a filter about a seq never changes. If a filter is used
    again, only documents newer than the cached decisions are read.
    """

    def __init__(self) -> None:
        self._lock = ForkSafeLock()
        self._directory: str | None = None
        self._entries: OrderedDict[str, tuple[Ids, int]] = OrderedDict()
        self._kinds: OrderedDict[str, tuple[Kinds, int]] = OrderedDict()
        self._ids = 0
        """The number of ids in all entries."""

    def matching(
        self,
        documents: FilteredDocuments,
        where: Mapping[str, Any],
        directory: str | None,
        last_seq: int,
    ) -> Ids:
        """Return the seqs of the documents that a filter accepts, ascending; deleted and newer documents may be included.

        Parameters
        ----------
        documents : FilteredDocuments
        where : mapping
        directory : str or None
            The snapshot in use. The cache drops the entries of an earlier snapshot, because they may have documents that
            are deleted by now.
        last_seq : int
            The newest document that the result must include.

        Raises
        ------
        FilterError
            If the filter is not of the form that :func:`~gem_index.store.where.compile_where` takes.
        """
        key = _key(where)
        if key is None:
            return documents.matching(where)
        with self._lock:
            self._use(directory)
            seqs, covered = self._entries.get(key, (np.zeros(0, np.int64), -1))
        if covered < last_seq:
            seqs = np.append(seqs, documents.matching(where, max(covered, 0)))
        with self._lock:
            if directory == self._directory:
                before = self._entries.pop(key, None)
                self._entries[key] = seqs, max(covered, last_seq)
                self._ids += len(seqs) - (0 if before is None else len(before[0]))
                while self._ids > _MOST_IDS or len(self._entries) > _MOST_FILTERS:
                    _, (dropped, _) = self._entries.popitem(last=False)
                    self._ids -= len(dropped)
        return seqs

    def kinds(
        self, documents: FilteredDocuments, name: str, directory: str | None, last_seq: int
    ) -> Kinds:
        """Return the kinds of the values of a field; values of deleted documents may be included.

        Parameters
        ----------
        documents, directory, last_seq
            As for :meth:`matching`.
        name : str
            The name of the field.
        """
        with self._lock:
            self._use(directory)
            kinds, covered = self._kinds.get(name, ({}, -1))
        if covered < last_seq:
            kinds = merged(kinds, documents.kinds(name, max(covered, 0)))
        with self._lock:
            if directory == self._directory:
                self._kinds[name] = kinds, max(covered, last_seq)
                if len(self._kinds) > _MOST_FIELDS:
                    self._kinds.popitem(last=False)
        return kinds

    def _use(self, directory: str | None) -> None:
        """Drop the entries of another snapshot; the caller holds the lock."""
        if directory != self._directory:
            self._directory = directory
            self._entries.clear()
            self._kinds.clear()
            self._ids = 0


def _key(where: Mapping[str, Any]) -> str | None:
    """Return the cache key of a filter; None if the filter cannot be cached."""
    try:
        return json.dumps(where)
    except (TypeError, ValueError, RecursionError):
        return None
