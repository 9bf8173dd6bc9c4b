"""Sparse vectors of words for the hybrid mode of langchain-qdrant."""

from __future__ import annotations

from langchain_qdrant.sparse_embeddings import SparseEmbeddings, SparseVector

from gem_index import sparse
from langchain_gem.provider import EncoderFields

__all__ = ["GemSparseEmbeddings"]


class GemSparseEmbeddings(EncoderFields, SparseEmbeddings):
    """Sparse vectors of words, for ``QdrantVectorStore(…, retrieval_mode=RetrievalMode.HYBRID)``.

    Use it beside :class:`langchain_gem.GemEmbeddings` with the same fields. A text without words gives an empty vector. The
    asynchronous methods run in LangChain's executor.

    Examples
    --------
    >>> sparse_embeddings = GemSparseEmbeddings()
    >>> len(sparse_embeddings.embed_query("how do I renew a visa?").indices)
    6
    """

    def embed_documents(self, texts: list[str]) -> list[SparseVector]:
        """Return the vector of each text."""
        return [_converted(vector) for vector in self.provider.embed_sparse_documents(texts)]

    def embed_query(self, text: str) -> SparseVector:
        """Return the vector of a query."""
        return _converted(self.provider.embed_sparse_query(text))


def _converted(vector: sparse.SparseVector) -> SparseVector:
    return SparseVector(indices=vector.indices.tolist(), values=vector.values.tolist())
