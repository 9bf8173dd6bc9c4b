"""Fuse the results of dense search and of word search."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from heapq import nlargest

import numpy as np
import numpy.typing as npt

from gem_index.index.hits import Hits, Ids, best_of

__all__ = ["DEPTH", "FUSIONS", "MATCH_WEIGHT", "RANK_DEPTH", "fuse_ranks", "fuse_scores", "fused"]

FUSIONS = ("weighted", "rrf")
"""How a hybrid search fuses its two lists: by their scores or by their ranks."""

DEPTH, RANK_DEPTH = 30, 100
"""Minimum length of the lists to fuse. By scores, 30 are as good as 100 (docs/evaluation.md); by ranks, longer is better."""

MATCH_WEIGHT = 2.25
"""Weight of a word match; a cosine has weight 1 (docs/evaluation.md names the sets on which it was chosen)."""

_RANK_OFFSET = 60.0
_ROUNDING = 1e-6  # of float32 sums, so that a score equal to a bound is kept


def fuse_scores(
    dense: Hits,
    matching: Hits,
    k: int,
    depth: int,
    exact: bool,
    cosines: Callable[[Ids], npt.NDArray[np.floating]],
    matches: Callable[[Ids], Mapping[int, float]],
) -> tuple[Hits, dict[int, float]]:
    """Return the k best of two lists by (cosine + 2.25 match) / 3.25, and their cosines.

    Neither number depends on other documents, so that a weak list stays weak. A document that is missing from one list has
    at most the score of that list's last entry; its missing score is computed only if that could bring it among the k best.

    Parameters
    ----------
    dense : list of (seq, cosine)
        Best first, ``depth`` entries or all that exist.
    matching : list of (seq, match)
        Likewise; a match is from 0 to 1, see :func:`gem_index.index.lexical.match_weights`.
    k, depth : int
        k is at most ``depth``.
    exact : bool
        Whether no document outside the first list has a larger cosine than its last entry; an approximate index may miss
        documents.
    cosines : callable
        Returns the cosines of ascending seqs that are only in the second list.
    matches : callable
        Returns the matches of ascending seqs that are only in the first list; seqs without a match may be missing.
    """
    cosine, match = dict(dense), dict(matching)
    least_cosine = dense[-1][1] if dense and exact else 1.0
    least_match = matching[-1][1] if len(matching) >= depth else 0.0
    sure = nlargest(k, [fused(c, match.get(seq, 0.0)) for seq, c in dense])
    reached = sure[-1] - _ROUNDING if len(sure) == k else -np.inf
    unseen = [
        seq for seq, held in matching if seq not in cosine and fused(least_cosine, held) >= reached
    ]
    if unseen:
        seqs = np.array(sorted(unseen), dtype=np.int64)
        cosine.update(zip(seqs.tolist(), np.asarray(cosines(seqs)).tolist(), strict=True))
    if least_match:
        unmatched = [
            seq for seq, c in dense if seq not in match and fused(c, least_match) >= reached
        ]
        if unmatched:
            match.update(matches(np.array(sorted(unmatched), dtype=np.int64)))
    scored = [(seq, fused(c, match.get(seq, 0.0))) for seq, c in cosine.items()]
    best = best_of([pair for pair in scored if pair[1] >= reached], k)
    return best, {seq: cosine[seq] for seq, _ in best}


def fused(cosine: float, match: float) -> float:
    """Return the fused score of a cosine and a match."""
    return (cosine + MATCH_WEIGHT * match) / (1 + MATCH_WEIGHT)


def fuse_ranks(dense: Hits, lexical: Hits, k: int) -> Hits:
    """Return the k best of two lists by the sum of 1 / (60 + rank).

    Source: Cormack, Clarke and Buettcher, "Reciprocal Rank Fusion", SIGIR 2009.
    """
    sums: dict[int, float] = defaultdict(float)
    for hits in (dense, lexical):
        for rank, (seq, _score) in enumerate(hits, 1):
            sums[seq] += 1 / (_RANK_OFFSET + rank)
    return best_of(list(sums.items()), k)
