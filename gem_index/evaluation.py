"""Measure with your own data: a search with queries whose right documents are known, vectors with pairs of texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from gem_index.collection import Collection, SearchOptions
from gem_index.collection.corpus.calibrating import check_expected
from gem_index.collection.request import check_queries
from gem_index.collection.search.answer import answer_all
from gem_index.common.arrays import F64, I64
from gem_index.errors import InputError
from gem_index.evaluate.metrics import bootstrap
from gem_index.evaluate.pairs import Pairs, area_under_curve, best_threshold, read_pairs
from gem_index.evaluate.retrieval import measures
from gem_index.gem.combined import Encoder
from gem_index.readers.expected import read_expected

__all__ = ["SETTINGS", "Mean", "PairQuality", "SearchQuality", "evaluate_pairs", "evaluate_search"]

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
        return cls.measured(lambda places: float(values[places].mean()), len(values))

    @classmethod
    def measured(cls, measure: Callable[[I64], float], items: int) -> Mean:
        """Return a measure of some items, given their places (n,), and the interval from 2,000 samples of them."""
        found = bootstrap(lambda samples: np.array([measure(each) for each in samples]), items)
        low, high = np.nanpercentile(found, (2.5, 97.5))  # a sample may have only one of the labels
        return cls(measure(np.arange(items)), float(low), float(high))


@dataclass(frozen=True)
class PairQuality:
    """How well the cosines of one encoder agree with the numbers of pairs, in percent.

    Attributes
    ----------
    encoder : str
    pairs : int
    pearson, spearman : Mean
        The correlations of the cosines with the numbers.
    auc : Mean, optional
        With labels 0 and 1: the area under the ROC curve. None with other numbers.
    f1, threshold : float, optional
        With labels: the best F1 score, and the threshold of the cosine that gives it.
    """

    encoder: str
    pairs: int
    pearson: Mean
    spearman: Mean
    auc: Mean | None
    f1: float | None
    threshold: float | None


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


def evaluate_pairs(
    encoders: Mapping[str, Encoder], pairs: str | Path | Iterable[Any]
) -> list[PairQuality]:
    """Compare the cosines of pairs of texts with their numbers, for several encoders side by side.

    Parameters
    ----------
    encoders : mapping of str to Encoder
        By a name for the result, such as ``{"faq": faq.encoder, "plain": GemEncoder(open_vectors("wordllama"))}``.
    pairs : str, Path or iterable
        A file, a data frame, mappings with ``first``, ``second`` and ``score`` or ``label`` (also ``text1``, ``sentence1``,
        ``question1`` and so on), or triples.

    Returns
    -------
    list of PairQuality

    Raises
    ------
    InputError
        If all numbers are equal; RecordError if a record has another form.
    """
    known = read_pairs(pairs)
    return [_quality(name, encoder, known) for name, encoder in encoders.items()]


def _quality(name: str, encoder: Encoder, pairs: Pairs) -> PairQuality:
    first, second = (
        encoder.encode(texts).astype(np.float64) for texts in (pairs.first, pairs.second)
    )
    cosines: F64 = (first * second).sum(axis=1)
    scores, labels, count = pairs.scores, pairs.labels, len(pairs.scores)
    ranks, of_scores = stats.rankdata(cosines), stats.rankdata(scores)
    threshold, f1 = (None, None) if labels is None else best_threshold(labels, cosines)
    auc = None
    if labels is not None:
        auc = Mean.measured(lambda n: 100 * area_under_curve(labels[n], cosines[n]), count)
    return PairQuality(
        name,
        count,
        Mean.measured(lambda n: _correlation(scores[n], cosines[n]), count),
        Mean.measured(lambda n: _correlation(of_scores[n], ranks[n]), count),
        auc,
        None if f1 is None else 100 * f1,
        threshold,
    )


def _correlation(x: F64, y: F64) -> float:
    """Return Pearson's r x 100; NaN if all values of one side are equal."""
    if len(set(x.tolist())) < 2 or len(set(y.tolist())) < 2:
        return float("nan")
    return float(100 * np.corrcoef(x, y)[0, 1])


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
    asked = check_queries(list(expected), _DEPTH, **options)
    results = answer_all(collection.access, [replace(each, best_piece=False) for each in asked])
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
