"""The documents of a collection that a query finds, as LangChain's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.documents import Document

from gem_index import Collection
from gem_index.errors import EmptyTextError
from gem_index.results import SearchResult
from langchain_gem.metadata import json_value

__all__ = ["search", "search_many"]


def search(
    collection: Collection,
    query: str | list[float],
    k: int | None = 4,
    filter: dict[str, Any] | None = None,
    *,
    pieces: bool = False,
    **options: Any,
) -> list[tuple[Document, float]]:
    """Search a collection; options are those of :meth:`gem_index.Collection.search`.

    Pieces of long texts have ids ``id#1``, ``id#2``, ..., and metadata with ``parent``, ``piece``, ``start``, ``end`` and
    ``heading``. A text without words finds nothing, while the collection itself raises an error: a chain can continue
    without results.
    """
    try:
        hits = collection.search(query, k, json_value(filter), pieces=pieces, **options)
    except EmptyTextError:
        return []
    return _scored(hits, pieces)


def search_many(
    collection: Collection,
    queries: list[str],
    k: int | None = 4,
    filter: dict[str, Any] | None = None,
    *,
    pieces: bool = False,
    **options: Any,
) -> list[list[tuple[Document, float]]]:
    """Search a collection with several queries at once, like :func:`search` for each; a text without words is an error.

    Raises
    ------
    EmptyTextError
        If a text holds no word.
    """
    where = json_value(filter)
    found = collection.search_many(queries, k, where, pieces=pieces, **options)
    return [_scored(hits, pieces) for hits in found]


def _scored(hits: Sequence[SearchResult], pieces: bool) -> list[tuple[Document, float]]:
    found = (hit.as_row() if pieces else hit for hit in hits)
    return [
        (Document(id=hit.id, page_content=hit.text, metadata=dict(hit.metadata)), hit.score)
        for hit in found
    ]
