"""Connected components of near vectors: every pair is tested by a bound on its inner product, survivors exactly."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gem_index.kernels.compiled import compiled, compiled_part

__all__ = ["STEP", "TILE", "join_near", "merge_forest"]

TILE = 128
"""Vectors in a tile: at 24 numbers each they fit the first-level cache."""

STEP = 8
"""Numbers of a vector that are multiplied at once; a prefix holds a multiple."""


@compiled_part
def _root(parents: npt.NDArray[np.int32], i: int) -> int:
    while parents[i] != i:
        parents[i] = parents[parents[i]]  # halves the path
        i = parents[i]
    return i


@compiled_part
def _join(parents: npt.NDArray[np.int32], i: int, j: int) -> None:
    """Join two trees; the lower root stays, so that a root is the first of its component."""
    if i < j:
        parents[j] = i
    else:
        parents[i] = j


@compiled
def join_near(
    tiles: npt.NDArray[np.float32],
    vectors: npt.NDArray[np.float32],
    threshold: float,
    slack: float,
    first: int,
    last: int,
    parents: npt.NDArray[np.int32],
) -> int:
    """Join each vector of some tiles with the near ones of the same and later tiles; return how many were tested exactly.

    Parameters
    ----------
    tiles : float32 array (t, p, TILE)
        Column j of tile i belongs to vector ``i * TILE + j``: p numbers whose inner product is an upper bound of that of the
        vectors, up to ``slack``. Columns after the last vector are zero.
    vectors : float32 array (n, d)
    threshold : float
        Above 0. Vectors are near if their inner product, in float64, reaches it.
    slack : float
    first, last : int
        The tiles, ``last`` not included.
    parents : int32 array (n,)
        A forest over the vectors, changed in place: of each thread its own.
    """
    count, size = tiles.shape[0], tiles.shape[1]
    total, dimension = vectors.shape
    bounds = np.empty(TILE, np.float32)
    least = np.float32(threshold - slack)
    tested = 0
    for right in range(first, count):
        columns = tiles[right]
        for left in range(first, min(last, right + 1)):
            rows = tiles[left]
            for i in range(min(TILE, total - left * TILE)):
                bounds[:] = 0
                for k in range(0, size, STEP):
                    a, b, c, d = rows[k, i], rows[k + 1, i], rows[k + 2, i], rows[k + 3, i]
                    e, f, g, h = rows[k + 4, i], rows[k + 5, i], rows[k + 6, i], rows[k + 7, i]
                    for j in range(TILE):
                        bounds[j] += (
                            a * columns[k, j]
                            + b * columns[k + 1, j]
                            + c * columns[k + 2, j]
                            + d * columns[k + 3, j]
                            + e * columns[k + 4, j]
                            + f * columns[k + 5, j]
                            + g * columns[k + 6, j]
                            + h * columns[k + 7, j]
                        )
                near = 0
                for j in range(TILE):
                    near += bounds[j] >= least
                if near == 0:
                    continue
                x = left * TILE + i
                for j in range(i + 1 if left == right else 0, min(TILE, total - right * TILE)):
                    if bounds[j] < least:
                        continue
                    y = right * TILE + j
                    root_x, root_y = _root(parents, x), _root(parents, y)
                    if root_x == root_y:
                        continue
                    tested += 1
                    product = 0.0
                    for k in range(dimension):
                        product += np.float64(vectors[x, k]) * np.float64(vectors[y, k])
                    if product >= threshold:
                        _join(parents, root_x, root_y)
    return tested


@compiled
def merge_forest(parents: npt.NDArray[np.int32], other: npt.NDArray[np.int32]) -> None:
    """Join in one forest (n,) what another over the same vectors joins; afterwards each entry is its root, the lowest."""
    for i in range(len(parents)):
        left, right = _root(parents, i), _root(parents, other[i])
        if left != right:
            _join(parents, left, right)
    for i in range(len(parents)):
        parents[i] = _root(parents, i)
