"""A retriever over a collection of gem-index."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableConfig, run_in_executor
from pydantic import ConfigDict, PrivateAttr, model_validator

from gem_index import Collection, Home
from gem_index.errors import GemIndexError
from langchain_gem.searching import search, search_many

__all__ = ["GemRetriever"]


class GemRetriever(BaseRetriever):
    """Finds documents in an existing collection, by meaning, by words, or by both.

    Keyword arguments of a call, as in ``invoke(query, k=3)``, override its settings. The queries of ``batch`` are searched
    together, which is faster.

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
    _found: dict[str, list[list[Document]]] = PrivateAttr(default_factory=dict)

    @model_validator(mode="after")
    def _open(self) -> Self:
        home = Home(self.home, create=self.home is None)
        self._collection = home.collection(self.collection)
        return self

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **changes: Any
    ) -> list[Document]:
        if answers := self._found.get(query):
            return answers.pop()
        found = search(self._collection, query, **self._settings(changes))
        return [document for document, _ in found]

    def batch(
        self,
        inputs: list[str],
        config: RunnableConfig | list[RunnableConfig] | None = None,
        **kwargs: Any,
    ) -> list[list[Document]]:
        """Return the documents for each query; arguments as for any runnable, and those of ``invoke``."""
        return super(GemRetriever, self._with_found(inputs, kwargs)).batch(inputs, config, **kwargs)

    async def abatch(
        self,
        inputs: list[str],
        config: RunnableConfig | list[RunnableConfig] | None = None,
        **kwargs: Any,
    ) -> list[list[Document]]:
        """Return the documents for each query; arguments as for any runnable, and those of ``invoke``."""
        found = await run_in_executor(None, self._with_found, inputs, kwargs)
        return await super(GemRetriever, found).abatch(inputs, config, **kwargs)

    def _with_found(self, queries: list[str], arguments: dict[str, Any]) -> Self:
        """Return a retriever with the answers to some queries; the retriever itself if a query raises an error."""
        changes = {name: each for name, each in arguments.items() if name != "return_exceptions"}
        try:
            found = search_many(self._collection, queries, **self._settings(changes))
        except (GemIndexError, TypeError):
            return self  # each query is searched alone, and has its own error
        retriever = self.model_copy()
        retriever._found = {}
        for query, hits in zip(queries, found, strict=True):
            answer = [document for document, _ in hits]
            retriever._found.setdefault(query, []).append(answer)  # a query may be asked twice
        return retriever

    def _settings(self, changes: dict[str, Any]) -> dict[str, Any]:
        settings = {
            "k": self.k,
            "filter": self.filter,
            "mode": self.mode,
            "min_score": self.min_score,
            "pieces": self.pieces,
        }
        return settings | changes
