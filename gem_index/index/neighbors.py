"""The nearest neighbors of vectors."""

from __future__ import annotations

import numpy as np

from gem_index.common.arrays import F32, I64
from gem_index.index.dense import faiss_threads, load_faiss, spread

__all__ = ["nearest_among", "nearest_neighbors"]

_EXACT = 20_000  # up to this many vectors, all pairs are compared
_TRAINED = 40_000  # the largest number of vectors with which an index is trained
_PROBED = 16  # lists that a search reads, of about 2 sqrt(n) lists


def nearest_neighbors(vectors: F32, k: int) -> tuple[I64, F32]:
    """Return the positions (n, k) of the nearest other vectors, and their cosines (n, k), the nearest first.

    If there are more than 20,000 vectors, some of the nearest vectors may be missed. The same vectors always give the
    same result.

    Parameters
    ----------
    vectors : float32 array (n, d)
        More than k unit vectors.
    k : int
        At least 1.
    """
    faiss = load_faiss()
    count, dimension = vectors.shape
    if count <= _EXACT:
        index = faiss.IndexFlatIP(dimension)
    else:
        lists = round(2 * count**0.5)
        index = faiss.index_factory(dimension, f"IVF{lists},Flat", faiss.METRIC_INNER_PRODUCT)
        index.nprobe = min(_PROBED, lists)
    with faiss_threads():
        index.train(vectors[spread(np.arange(count), _TRAINED)])
        index.add(vectors)
        cosines, positions = index.search(vectors, k + 1)
    # remove the vector itself from its neighbors; it is missing if k + 1 others are as near
    other = positions != np.arange(count)[:, np.newaxis]
    order = np.argsort(~other, axis=1, kind="stable")[:, :k]
    positions = np.take_along_axis(positions, order, 1)
    cosines = np.take_along_axis(cosines, order, 1)
    missed = positions < 0  # too few vectors were in the lists
    return (
        np.where(missed, np.arange(count)[:, np.newaxis], positions).astype(np.int64),
        np.where(missed, -1, np.clip(cosines, -1, 1)).astype(np.float32),
    )


def nearest_among(vectors: F32, queries: F32) -> F32:
    """Return, for each query (m, d), the cosine (m,) with the nearest of the vectors (n, d); all pairs are compared."""
    faiss = load_faiss()
    index = faiss.IndexFlatIP(vectors.shape[1])
    with faiss_threads():
        index.add(vectors)
        cosines, _ = index.search(queries, 1)
    return np.asarray(np.clip(cosines[:, 0], -1, 1), np.float32)
