"""Find the connected components of near vectors, exactly, but without computing the inner products of all pairs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gem_index.common.arrays import F32, I32, I64
from gem_index.index.dense import spread
from gem_index.index.forests import joined_forest
from gem_index.kernels.near_pairs import STEP, TILE, join_near, sketch_sets

__all__ = ["near_components"]

_SLACK = 1e-5  # is added to a bound; larger than the rounding error of a bound in float32
_SAMPLE = 20_000  # vectors from which the principal directions are computed
_COMPARED = (
    2_000  # about this number of vectors are compared to choose how many numbers a bound has
)
# the largest share of pairs that pass the bound although they are not near: one in 2,000
_SURVIVORS = 5e-4
_BLOCK = 8192  # vectors that are projected at once
_TASK = 16  # tiles per task of a thread


def near_components(
    vectors: F32,
    threshold: float,
    threads: int,
    report: Callable[[int, int], None] | None = None,
    labels: I32 | None = None,
    sets: tuple[I32, I64] | None = None,
    least_overlap: float = 0.0,
) -> I32:
    """Return, for each vector, the position of the first vector of its component.

    Two vectors are in the same component if a chain of pairs, each with an inner product >= threshold, connects them. All
    pairs are tested, first by a bound. For two vectors x = (x1, x2) and y = (y1, y2), the Cauchy-Schwarz inequality gives
    the bound x·y <= x1·y1 + |x2||y2|. A rotation does not change inner products, so x1 and y1 can be the parts along the
    principal directions. Then the bound needs only few numbers. If the bound of a pair reaches the threshold and the pair
    is not joined yet, the pair is tested exactly.

    Parameters
    ----------
    vectors : float32 array (n, d)
        Vectors of length at most 1; the array may be mapped. Zero vectors are near no vector.
    threshold : float
        Above 0, at most 1.
    threads : int
        At least 1.
    report : callable, optional
        Called with the number of compared pairs and the number of all pairs.
    labels : int32 array (n,), optional
        Vectors of different labels are not joined.
    sets : tuple, optional
        A set for each vector: the members (m,) of all sets, each set ascending, and the positions (n + 1,) at which the
        sets begin.
    least_overlap : float
        With ``sets``, two vectors are joined only if the Jaccard similarity of their sets is at least this number.

    Returns
    -------
    int32 array (n,)
        The positions. A vector that is near no other vector has its own position.
    """
    count = len(vectors)
    if count < 2:
        return np.arange(count, dtype=np.int32)
    pairs = count * (count - 1) // 2
    if labels is None:
        labels = np.zeros(count, np.int32)
    members, begins = sets or (np.zeros(0, np.int32), np.zeros(count + 1, np.int64))
    sketched = members, begins, sketch_sets(members, begins)
    tiles = _tiles(vectors, threshold)

    def join(first: int, forest: I32) -> None:
        join_near(
            tiles,
            vectors,
            labels,
            threshold,
            _SLACK,
            sketched,
            least_overlap,
            first,
            first + _TASK,
            forest,
        )

    def compared(first: int) -> None:
        if report is not None:
            left = max(0, count - (first + _TASK) * TILE)
            report(pairs - left * (left - 1) // 2, pairs)

    return joined_forest(count, range(0, len(tiles), _TASK), threads, join, compared)


def _tiles(vectors: F32, threshold: float) -> F32:
    """Return the shortened vectors, from which bounds are computed, in tiles (t, p, TILE); p is a multiple of STEP."""
    sample = np.asarray(vectors[spread(np.arange(len(vectors)), _SAMPLE)])
    directions = np.linalg.eigh(sample.T @ sample)[1][:, ::-1]
    size = _size(sample[:: max(1, len(sample) // _COMPARED)], directions, threshold)
    tiles = np.zeros((-(-len(vectors) // TILE), size, TILE), np.float32)
    for begin in range(0, len(vectors), _BLOCK):
        block = _shortened(vectors[begin : begin + _BLOCK], directions, size)
        for first in range(0, len(block), TILE):
            part = block[first : first + TILE]
            tiles[(begin + first) // TILE, :, : len(part)] = part.T
    return tiles


def _size(sample: F32, directions: F32, threshold: float) -> int:
    """Return how long shortened vectors must be, so that only few pairs of a sample (s, d) need an exact test."""
    far = sample @ sample.T < threshold
    for size in range(2 * STEP, len(directions), STEP):
        short = _shortened(sample, directions, size)
        if (far & (short @ short.T >= threshold - _SLACK)).mean() <= _SURVIVORS:
            return size
    return -(-(len(directions) + 1) // STEP) * STEP


def _shortened(vectors: F32, directions: F32, size: int) -> F32:
    """Return vectors (n, d) shortened to ``size`` numbers: parts along the first directions, then the rest's length."""
    short = np.zeros((len(vectors), size), np.float32)
    parts = np.asarray(vectors) @ directions[:, : size - 1]
    short[:, : parts.shape[1]] = parts
    rest = np.square(vectors).sum(axis=1) - np.square(parts).sum(axis=1)
    short[:, -1] = np.sqrt(np.maximum(rest, 0.0))
    return short
