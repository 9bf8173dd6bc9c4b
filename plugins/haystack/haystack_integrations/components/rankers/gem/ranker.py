"""Ranks documents by their cosine with the query."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

from haystack import Document, component, default_from_dict, default_to_dict
from haystack_integrations.common.gem import OpensProvider

from gem_index import GemConfig, rerank

__all__ = ["GemRanker"]


@component
class GemRanker(OpensProvider):
    """Orders documents by their cosine with the query, best first: copies with that score come back.

    Parameters
    ----------
    vectors, model, collection, config, home, fingerprint
        As for :func:`gem_index.open_provider`.
    top_k : int, optional
        How many documents come back; None for all.

    Raises
    ------
    ValueError
        If ``top_k`` is below 1.
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
        top_k: int | None = 10,
    ) -> None:
        OpensProvider.__init__(  # Haystack makes the class again, and super() would look for the old one
            self,
            vectors,
            model=model,
            collection=collection,
            config=config,
            home=home,
            fingerprint=fingerprint,
        )
        self.top_k = _checked(top_k)

    @component.output_types(documents=list[Document])
    def run(
        self, query: str, documents: list[Document], top_k: int | None = None
    ) -> dict[str, list[Document]]:
        """Rank documents; equal scores keep the order they came in, a document without words scores 0.

        Parameters
        ----------
        query : str
        documents : list of Document
        top_k : int, optional
            For this run.

        Raises
        ------
        ValueError
            If ``top_k`` is below 1.
        """
        texts = [document.content or "" for document in documents]
        best = rerank(query, texts, self.provider.encoder, _checked(top_k) or self.top_k)
        return {"documents": [replace(documents[each.index], score=each.score) for each in best]}

    @component.output_types(documents=list[Document])
    async def run_async(
        self, query: str, documents: list[Document], top_k: int | None = None
    ) -> dict[str, list[Document]]:
        """Rank documents in another thread."""
        return await asyncio.to_thread(self.run, query, documents, top_k)

    def to_dict(self) -> dict[str, Any]:
        """Return the component as a pipeline saves it."""
        saved: dict[str, Any] = default_to_dict(self, **self.settings, top_k=self.top_k)
        return saved

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> GemRanker:
        """Make the component that was saved."""
        loaded: GemRanker = default_from_dict(cls, data)
        return loaded


def _checked(top_k: int | None) -> int | None:
    if top_k is not None and top_k < 1:
        raise ValueError(f"top_k is {top_k}; expected at least 1")
    return top_k
