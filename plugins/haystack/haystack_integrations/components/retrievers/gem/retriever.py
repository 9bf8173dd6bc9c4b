"""A component that searches a GemDocumentStore."""

from __future__ import annotations

import asyncio
from typing import Any

from haystack import Document, component, default_from_dict, default_to_dict
from haystack.document_stores.types import FilterPolicy
from haystack.document_stores.types.filter_policy import apply_filter_policy
from haystack_integrations.document_stores.gem import GemDocumentStore

__all__ = ["GemRetriever"]


@component
class GemRetriever:
    """Finds documents for a query; the collection embeds the query, so the pipeline needs no embedder.

    Parameters
    ----------
    document_store : GemDocumentStore
    filters : dict, optional
        Haystack filters over metadata.
    top_k : int
        Number of documents to return.
    mode : str
        ``dense``: by meaning; ``lexical``: by words (BM25); ``hybrid``: by both.
    min_score : float, optional
        Only documents with at least this score.
    pieces : bool
        Return the pieces of long texts instead of whole documents: with ids ``id#1``, ``id#2``, ..., and with ``parent``,
        ``piece``, ``start``, ``end`` and ``heading`` in their metadata.
    filter_policy : FilterPolicy or str
        Whether the filters of a run replace those of the component or are merged with them.

    Raises
    ------
    TypeError
        If the document store is of another kind.
    ValueError
        If ``top_k`` is below 1, or the mode is unknown.
    """

    def __init__(
        self,
        document_store: GemDocumentStore,
        *,
        filters: dict[str, Any] | None = None,
        top_k: int = 10,
        mode: str = "hybrid",
        min_score: float | None = None,
        pieces: bool = False,
        filter_policy: FilterPolicy | str = FilterPolicy.REPLACE,
    ) -> None:
        if not isinstance(document_store, GemDocumentStore):
            raise TypeError(
                f"the document store is a {type(document_store).__name__}; expected a GemDocumentStore"
            )
        if top_k < 1:
            raise ValueError(f"top_k is {top_k}; expected at least 1")
        if mode not in ("dense", "lexical", "hybrid"):
            raise ValueError(f"the mode is {mode!r}; expected dense, lexical or hybrid")
        self.document_store = document_store
        self.filters = filters
        self.top_k = top_k
        self.mode = mode
        self.min_score = min_score
        self.pieces = pieces
        self.filter_policy = (
            FilterPolicy.from_str(filter_policy)
            if isinstance(filter_policy, str)
            else filter_policy
        )

    @component.output_types(documents=list[Document])
    def run(
        self, query: str, filters: dict[str, Any] | None = None, top_k: int | None = None
    ) -> dict[str, list[Document]]:
        """Find documents, best first; a query without words finds none.

        Parameters
        ----------
        query : str
        filters : dict, optional
            Filters for this run.
        top_k : int, optional
            Overrides the component's ``top_k`` for this run.
        """
        found = self.document_store.search(
            query,
            filters=apply_filter_policy(self.filter_policy, self.filters, filters),
            top_k=self.top_k if top_k is None else top_k,
            mode=self.mode,
            min_score=self.min_score,
            pieces=self.pieces,
        )
        return {"documents": found}

    @component.output_types(documents=list[Document])
    async def run_async(
        self, query: str, filters: dict[str, Any] | None = None, top_k: int | None = None
    ) -> dict[str, list[Document]]:
        """Find documents in another thread."""
        return await asyncio.to_thread(self.run, query, filters, top_k)

    def to_dict(self) -> dict[str, Any]:
        """Return the component's data for a saved pipeline."""
        saved: dict[str, Any] = default_to_dict(
            self,
            document_store=self.document_store.to_dict(),
            filters=self.filters,
            top_k=self.top_k,
            mode=self.mode,
            min_score=self.min_score,
            pieces=self.pieces,
            filter_policy=self.filter_policy.value,
        )
        return saved

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> GemRetriever:
        """Create a component and its document store from saved data."""
        settings = dict(data["init_parameters"])
        settings["document_store"] = GemDocumentStore.from_dict(settings["document_store"])
        loaded: GemRetriever = default_from_dict(cls, {**data, "init_parameters": settings})
        return loaded
