"""Measure a collection's search with queries of one's own, whose right documents are known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gem_index.arrays import F64
from gem_index.collection import Collection, SearchOptions
from gem_index.collection.corpus.calibrating import check_expected
from gem_index.errors import InputError
from gem_index.evaluate.metrics import bootstrap
from gem_index.evaluate.retrieval import measures
from gem_index.readers.expected import read_expected

__all__ = ["SETTINGS", "Mean", "SearchQuality", "evaluate_search"]

SETTINGS: Mapping[str, SearchOptions] = {
    "hybrid": {},
    "re-ranked": {"rerank": True},
    "dense": {"mode": "dense"},
    "lexical": {"mode": "lexical"},
}
"""The settings that are measured by default, with the options of a search."""

_DEPTH = 10


@dataclass(frozen=True)
class Mean:
    """The mean of a measure over queries, and its 95 % bootstrap interval (Efron and Tibshirani 1993)."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, values: F64) -> Mean:
        """Return the mean of some values (n,), and the interval from 2,000 samples of them."""
        means = bootstrap(lambda samples: values[samples].mean(axis=1), len(values))
        low, high = np.percentile(means, (2.5, 97.5))
        return cls(float(values.mean()), float(low), float(high))


@dataclass(frozen=True)
class SearchQuality:
    """How well one setting finds the right documents, in percent.

    Attributes
    ----------
    collection, setting : str
    queries : int
        How many queries were measured: those with a right document.
    ndcg : Mean
        nDCG@10.
    recall : Mean
        The share of the right documents among the first 10 results.
    mrr : Mean
        1 / the rank of the first right result, 0 beyond 10.
    first : Mean
        The share of queries whose first result is right.
    """

    collection: str
    setting: str
    queries: int
    ndcg: Mean
    recall: Mean
    mrr: Mean
    first: Mean


def evaluate_search(
    collections: Collection | Sequence[Collection],
    queries: str | Path | Iterable[Any],
    settings: Mapping[str, SearchOptions] = SETTINGS,
) -> list[SearchQuality]:
    """Search for queries with known right documents, and measure each setting in each collection.

    Parameters
    ----------
    collections : Collection or sequence of Collection
        Several with the same documents show which word vectors or chunking is best.
    queries : str, Path or iterable
        As for :meth:`gem_index.Collection.calibrate`; queries without a right document are left out.
    settings : mapping of str to mapping
        The options of a search by the name of the setting.

    Returns
    -------
    list of SearchQuality
        For each collection and setting, in their order.

    Raises
    ------
    InputError
        If no query has a right document, or a collection does not have one of the right documents.
    """
    of = [collections] if isinstance(collections, Collection) else list(collections)
    expected = {query: ids for query, ids in read_expected(queries).items() if ids}
    if not expected:
        raise InputError("found no query with a right document; expected at least one")
    for each in of:
        check_expected(each.access, expected)
    return [
        _measured(each, name, options, expected)
        for each in of
        for name, options in settings.items()
    ]


def _measured(
    collection: Collection,
    setting: str,
    options: SearchOptions,
    expected: Mapping[str, Sequence[str]],
) -> SearchQuality:
    results = collection.search_many(list(expected), _DEPTH, **options)
    rankings = [[hit.id for hit in hits] for hits in results]
    relevance = [dict.fromkeys(ids, 1) for ids in expected.values()]
    found = measures(rankings, relevance)
    first: F64 = 100.0 * (found["mrr@10"] == 100.0)
    return SearchQuality(
        collection.name,
        setting,
        len(expected),
        Mean.of(found["ndcg@10"]),
        Mean.of(found["recall@10"]),
        Mean.of(found["mrr@10"]),
        Mean.of(first),
    )
