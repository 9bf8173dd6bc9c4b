"""The interfaces of Cohere and Jina for re-ranking: /v1/rerank and /v2/rerank."""

from __future__ import annotations

import uuid
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter
from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from gem_index.errors import InputError
from gem_index.errors.quoting import quoted
from gem_index.server.bodies import Several
from gem_index.server.context import ServerContext
from gem_index.server.models import DEFAULT
from gem_index.server.responses import JsonResponse
from gem_index.server.routing import READ, Context, KeyedRoute

__all__ = ["RerankAnswer", "RerankRequest", "answer", "cosines", "rank", "router"]

router = APIRouter(tags=["Cohere and Jina"], route_class=KeyedRoute)


class RerankRequest(BaseModel):
    """The body of a request for a re-ranking."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"query": "renew a passport", "documents": ["a new passport", "a bank"]}]
        }
    )

    query: str
    documents: Several[str | dict[str, Any]]
    model: str = DEFAULT
    top_n: Annotated[int, Field(ge=1)] | None = Field(
        default=None, validation_alias=AliasChoices("top_n", "top_k")
    )
    return_documents: bool = False
    rank_fields: Several[str] | None = None


class RerankHit(BaseModel):
    """A document's place in the request, and its cosine with the query."""

    index: int
    relevance_score: float
    document: dict[str, str] | None = None


class RerankAnswer(BaseModel):
    """The documents, best first."""

    id: str
    model: str
    results: list[RerankHit]
    meta: dict[str, Any]
    usage: dict[str, int]


@router.post("/v1/rerank", dependencies=READ, response_model=RerankAnswer)
@router.post("/v2/rerank", dependencies=READ, response_model=RerankAnswer)
async def rerank(asked: RerankRequest, context: Context) -> JsonResponse:
    """Order documents by their cosine with a query, best first; ``top_k`` is another name of ``top_n`` (Voyage)."""
    return await answer(context, asked)


async def answer(context: ServerContext, asked: RerankRequest) -> JsonResponse:
    """Return the answer to a request for a re-ranking."""
    fields = asked.rank_fields or ["text"]
    texts = [_text(each, place, fields) for place, each in enumerate(asked.documents)]
    order = await rank(context, asked.model, asked.query, texts)
    results: list[dict[str, Any]] = []
    for place, score in order[: asked.top_n]:
        result: dict[str, Any] = {"index": place, "relevance_score": score}
        if asked.return_documents:
            result["document"] = {"text": texts[place]}
        results.append(result)
    words = len(asked.query.split()) + sum(len(text.split()) for text in texts)
    return JsonResponse(
        {
            "id": str(uuid.uuid4()),
            "model": asked.model,
            "results": results,
            "meta": {"api_version": {"version": "2"}, "billed_units": {"search_units": 0}},
            "usage": {"total_tokens": words},
        }
    )


async def rank(
    context: ServerContext, model: str, query: str, texts: list[str]
) -> list[tuple[int, float]]:
    """Return positions and cosines with a query, best first; equal ones in the order of the texts."""
    if not texts:
        raise InputError("found an empty list of documents; expected texts")
    scores = await cosines(context, model, query, texts)
    return [(int(i), float(scores[i])) for i in np.argsort(-scores, kind="stable")]


async def cosines(
    context: ServerContext, model: str, text: str, others: list[str]
) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Return the cosines of a text with others, float32 (n,)."""
    vectors = await context.encode(model, [text, *others])
    found: np.ndarray[Any, np.dtype[np.float32]] = np.clip(vectors[1:] @ vectors[0], -1.0, 1.0)
    return found


def _text(document: str | dict[str, Any], place: int, fields: list[str]) -> str:
    if isinstance(document, str):
        return document
    found = [document[name] for name in fields if isinstance(document.get(name), str)]
    if not found:
        raise InputError(
            f"document {place} is {quoted(document)}; expected a text, or an object with {' or '.join(fields)}"
        )
    return "\n".join(found)
