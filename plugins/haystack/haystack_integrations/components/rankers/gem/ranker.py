"""A component that ranks documents by their similarity to the query."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

from haystack import Document, component, default_from_dict, default_to_dict
from haystack_integrations.common.gem import EncoderFields

from gem_index import GemConfig

__all__ = ["GemRanker"]


@component
class GemRanker(EncoderFields):
    """Returns copies of documents with their similarity to the query as score, best first.

    Parameters
    ----------
    vectors, model, collection, config, home, fingerprint, words
        As for :func:`gem_index.open_provider`.
    top_k : int, optional
        Number of documents to return; None for all.
    mode : {"dense", "hybrid"}
        With ``dense`` the score is the cosine. With ``hybrid`` it is that of a search by meaning and words,
        (cosine + 2.25 match) / 3.25.

    Raises
    ------
    ValueError
        If ``top_k`` is below 1, or the mode is another one.
    """

    def __init__(
        self,
        vectors: str | None = None,
        *,
        model: str | Path | None = None,
        collection: str | None = None,
        config: GemConfig | dict[str, Any] | str | None = None,
        home: str | Path | None = None,
        fingerprint: str | None = None,
        words: str | Path | None = None,
        top_k: int | None = 10,
        mode: str = "dense",
    ) -> None:
        EncoderFields.__init__(  # Haystack creates the class a second time, and super() would refer to the first one
            self,
            vectors,
            model=model,
            collection=collection,
            config=config,
            home=home,
            fingerprint=fingerprint,
            words=words,
        )
        self.top_k = _check_top_k(top_k)
        if mode not in ("dense", "hybrid"):
            raise ValueError(f"mode is {mode!r}; expected 'dense' or 'hybrid'")
        self.mode = mode

    @component.output_types(documents=list[Document])
    def run(
        self, query: str, documents: list[Document], top_k: int | None = None
    ) -> dict[str, list[Document]]:
        """Rank documents; equal scores keep the order of the input, a document without words scores 0.

        Parameters
        ----------
        query : str
        documents : list of Document
        top_k : int, optional
            Overrides the component's ``top_k`` for this run.

        Raises
        ------
        ValueError
            If ``top_k`` is below 1.
        """
        texts = [document.content or "" for document in documents]
        number = _check_top_k(top_k) or self.top_k
        best = self.provider.rerank(query, texts, number, mode=self.mode)
        return {"documents": [replace(documents[each.index], score=each.score) for each in best]}

    @component.output_types(documents=list[Document])
    async def run_async(
        self, query: str, documents: list[Document], top_k: int | None = None
    ) -> dict[str, list[Document]]:
        """Rank documents in another thread."""
        return await asyncio.to_thread(self.run, query, documents, top_k)

    def to_dict(self) -> dict[str, Any]:
        """Return the component's data for a saved pipeline."""
        saved: dict[str, Any] = default_to_dict(
            self, **self.settings, top_k=self.top_k, mode=self.mode
        )
        return saved

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> GemRanker:
        """Create a component from its saved data."""
        loaded: GemRanker = default_from_dict(cls, data)
        return loaded


def _check_top_k(top_k: int | None) -> int | None:
    if top_k is not None and top_k < 1:
        raise ValueError(f"top_k is {top_k}; expected at least 1")
    return top_k
