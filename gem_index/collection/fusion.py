"""Bringing a list by meaning and a list by words together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

from gem_index.collection.view import Hits, best_of

__all__ = ["DEPTH", "FUSIONS", "MATCH_WEIGHT", "fuse_ranks", "fuse_scores"]

Ids = npt.NDArray[np.int64]

FUSIONS = ("weighted", "rrf")
"""How a hybrid search brings its two lists together: by their scores or by their ranks."""

DEPTH = 100
"""At least so many of each list take part."""

MATCH_WEIGHT = 2.0
"""What a match of words counts beside a cosine of 1 (docs/evaluation.md says on which sets it was chosen)."""

_RANK_OFFSET = 60.0


def fuse_scores(
    dense: Hits,
    matching: Hits,
    k: int,
    cosines: Callable[[Ids], npt.NDArray[np.floating]],
    matches: Callable[[Ids], Mapping[int, float]],
) -> tuple[Hits, dict[int, float]]:
    """Return the k best of two lists by (cosine + 2 match) / 3, and the cosine of every document in either.

    Both numbers are on a scale of their own that no other document changes: a weak list stays weak.

    Parameters
    ----------
    dense : list of (seq, cosine)
        Best first.
    matching : list of (seq, match)
        Best first; a match is 0 to 1, see :func:`gem_index.index.lexical.match_weights`.
    k : int
    cosines : callable
        Returns the cosines of ascending seqs that are in the second list alone.
    matches : callable
        Returns the matches of ascending seqs that are in the first list alone; one without a match may be left out.
    """
    cosine, match = dict(dense), dict(matching)
    unseen = np.array(sorted(match.keys() - cosine.keys()), dtype=np.int64)
    unmatched = np.array(sorted(cosine.keys() - match.keys()), dtype=np.int64)
    if len(unseen):
        cosine.update(zip(unseen.tolist(), np.asarray(cosines(unseen)).tolist(), strict=True))
    if len(unmatched):
        match.update(matches(unmatched))
    scored = [
        (seq, (value + MATCH_WEIGHT * match.get(seq, 0.0)) / (1 + MATCH_WEIGHT))
        for seq, value in cosine.items()
    ]
    return best_of(scored, k), cosine


def fuse_ranks(dense: Hits, lexical: Hits, k: int) -> Hits:
    """Return the k best of two lists by the sum of 1 / (60 + rank).

    Source: Cormack, Clarke and Buettcher, "Reciprocal Rank Fusion", SIGIR 2009.
    """
    fused: dict[int, float] = defaultdict(float)
    for hits in (dense, lexical):
        for rank, (seq, _score) in enumerate(hits, 1):
            fused[seq] += 1 / (_RANK_OFFSET + rank)
    return best_of(list(fused.items()), k)
