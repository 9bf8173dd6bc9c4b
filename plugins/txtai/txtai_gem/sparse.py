"""Sparse vectors of words as sparse vectors of txtai."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from txtai.vectors import SparseVectors

from txtai_gem.provider import OpensProvider

__all__ = ["DIMENSIONS", "GemSparseVectors"]

DIMENSIONS = 2**16
"""Dimensions of a vector: few, because txtai's index computes with all of them. Values of terms with one index are added."""


class GemSparseVectors(OpensProvider, SparseVectors):
    """Sparse vectors of the words of texts and queries; their inner product is the match of gem-index, times 2.25.

    txtai creates it for ``scoring={"method": "sparse", "vectormethod": "txtai_gem.GemSparseVectors"}``. It reads from the
    configuration the fields that :class:`GemVectors` reads: ``vectors``, a mapping of the arguments of
    :func:`gem_index.open_provider` (``collection`` or ``words`` name word statistics), and ``path``. txtai gives it a copy
    of the configuration: the fingerprint is saved if the mapping holds it.

    Parameters
    ----------
    config : dict
        txtai's configuration of the scoring.
    scoring, models : optional
        Passed by txtai; not used.

    Examples
    --------
    >>> from txtai import Embeddings
    >>> words = {"method": "sparse", "vectormethod": "txtai_gem.GemSparseVectors"}
    >>> embeddings = Embeddings(keyword=True, scoring=words)
    >>> embeddings.index(["the form B-17", "a bank account"])
    >>> embeddings.search("form B-17", 1)[0][0]
    0
    """

    def __init__(self, config: dict[str, Any], scoring: Any = None, models: Any = None) -> None:
        super().__init__(config, scoring, models)

    def encode(self, data: Sequence[str], category: str | None = None) -> csr_matrix:
        """Return the vectors of texts (category ``data``) or of queries, float32 (n, DIMENSIONS)."""
        if category == "data":
            found = self.provider.embed_sparse_documents(data)
        else:
            found = [self.provider.embed_sparse_query(text) for text in data]
        rows = [vector.folded(DIMENSIONS) for vector in found]
        ends = np.cumsum([0, *(len(row.indices) for row in rows)])
        indices = np.concatenate([np.zeros(0, np.int64), *(row.indices for row in rows)])
        values = np.concatenate([np.zeros(0, np.float32), *(row.values for row in rows)])
        return csr_matrix((values, indices, ends), shape=(len(rows), DIMENSIONS))
