"""A retriever over a collection of gem-index."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict, PrivateAttr, model_validator

from gem_index import Collection, Home
from langchain_gem.vectorstores import search

__all__ = ["GemRetriever"]


class GemRetriever(BaseRetriever):
    """Finds documents in an existing collection, by meaning, by words, or by both.

    Keyword arguments of a call, as in ``invoke(query, k=3)``, override its settings.

    Raises
    ------
    UnknownNameError
        If there is no such collection.
    """

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    collection: str
    """Name of the collection."""
    home: str | Path | None = None
    """The home of the collection; by default the default home."""
    k: int | None = 4
    """Number of documents to return; None, with ``min_score``, for all that reach it."""
    filter: dict[str, Any] | None = None
    """A metadata filter such as ``{"lang": "en", "year": {"$gte": 2020}}``."""
    mode: str = "hybrid"
    """``hybrid``: by meaning and words; ``dense``: by meaning; ``lexical``: by words."""
    min_score: float | None = None
    """Only documents with at least this score."""
    pieces: bool = False
    """Return the pieces of long texts, with ``parent``, ``piece``, ``start``, ``end`` and ``heading`` in their metadata."""

    _collection: Collection = PrivateAttr()

    @model_validator(mode="after")
    def _open(self) -> Self:
        home = Home(self.home, create=self.home is None)
        self._collection = home.collection(self.collection)
        return self

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **changes: Any
    ) -> list[Document]:
        settings: dict[str, Any] = {
            "k": self.k,
            "filter": self.filter,
            "mode": self.mode,
            "min_score": self.min_score,
            "pieces": self.pieces,
        }
        found = search(self._collection, query, **(settings | changes))
        return [document for document, _ in found]
