"""GEM as a document compressor that re-ranks."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from pydantic import PositiveInt

from gem_index import rerank
from langchain_gem.provider import EncoderFields

__all__ = ["GemReranker"]


class GemReranker(EncoderFields, BaseDocumentCompressor):
    """Orders retrieved documents by their cosine similarity to the query, best first, and keeps the best.

    The returned documents are copies whose metadata hold the cosine as ``relevance_score``.

    Examples
    --------
    >>> reranker = GemReranker(top_n=1)
    >>> documents = [Document(page_content="a bank"), Document(page_content="a visa")]
    >>> reranker.compress_documents(documents, "renew a visa")[0].page_content
    'a visa'
    """

    top_n: PositiveInt | None = 3
    """Number of documents to keep; None keeps all."""

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> Sequence[Document]:
        """Return the best documents; equal cosines keep the order of the input."""
        texts = [document.page_content for document in documents]
        results = rerank(query, texts, self.provider.encoder, self.top_n)
        return [_with_score(documents[result.index], result.score) for result in results]


def _with_score(document: Document, score: float) -> Document:
    return document.model_copy(update={"metadata": {**document.metadata, "relevance_score": score}})
