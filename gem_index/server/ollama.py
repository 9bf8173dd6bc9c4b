"""The interface of Ollama for vectors: /api/embed, /api/embeddings, /api/tags, /api/version."""

from __future__ import annotations

import time
from importlib.metadata import version
from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from gem_index.server.bodies import Several
from gem_index.server.models import DEFAULT, ModelCard
from gem_index.server.openai import encode
from gem_index.server.responses import JsonResponse
from gem_index.server.routing import READ, Context, KeyedRoute

__all__ = ["router"]

router = APIRouter(prefix="/api", tags=["Ollama"], route_class=KeyedRoute)


class OllamaEmbedRequest(BaseModel):
    """The body of a request for vectors."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"model": "gem-index", "input": ["renew a passport"]}]}
    )

    model: str = DEFAULT
    input: str | Several[str]
    dimensions: Annotated[int, Field(ge=1)] | None = None


class OllamaPromptRequest(BaseModel):
    """The body of a request for the vector of one text, in the older form."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"model": "gem-index", "prompt": "renew a passport"}]}
    )

    model: str = DEFAULT
    prompt: str


@router.post("/embed", dependencies=READ)
async def embed(asked: OllamaEmbedRequest, context: Context) -> JsonResponse:
    """Return unit vectors, zeros for a text without a word."""
    begun = time.perf_counter_ns()
    texts = [asked.input] if isinstance(asked.input, str) else asked.input
    vectors = await encode(context, asked.model, texts, asked.dimensions)
    return JsonResponse(
        {
            "model": asked.model,
            "embeddings": list(vectors),
            "total_duration": time.perf_counter_ns() - begun,
            "load_duration": 0,
            "prompt_eval_count": sum(len(text.split()) for text in texts),
        }
    )


@router.post("/embeddings", dependencies=READ)
async def embeddings(asked: OllamaPromptRequest, context: Context) -> JsonResponse:
    """Return the unit vector of one text."""
    [vector] = await encode(context, asked.model, [asked.prompt])
    return JsonResponse({"embedding": vector})


@router.get("/tags", dependencies=READ)
async def tags(context: Context) -> JsonResponse:
    """List the models."""
    cards = await context.read(context.models.list)
    return JsonResponse({"models": [_shown(card) for card in cards]})


@router.get("/version", dependencies=READ)
async def number() -> dict[str, str]:
    """Return the version of gem-index."""
    return {"version": version("gem-index")}


def _shown(card: ModelCard) -> dict[str, Any]:
    return {
        "name": card.name,
        "model": card.name,
        "modified_at": "1970-01-01T00:00:00Z",
        "size": 0,
        "digest": card.fingerprint,
        "details": {"format": "gem-index", "family": "gem", "families": ["gem"]},
    }
