"""GEM as a document compressor that re-ranks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from pydantic import PositiveInt

from langchain_gem.provider import EncoderFields

__all__ = ["GemReranker"]


class GemReranker(EncoderFields, BaseDocumentCompressor):
    """Orders retrieved documents by their similarity to the query, best first, and keeps the best.

    The returned documents are copies whose metadata hold the score as ``relevance_score``.

    Examples
    --------
    >>> reranker = GemReranker(top_n=1)
    >>> documents = [Document(page_content="a bank"), Document(page_content="a visa")]
    >>> reranker.compress_documents(documents, "renew a visa")[0].page_content
    'a visa'
    """

    top_n: PositiveInt | None = 3
    """Number of documents to keep; None keeps all."""
    mode: Literal["dense", "hybrid"] = "dense"
    """``dense``: the score is the cosine. ``hybrid``: it is that of a search, (cosine + 2.25 match) / 3.25."""

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> Sequence[Document]:
        """Return the best documents; equal scores keep the order of the input."""
        texts = [document.page_content for document in documents]
        results = self.provider.rerank(query, texts, self.top_n, mode=self.mode)
        return [_with_score(documents[result.index], result.score) for result in results]


def _with_score(document: Document, score: float) -> Document:
    return document.model_copy(update={"metadata": {**document.metadata, "relevance_score": score}})
