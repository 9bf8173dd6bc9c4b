"""Connected components of near vectors: every pair is tested by a bound on its inner product, survivors exactly."""

from __future__ import annotations

import numpy as np

from gem_index.common.arrays import F32, I32, I64, U64
from gem_index.kernels.library import kernels, reading, writing

__all__ = ["STEP", "TILE", "join_near", "merge_forest", "sketch_sets"]

TILE = 128
"""Vectors of a tile."""

STEP = 8
"""Numbers of a vector that are multiplied at once; a prefix holds a multiple."""


_SKETCH = 16  # numbers of 64 bits of a set's sketch


def sketch_sets(members: I32, begins: I64) -> U64:
    """Return the sketch (n, 16) of each set; a bit that another set's sketch lacks is a member that it lacks.

    Parameters
    ----------
    members : int32 array (m,)
        The members of all sets, each set ascending, from 0.
    begins : int64 array (n + 1,)
        The position of each set in ``members``.
    """
    sketches = np.empty((len(begins) - 1, _SKETCH), np.uint64)
    kernels.sketch_sets(reading(members), reading(begins), len(sketches), writing(sketches))
    return sketches


def join_near(
    tiles: F32,
    vectors: F32,
    labels: I32,
    threshold: float,
    slack: float,
    sets: tuple[I32, I64, U64],
    least_overlap: float,
    first: int,
    last: int,
    parents: I32,
) -> int:
    """Join each vector of some tiles with the near ones of the same and later tiles; return how many were tested exactly.

    Parameters
    ----------
    tiles : float32 array (t, p, TILE)
        Column j of tile i belongs to vector ``i * TILE + j``: p numbers. The inner product of two such columns is an upper
        bound of the inner product of the vectors, up to ``slack``. Columns after the last vector are zero.
    vectors : float32 array (n, d)
    labels : int32 array (n,)
        Vectors of different labels are not joined.
    threshold : float
        Above 0. Vectors are near if their inner product, in float64, reaches it.
    slack : float
    sets : tuple
        The members and begins of the vectors' sets, and their sketches: see :func:`sketch_sets`.
    least_overlap : float
        If above 0, two sets of joined vectors have at least this Jaccard similarity.
    first, last : int
        The tiles, ``last`` not included.
    parents : int32 array (n,)
        A forest over the vectors, changed in place: of each thread its own.
    """
    count, size, _ = tiles.shape
    members, begins, sketches = sets
    last = min(last, count)
    tested: int = kernels.join_near(
        reading(tiles),
        count,
        size,
        reading(vectors),
        *vectors.shape,
        reading(labels),
        threshold,
        slack,
        reading(members),
        reading(begins),
        reading(sketches),
        least_overlap,
        first,
        last,
        writing(parents),
    )
    return tested


def merge_forest(parents: I32, other: I32) -> None:
    """Join in one forest (n,) what another over the same vectors joins; afterwards each entry is its root, the lowest."""
    kernels.merge_forest(writing(parents), reading(other), len(parents))
