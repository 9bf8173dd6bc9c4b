"""An index in which a document has several vectors, one for each of its pieces."""

from __future__ import annotations

import numpy as np

from gem_index.common.arrays import F32, I64, Mask
from gem_index.index.dense import DenseIndex
from gem_index.index.hits import best_first
from gem_index.index.rows import VectorRows

__all__ = ["PieceIndex"]


class PieceIndex:
    """Finds documents by their best vectors.

    Parameters
    ----------
    index : DenseIndex
        The vectors of all pieces, document after document.
    counts : int64 array (n,)
        The number of pieces of each document, at least 1.
    vectors : VectorRows or DenseIndex, optional
        The exact vectors: an exact index itself, or the rows beside an approximate index.
    """

    def __init__(
        self, index: DenseIndex, counts: I64, vectors: VectorRows | DenseIndex | None
    ) -> None:
        self.index = index
        self.counts = counts
        self._vectors = vectors
        self._one_each = len(index) == len(counts)
        self._starts = np.zeros(0, np.int64)
        if not self._one_each:
            self._starts = np.concatenate([[0], np.cumsum(counts)])

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def has_vectors(self) -> bool:
        """Whether exact vectors are stored."""
        return self._vectors is not None

    def nearest(
        self, query: F32, k: int, accepted: Mask | None = None, proposed: int | None = None
    ) -> tuple[I64, F32]:
        """Return the positions of the k best documents, best first, and the inner products of their best vectors.

        Parameters
        ----------
        query, k, accepted
            As for :meth:`DenseIndex.nearest`, but for documents: k documents, and a mask of documents.
        proposed : int, optional
            The number of vectors that an approximate index proposes, by default k. The proposed documents are scored again
            by exact vectors.
        """
        rows = None if accepted is None else np.repeat(accepted, self.counts)
        asked = max(k, proposed or k)
        while True:
            places, scores = self.index.nearest(query, asked, rows)
            if isinstance(self._vectors, VectorRows):
                scores = self._vectors.inner_products(places, query)
                places, scores = best_first(places, scores, k if self._one_each else len(places))
            if self._one_each:
                return places[:k], scores[:k]
            owners = np.searchsorted(self._starts, places, "right") - 1
            _, first = np.unique(owners, return_index=True)
            if len(first) >= k or len(places) < asked:
                first = np.sort(first)[:k]
                return owners[first], scores[first]
            asked *= 2

    def vectors_of(self, accepted: Mask) -> int:
        """Return the number of vectors of all accepted documents."""
        return int(np.count_nonzero(accepted) if self._one_each else self.counts[accepted].sum())

    def whole(self, positions: I64) -> Mask:
        """Return a mask of the positions whose documents have only one vector."""
        return np.asarray(self.counts[positions] == 1)

    def take(self, positions: I64) -> F32:
        """Return the vectors (p, d) of documents that have only one vector each."""
        return self._take(positions if self._one_each else self._starts[positions])

    def pieces(self, position: int) -> F32:
        """Return the vectors (p, d) of one document."""
        begin = position if self._one_each else int(self._starts[position])
        return self._take(np.arange(begin, begin + int(self.counts[position])))

    def best(self, positions: I64, query: F32) -> F32:
        """Return, for each document, the highest inner product of a query with one of its vectors, float32 (p,)."""
        if self._one_each or not len(positions):
            return self._scores(positions, query)
        counts = self.counts[positions]
        begins = np.concatenate([[0], np.cumsum(counts)[:-1]])
        rows = np.repeat(self._starts[positions] - begins, counts) + np.arange(counts.sum())
        return np.maximum.reduceat(self._scores(rows, query), begins)

    def _take(self, rows: I64) -> F32:
        assert self._vectors is not None
        return self._vectors.take(rows)

    def _scores(self, rows: I64, query: F32) -> F32:
        assert self._vectors is not None
        return self._vectors.inner_products(rows, query)
