"""Fuse the results of a dense and a lexical search into the results of a hybrid search."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from heapq import nlargest
from typing import Protocol

import numpy as np

from gem_index.common.arrays import F32
from gem_index.index.hits import ROUNDING, Hits, Ids, best_of

__all__ = [
    "DEPTH",
    "FUSIONS",
    "MATCH_WEIGHT",
    "RANK_DEPTH",
    "ScoredLists",
    "fuse_ranks",
    "fuse_scores",
    "fused",
]

FUSIONS = ("weighted", "rrf")
"""The ways to fuse the two lists of a hybrid search: ``weighted`` by scores, ``rrf`` by ranks."""

DEPTH = 30
"""The first length of the lists that are fused by scores; :func:`fuse_scores` requests longer lists if necessary."""

RANK_DEPTH = 100
"""The length of the lists that are fused by ranks."""

MATCH_WEIGHT = 2.25
"""The weight of a match; a cosine has weight 1. docs/evaluation.md names the data sets on which the weight was chosen."""

_RANK_OFFSET = 60.0
_DEEPER = 4  # factor by which the lists grow


class ScoredLists(Protocol):
    """The two lists of a hybrid search, and the scores of documents that are missing from one of the lists."""

    @property
    def exact(self) -> bool:
        """Whether :meth:`nearest` is exact: no document outside its list has a larger cosine than the last entry.

        If not, an approximate index may miss documents; these are found only by words.
        """
        ...

    def nearest(self, depth: int) -> Hits:
        """Return the ``depth`` best (seq, cosine), best first."""
        ...

    def matching(self, depth: int) -> Hits:
        """Return the ``depth`` best (seq, match); for the match, see :func:`gem_index.index.terms.match_weights`."""
        ...

    def cosines(self, seqs: Ids) -> F32:
        """Return the cosines of documents; ``seqs`` ascend."""
        ...

    def matches(self, seqs: Ids) -> Mapping[int, float]:
        """Return the matches of documents; ``seqs`` ascend; documents with the match 0 may be missing."""
        ...


def fuse_scores(lists: ScoredLists, k: int) -> tuple[Hits, dict[int, float]]:
    """Return the k best by (cosine + 2.25 match) / 3.25, and their cosines; equal scores are in the order of seqs.

    A cosine and a match do not depend on the other results. So, if all results of a list are weak, all get low scores.

    The score of a document outside both lists is at most the fused score of the last entries of the two lists. While
    this bound is above the k-th score, longer lists are requested. So, if :meth:`ScoredLists.nearest` is exact, the
    result is the same as if all documents were scored.

    Source: Fagin, Lotem and Naor, "Optimal aggregation algorithms for middleware" (the threshold algorithm), PODS 2001.
    """
    depth = max(DEPTH, k)
    while True:
        near, matched = lists.nearest(depth), lists.matching(depth)
        cosine, scores = _fuse_lists(lists, near, matched, k, depth)
        best = best_of(list(scores.items()), k)
        rest = fused(_score_bound(near, depth), max(0.0, _score_bound(matched, depth)))
        if len(best) < k or rest <= best[-1][1] + ROUNDING:
            return best, {seq: cosine[seq] for seq, _ in best}
        depth *= _DEEPER


def _score_bound(hits: Hits, depth: int) -> float:
    """Return an upper bound of the scores outside a list: the list's last score; -∞ if the list has all documents."""
    return hits[-1][1] if len(hits) >= depth else -math.inf


def _fuse_lists(
    lists: ScoredLists, dense: Hits, matching: Hits, k: int, depth: int
) -> tuple[dict[int, float], dict[int, float]]:
    """Return the cosines of the documents in two lists, and the fused scores of documents that may be among the k best.

    If a document is missing from one list, the missing score is at most the score of the list's last entry. The missing
    score is computed only if the document could be among the k best with this upper bound.
    """
    cosine, match = dict(dense), dict(matching)
    cosine_bound = dense[-1][1] if dense and lists.exact else 1.0
    match_bound = matching[-1][1] if len(matching) >= depth else 0.0
    sure = nlargest(k, [fused(c, match.get(seq, 0.0)) for seq, c in dense])
    reached = sure[-1] - ROUNDING if len(sure) == k else -np.inf
    unseen = [seq for seq, m in matching if seq not in cosine and fused(cosine_bound, m) >= reached]
    if unseen:
        ids = _ascending(unseen)
        cosine.update(zip(ids.tolist(), lists.cosines(ids).tolist(), strict=True))
    if match_bound:
        unmatched = [
            seq for seq, c in dense if seq not in match and fused(c, match_bound) >= reached
        ]
        if unmatched:
            match.update(lists.matches(_ascending(unmatched)))
    scores = {seq: fused(c, match.get(seq, 0.0)) for seq, c in cosine.items()}
    scores = {seq: score for seq, score in scores.items() if score >= reached}
    return cosine, scores


def _ascending(seqs: list[int]) -> Ids:
    return np.array(sorted(seqs), dtype=np.int64)


def fused(cosine: float, match: float) -> float:
    """Return the fused score of a cosine and a match."""
    return (cosine + MATCH_WEIGHT * match) / (1 + MATCH_WEIGHT)


def fuse_ranks(dense: Hits, lexical: Hits, k: int) -> Hits:
    """Return the k best documents by the sum of 1 / (60 + rank) over the first hundred entries of two lists.

    Longer lists do not change these scores. If these documents are fewer than k, other documents of the dense list follow,
    in the order of the list.

    Source: Cormack, Clarke and Buettcher, "Reciprocal Rank Fusion", SIGIR 2009.
    """
    sums: dict[int, float] = defaultdict(float)
    for rank, (seq, _score) in enumerate(lexical[:RANK_DEPTH], 1):
        sums[seq] += 1 / (_RANK_OFFSET + rank)
    for rank, (seq, _score) in enumerate(dense, 1):
        if rank <= RANK_DEPTH or seq not in sums:
            sums[seq] += 1 / (_RANK_OFFSET + rank)
    return best_of(list(sums.items()), k)
