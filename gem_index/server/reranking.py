"""The interfaces of Cohere and Jina for re-ranking: /v1/rerank and /v2/rerank."""

from __future__ import annotations

import uuid
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Depends
from pydantic import BaseModel, ConfigDict, Field

from gem_index.errors import InputError
from gem_index.quoting import quoted
from gem_index.server.context import ServerContext
from gem_index.server.security import context_of, needs

__all__ = ["ranked", "router"]

router = APIRouter(tags=["Cohere and Jina"])


class RerankRequest(BaseModel):
    """The body of a request for a re-ranking."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"query": "renew a passport", "documents": ["a new passport", "a bank"]}]
        }
    )

    query: str
    documents: list[str | dict[str, Any]]
    model: str = "gem-index"
    top_n: Annotated[int, Field(ge=1)] | None = None
    return_documents: bool = False
    rank_fields: list[str] | None = None


@router.post("/v1/rerank", dependencies=[Depends(needs("read"))])
@router.post("/v2/rerank", dependencies=[Depends(needs("read"))])
async def rerank(
    asked: RerankRequest, context: Annotated[ServerContext, Depends(context_of)]
) -> dict[str, Any]:
    """Order documents by their cosine with a query, best first."""
    texts = [_text(each, place, asked.rank_fields or ["text"]) for place, each in enumerate(asked.documents)]
    order = await ranked(context, asked.model, asked.query, texts)
    results: list[dict[str, Any]] = []
    for place, score in order[: asked.top_n]:
        result: dict[str, Any] = {"index": place, "relevance_score": score}
        if asked.return_documents:
            result["document"] = {"text": texts[place]}
        results.append(result)
    return {
        "id": str(uuid.uuid4()),
        "model": asked.model,
        "results": results,
        "meta": {"api_version": {"version": "2"}, "billed_units": {"search_units": 0}},
        "usage": {"total_tokens": 0},
    }


async def ranked(
    context: ServerContext, model: str, query: str, texts: list[str]
) -> list[tuple[int, float]]:
    """Return positions and cosines with a query, best first; equal ones in the order of the texts."""
    if not texts:
        raise InputError("documents is an empty list; expected texts")
    encoder = context.models.get(model)
    vectors = await context.encode(encoder, [query, *texts])
    scores = np.clip(vectors[1:] @ vectors[0], -1.0, 1.0)
    return [(int(i), float(scores[i])) for i in np.argsort(-scores, kind="stable")]


def _text(document: str | dict[str, Any], place: int, fields: list[str]) -> str:
    if isinstance(document, str):
        return document
    found = [document[name] for name in fields if isinstance(document.get(name), str)]
    if not found:
        raise InputError(
            f"document {place} is {quoted(document)}; expected a text, or an object with {' or '.join(fields)}"
        )
    return "\n".join(found)
