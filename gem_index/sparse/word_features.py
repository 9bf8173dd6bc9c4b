"""Words of texts as a matrix for classifiers: one column per term of the texts that it was fitted on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_matrix, hstack

from gem_index.common.arrays import F32, I64, SparseVector
from gem_index.index.terms import inverse_frequency
from gem_index.sparse.encoder import SparseEncoder

__all__ = ["WordFeatures"]

_LENGTH = 3.0  # length of a row of words beside a vector of length 1: the best of 1, 1.5, 2 and 3 in benchmarks/classes.py


class WordFeatures:
    """Turns sparse vectors of words into columns for a classifier.

    Each value is the value from :meth:`gem_index.sparse.SparseEncoder.embed_documents` times the inverse document frequency
    of its term. Each row has the length 3, so that words count beside a vector of meaning, which has the length 1. A term
    that no fitted text has is left out.

    Parameters
    ----------
    encoder : SparseEncoder
        The encoder of the vectors.
    texts : sequence of str
        n texts, whose terms are the columns.

    Attributes
    ----------
    count : int
        Number of columns.
    """

    def __init__(self, encoder: SparseEncoder, texts: Sequence[str]) -> None:
        vectors = encoder.embed_documents(texts)
        held = Counter(index for vector in vectors for index in vector.indices.tolist())
        self._rule = encoder.rule
        self._columns: I64 = np.array(sorted(held), dtype=np.int64)
        self._weights: F32 = np.array(
            [inverse_frequency(held[index], len(texts)) for index in self._columns.tolist()],
            dtype=np.float32,
        )

    @property
    def count(self) -> int:
        """Number of columns."""
        return len(self._columns)

    def transform(self, texts: Sequence[str]) -> csr_matrix:
        """Return the words of m texts, float32 (m, count); a text without a known term has an empty row."""
        vectors = SparseEncoder.of_rule(self._rule).embed_documents(texts)
        rows = [self._row(vector) for vector in vectors]
        ends = np.cumsum([0, *(len(columns) for columns, _ in rows)])
        columns = np.concatenate([np.zeros(0, np.int64), *(each for each, _ in rows)])
        values = np.concatenate([np.zeros(0, np.float32), *(each for _, each in rows)])
        return csr_matrix((values, columns, ends), shape=(len(rows), self.count), dtype=np.float32)

    def _row(self, vector: SparseVector) -> tuple[I64, F32]:
        """Return the columns of a vector's terms, and their values."""
        known = np.isin(vector.indices, self._columns)
        columns = np.searchsorted(self._columns, vector.indices[known])
        values = vector.values[known] * self._weights[columns]
        length = float(np.linalg.norm(values))
        return columns, np.asarray(values * (_LENGTH / max(length, 1e-12)), dtype=np.float32)

    def beside(self, vectors: F32, texts: Sequence[str]) -> csr_matrix:
        """Return the vectors (m, d) of m texts, and their words beside them: float32 (m, d + count)."""
        return csr_matrix(hstack([csr_matrix(vectors), self.transform(texts)], format="csr"))
