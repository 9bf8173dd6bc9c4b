"""Order search hits (documents with scores), and find ids in arrays of ids."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from gem_index.common.arrays import F32, I64, Mask

__all__ = ["ROUNDING", "Hits", "Ids", "among", "best_first", "best_of", "members"]

Ids: TypeAlias = I64
"""The seqs of documents (``documents.seq``)."""

Hits: TypeAlias = list[tuple[int, float]]
"""Pairs (seq, score)."""


ROUNDING = 1e-6
"""Scores that differ by less than this count as equal, because float32 sums depend on the order of summation."""


def best_of(found: Hits, k: int) -> Hits:
    """Return the k best hits, best first; hits whose scores differ only by rounding get the same score, and ascend by id."""
    order = sorted(found, key=lambda pair: -pair[1])
    best: Hits = []
    end = 0
    while end < len(order) and len(best) < k:
        begin, score = end, order[end][1]
        least = score - ROUNDING * max(1.0, abs(score))
        while end < len(order) and order[end][1] >= least:
            end += 1
        best += [(seq, score) for seq in sorted(seq for seq, _ in order[begin:end])]
    return best[:k]


def best_first(places: I64, scores: F32, k: int) -> tuple[I64, F32]:
    """Return the k best positions with their scores, best first; positions with equal scores ascend."""
    if k < len(places):
        kept = scores >= np.partition(scores, len(scores) - k)[len(scores) - k]
        places, scores = places[kept], scores[kept]
    order = np.lexsort((places, -scores))[:k]
    return places[order], scores[order]


def members(ids: Ids, wanted: Ids) -> Mask:
    """Return a mask of the ids that are in ``wanted``; both arrays ascend. This is fast if ``wanted`` is short."""
    mask = np.zeros(len(ids), dtype=np.bool_)
    if (
        len(ids) and ids[-1] - ids[0] == len(ids) - 1
    ):  # the ids have no gaps, so the position of an id can be computed
        inside = slice(*np.searchsorted(wanted, [ids[0], ids[-1] + 1]))
        mask[wanted[inside] - ids[0]] = True
        return mask
    places = np.searchsorted(ids, wanted)
    places = places[places < len(ids)]
    mask[places] = ids[places] == wanted[: len(places)]
    return mask


def among(ids: Ids, wanted: Ids) -> Mask:
    """Return a mask of the ids that are in ``wanted``. Only ``wanted`` must ascend. This is fast if ``ids`` is short."""
    if not len(wanted):
        return np.zeros(len(ids), dtype=np.bool_)
    places = np.minimum(np.searchsorted(wanted, ids), len(wanted) - 1)
    return np.asarray(wanted[places] == ids)
