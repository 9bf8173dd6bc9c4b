"""GEM as LangChain embeddings."""

from __future__ import annotations

from langchain_core.embeddings import Embeddings

from langchain_gem.provider import EncoderFields

__all__ = ["GemEmbeddings"]


class GemEmbeddings(EncoderFields, Embeddings):
    """Sentence embeddings of unit length, computed on the CPU; queries and documents are embedded alike.

    A text without words gives zeros. The asynchronous methods run in LangChain's executor.

    Examples
    --------
    >>> embeddings = GemEmbeddings()
    >>> len(embeddings.embed_query("how do I renew a visa?"))
    256
    """

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return a vector for each text."""
        vectors: list[list[float]] = self.provider.embed_documents(texts).tolist()
        return vectors

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a text."""
        vector: list[float] = self.provider.embed_query(text).tolist()
        return vector
