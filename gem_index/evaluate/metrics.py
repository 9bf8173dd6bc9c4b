"""Scores of evaluations: correlations, the official CQA measures, and confidence intervals of differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gem_index.common.arrays import F64, I64

__all__ = [
    "Interval",
    "RankingScores",
    "bootstrap",
    "correlations",
    "paired_bootstrap",
    "pearson",
    "ranking_scores",
    "resampled_pearson",
]


_CUT = 10  # the official scorer uses the first ten


def pearson(gold: F64, scores: F64) -> float:
    """Return Pearson's r x 100 of gold scores (n,) and scores (n,); 0 if either is constant."""
    x, y = gold - gold.mean(), scores - scores.mean()
    norm = float(np.sqrt((x @ x) * (y @ y)))
    return 100 * float(x @ y) / norm if norm > 0 else 0.0


def correlations(gold: F64, scores: F64) -> tuple[float, float]:
    """Return Pearson's r and Spearman's rho, both x 100."""
    # imported here: importing scipy.stats takes a third of a second
    from scipy.stats import rankdata

    return pearson(gold, scores), pearson(rankdata(gold), rankdata(scores))


@dataclass(frozen=True)
class RankingScores:
    """The measures of SemEval Task 3, subtask B (Nakov et al. 2016), as its official scorer computes them, x 100.

    A query without a relevant candidate has an average precision and a reciprocal rank of 0.

    Attributes
    ----------
    average_precision, reciprocal_rank : float64 array (q,)
    found, possible : int64 array (q, 10)
        Number of relevant candidates among the first 1 … 10, and the largest possible number.
    """

    average_precision: F64
    reciprocal_rank: F64
    found: I64
    possible: I64

    @property
    def map(self) -> float:
        """Mean average precision."""
        return float(self.average_precision.mean())

    @property
    def avg_rec(self) -> float:
        """Mean over the ranks 1 … 10 of found / possible relevant candidates up to that rank, summed over all queries."""
        return 100 * float(
            np.mean(self.found.sum(axis=0) / np.maximum(self.possible.sum(axis=0), 1))
        )

    @property
    def mrr(self) -> float:
        """Mean reciprocal rank."""
        return float(self.reciprocal_rank.mean())


def ranking_scores(rankings: Sequence[Sequence[bool]]) -> RankingScores:
    """Return the measures of rankings; a ranking holds whether each candidate of a query is relevant, best first."""
    ranks = np.arange(1, _CUT + 1)
    relevant = np.zeros((len(rankings), _CUT), dtype=bool)
    for row, ranking in zip(relevant, rankings, strict=True):
        row[: len(ranking)] = ranking[:_CUT]
    found = np.cumsum(relevant, axis=1)
    totals = np.array([sum(ranking) for ranking in rankings])
    precision = np.where(relevant, found / ranks, 0).sum(axis=1) / np.maximum(found[:, -1], 1)
    first = np.where(found[:, -1] > 0, 1 / (1 + relevant.argmax(axis=1)), 0.0)
    return RankingScores(100 * precision, 100 * first, found, np.minimum(totals[:, None], ranks))


@dataclass(frozen=True)
class Interval:
    """A difference of scores and its 95 % bootstrap interval."""

    difference: float
    low: float
    high: float


def paired_bootstrap(
    measure: Callable[[npt.NDArray[np.int64]], F64], items: int, samples: int = 2000, seed: int = 0
) -> Interval:
    """Return the percentile bootstrap interval of a difference (Efron and Tibshirani 1993).

    Parameters
    ----------
    measure : callable
        Takes samples of items (b, items) and returns the difference on each (b,).
    items : int
    samples, seed : int
    """
    whole = measure(np.arange(items)[None])
    low, high = np.percentile(bootstrap(measure, items, samples, seed), (2.5, 97.5))
    return Interval(float(whole[0]), float(low), float(high))


def bootstrap(
    measure: Callable[[npt.NDArray[np.int64]], F64], items: int, samples: int = 2000, seed: int = 0
) -> F64:
    """Return a measure on each bootstrap sample of the items, float64 (samples,).

    The parameters are the same as for :func:`paired_bootstrap`.
    """
    generator = np.random.default_rng(seed)
    return np.concatenate(
        [measure(generator.integers(0, items, (block, items))) for block in _blocks(samples, 200)]
    )


def _blocks(total: int, most: int) -> list[int]:
    return [min(most, total - begin) for begin in range(0, total, most)]


def resampled_pearson(gold: F64, scores: F64, samples: npt.NDArray[np.int64]) -> F64:
    """Return Pearson's r x 100 (b,) on each sample of items (b, n)."""
    x, y = gold[samples], scores[samples]
    x = x - x.mean(axis=1, keepdims=True)
    y = y - y.mean(axis=1, keepdims=True)
    norm = np.sqrt((x * x).sum(axis=1) * (y * y).sum(axis=1))
    found: F64 = 100 * np.divide((x * y).sum(axis=1), norm, out=np.zeros(len(x)), where=norm > 0)
    return found
