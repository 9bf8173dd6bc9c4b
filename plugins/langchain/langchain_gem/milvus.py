"""Sparse vectors of words for the hybrid search of langchain-milvus."""

from __future__ import annotations

from langchain_milvus.utils.sparse import BaseSparseEmbedding

from gem_index.sparse import SparseVector
from langchain_gem.provider import EncoderFields

__all__ = ["GemSparseEmbeddings"]

_NO_DOCUMENT, _NO_QUERY = 2**31, 2**31 + 1  # no term has these


class GemSparseEmbeddings(EncoderFields, BaseSparseEmbedding):
    """Sparse vectors of words, for ``Milvus(embedding_function=[GemEmbeddings(), GemSparseEmbeddings()])``.

    Use it beside :class:`langchain_gem.GemEmbeddings` with the same fields. Milvus refuses empty vectors, so a text
    without words has one index that no term has. The asynchronous methods run in LangChain's executor.

    Examples
    --------
    >>> sparse_embeddings = GemSparseEmbeddings()
    >>> len(sparse_embeddings.embed_query("how do I renew a visa?"))
    6
    """

    def embed_documents(self, texts: list[str]) -> list[dict[int, float]]:
        """Return the values of each text by their indices."""
        vectors = self.provider.embed_sparse_documents(texts)
        return [_converted(vector) or {_NO_DOCUMENT: 1.0} for vector in vectors]

    def embed_query(self, query: str) -> dict[int, float]:
        """Return the values of a query by their indices."""
        return _converted(self.provider.embed_sparse_query(query)) or {_NO_QUERY: 1.0}


def _converted(vector: SparseVector) -> dict[int, float]:
    return dict(zip(vector.indices.tolist(), vector.values.tolist(), strict=True))
