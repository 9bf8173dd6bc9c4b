"""A gem-index provider as a ranker for rerankers."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from copy import copy
from typing import Any, Unpack

from rerankers.documents import Document
from rerankers.models.ranker import BaseRanker
from rerankers.results import RankedResults, Result

from gem_index import open_provider
from gem_index.home import ProviderOptions

__all__ = ["GemRanker"]


class GemRanker(BaseRanker):
    """Ranks documents by the similarity of their GEM embeddings to the query's embedding, and by words if you like.

    A document without words scores 0, and all documents score 0 if the query has no words. Equal scores keep the order of
    the input.

    Parameters
    ----------
    vectors, model, collection, config, home, fingerprint, words
        As for :func:`gem_index.open_provider`; by default the bundled word vectors.
    verbose : int
        Accepted because ``rerankers.Reranker`` passes it; nothing is printed.
    mode : {"dense", "hybrid"}
        With ``dense`` the score is the cosine. With ``hybrid`` it is that of a search by meaning and words,
        (cosine + 2.25 match) / 3.25.

    Raises
    ------
    GemIndexError
        If a name or the mode is unknown, or the fingerprint differs from the expected one.

    Examples
    --------
    >>> GemRanker().rank("renewing my visa", ["a bank account", "how to renew a visa"])[0].text
    'how to renew a visa'
    """

    def __init__(
        self,
        vectors: str | None = None,
        verbose: int = 1,
        mode: str = "dense",
        **options: Unpack[ProviderOptions],
    ) -> None:
        self.verbose = verbose
        self.mode = mode
        self.provider = open_provider(vectors, **options)
        self.provider.rerank("", [], mode=mode)  # refuses another mode

    @property
    def settings(self) -> dict[str, Any]:
        """The settings to save, as JSON values: ``GemRanker(**settings)`` opens the same ranker or raises an error."""
        return self.provider.settings | ({"mode": self.mode} if self.mode != "dense" else {})

    def rank(
        self,
        query: str,
        docs: str | Document | Sequence[str | Document],
        doc_ids: Sequence[str] | Sequence[int] | None = None,
        metadata: Sequence[dict[str, Any]] | None = None,
    ) -> RankedResults:
        """Order documents by their similarity to a query, best first.

        Parameters
        ----------
        query : str
        docs : str, Document or sequence of these
            They are not changed.
        doc_ids : sequence of str or int, optional
            One for each document; by default its own id, else its position in the input.
        metadata : sequence of dict, optional
            One for each document; by default its own metadata.

        Returns
        -------
        RankedResults
            With scores from -1 to 1, and ranks from 1.

        Raises
        ------
        TypeError
            If a document has no text.
        ValueError
            If the number of ``doc_ids`` or ``metadata`` differs from the number of documents.
        """
        documents = _documents(docs, doc_ids, metadata)
        texts = [_text(i, document) for i, document in enumerate(documents)]
        ranked = self.provider.rerank(query, texts, mode=self.mode)
        results = [
            Result(documents[r.index], score=r.score, rank=i) for i, r in enumerate(ranked, 1)
        ]
        return RankedResults(results, query, has_scores=True)

    async def rank_async(
        self,
        query: str,
        docs: str | Document | Sequence[str | Document],
        doc_ids: Sequence[str] | Sequence[int] | None = None,
        metadata: Sequence[dict[str, Any]] | None = None,
    ) -> RankedResults:
        """Rank documents like :meth:`rank`, in a thread."""
        return await asyncio.to_thread(self.rank, query, docs, doc_ids, metadata)

    def score(self, query: str, doc: str) -> float:
        """Return the score of a text for a query, -1 to 1; 0 if one of them has no words."""
        [ranked] = self.provider.rerank(query, [doc], mode=self.mode)
        return ranked.score


def _documents(
    docs: str | Document | Sequence[str | Document],
    doc_ids: Sequence[str] | Sequence[int] | None,
    metadata: Sequence[dict[str, Any]] | None,
) -> list[Document]:
    # rerankers' own prep_docs fails on an empty list and on metadata with documents, and changes the caller's documents.
    given = [docs] if isinstance(docs, str | Document) else list(docs)
    for name, values in (("doc_ids", doc_ids), ("metadata", metadata)):
        if values is not None and len(values) != len(given):
            raise ValueError(
                f"found {len(values)} {name} for {len(given)} documents; expected one for each"
            )
    documents = [copy(doc) if isinstance(doc, Document) else Document(doc) for doc in given]
    for i, document in enumerate(documents):
        if doc_ids is not None:
            document.doc_id = doc_ids[i]
        elif document.doc_id is None:
            document.doc_id = i
        if metadata is not None:
            document.metadata = metadata[i]
    return documents


def _text(index: int, document: Document) -> str:
    if not isinstance(document.text, str):
        raise TypeError(
            f"document {index} is of type {document.document_type!r} with the text {document.text!r}; "
            "expected a document with a text"
        )
    return document.text
