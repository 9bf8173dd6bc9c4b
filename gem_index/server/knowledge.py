"""A collection as the knowledge base of an assistant: search in vector stores (OpenAI), and /retrieval (Dify)."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from gem_index.collection.results import SearchResult, SearchResults
from gem_index.errors import InputError
from gem_index.server.context import ServerContext, search_pool
from gem_index.server.encoding import SHORT
from gem_index.server.errors import KnowledgeError, error_descriptions
from gem_index.server.responses import JsonResponse
from gem_index.server.routing import READ, Context, KeyedRoute

__all__ = ["router"]

router = APIRouter(tags=["Knowledge"], route_class=KeyedRoute)


class StoreSearchRequest(BaseModel):
    """The body of a search in a vector store, which is a collection."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"query": "a new passport"}]})

    query: str
    max_num_results: Annotated[int, Field(ge=1, le=50)] = 10
    filters: dict[str, Any] | None = None


class RetrievalSetting(BaseModel):
    """The number of results and the lowest score."""

    top_k: Annotated[int, Field(ge=1, le=100)] = 5
    score_threshold: float = 0.0


class RetrievalRequest(BaseModel):
    """The body of a retrieval."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "knowledge_id": "faq",
                    "query": "a new passport",
                    "retrieval_setting": {"top_k": 2, "score_threshold": 0.1},
                }
            ]
        }
    )

    knowledge_id: str
    query: str
    retrieval_setting: RetrievalSetting = Field(default_factory=RetrievalSetting)
    metadata_condition: dict[str, Any] | None = None


@router.post("/v1/vector_stores/{name}/search", dependencies=READ)
async def search_store(asked: StoreSearchRequest, name: str, context: Context) -> JsonResponse:
    """Search a collection as a vector store of OpenAI; a file is a document."""
    where = None if asked.filters is None else _filter_of(asked.filters)
    hits = await _search(context, name, asked.query, asked.max_num_results, where)
    return JsonResponse(
        {
            "object": "vector_store.search_results.page",
            "search_query": [asked.query],
            "data": [
                {
                    "file_id": hit.id,
                    "filename": str(hit.metadata.get("title", hit.id)),
                    "score": hit.score,
                    "attributes": dict(hit.metadata),
                    "content": [{"type": "text", "text": _text_of(hit)}],
                }
                for hit in hits
            ],
            "has_more": False,
            "next_page": None,
        }
    )


@router.post("/retrieval", dependencies=READ, responses=error_descriptions(KnowledgeError))
async def retrieve(asked: RetrievalRequest, context: Context) -> JsonResponse:
    """Search a collection as external knowledge of Dify; ``knowledge_id`` is its name."""
    setting = asked.retrieval_setting
    if asked.metadata_condition is not None:
        raise InputError("found metadata_condition; expected none: it is not supported")
    hits = await _search(context, asked.knowledge_id, asked.query, setting.top_k)
    return JsonResponse(
        {
            "records": [
                {
                    "content": _text_of(hit),
                    "score": hit.score,
                    "title": str(hit.metadata.get("title", hit.id)),
                    "metadata": {**hit.metadata, "document_id": hit.id},
                }
                for hit in hits
                if hit.score >= setting.score_threshold
            ]
        }
    )


async def _search(
    context: ServerContext, name: str, query: str, k: int, where: dict[str, Any] | None = None
) -> SearchResults:
    text = context.check_query(query)
    pool = search_pool(long=len(text) > SHORT, alone=where)
    return await context.ask_searched(name, lambda each: each.search(text, k, where), pool=pool)


def _text_of(hit: SearchResult) -> str:
    return str(hit.text if hit.piece is None else hit.piece.text)


_COMPARISONS = {"eq", "ne", "gt", "gte", "lt", "lte", "in", "nin"}


def _filter_of(given: dict[str, Any]) -> dict[str, Any]:
    """Convert a filter of OpenAI's vector stores to a filter of collections.

    Raises
    ------
    InputError
        If it is not of that form.
    """
    kind = given.get("type")
    parts = given.get("filters")
    if kind in ("and", "or") and isinstance(parts, list):
        if not all(isinstance(part, dict) for part in parts):
            raise InputError("filters holds a part that is no object; expected objects")
        return {f"${kind}": [_filter_of(part) for part in parts]}
    if kind in _COMPARISONS and isinstance(given.get("key"), str) and "value" in given:
        return {given["key"]: {f"${kind}": given["value"]}}
    names = ", ".join(sorted(_COMPARISONS))
    raise InputError(
        f"filters is not a filter of OpenAI; expected type (and, or, {names}) with filters, or with key and value"
    )
