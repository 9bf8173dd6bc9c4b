"""The interface of Cohere for vectors: /v1/embed and /v2/embed."""

from __future__ import annotations

import uuid
from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from gem_index.common.arrays import F32
from gem_index.errors import InputError
from gem_index.errors.quoting import quoted
from gem_index.server.bodies import Several
from gem_index.server.models import DEFAULT
from gem_index.server.openai import encode, in_base64
from gem_index.server.responses import JsonResponse
from gem_index.server.routing import READ, Context, KeyedRoute

__all__ = ["router"]

_TYPES = ("float", "base64")

router = APIRouter(tags=["Cohere and Jina"], route_class=KeyedRoute)


class CohereEmbedRequest(BaseModel):
    """The body of a request for vectors; ``input_type`` changes nothing, because queries and documents have one encoder."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"texts": ["renew a passport"], "embedding_types": ["float"]}]
        }
    )

    texts: Several[str]
    model: str = DEFAULT
    input_type: str | None = None
    embedding_types: list[str] | None = None
    output_dimension: Annotated[int, Field(ge=1)] | None = None


@router.post("/v1/embed", dependencies=READ)
async def embed_v1(asked: CohereEmbedRequest, context: Context) -> JsonResponse:
    """Return unit vectors in the form of Cohere's first version: a list, or lists by type."""
    vectors = await encode(context, asked.model, asked.texts, asked.output_dimension)
    if asked.embedding_types is None:
        return _answer(asked, list(vectors), "embeddings_floats")
    return _answer(asked, _by_type(vectors, asked.embedding_types), "embeddings_by_type")


@router.post("/v2/embed", dependencies=READ)
async def embed_v2(asked: CohereEmbedRequest, context: Context) -> JsonResponse:
    """Return unit vectors in the form of Cohere's second version: lists by type."""
    vectors = await encode(context, asked.model, asked.texts, asked.output_dimension)
    return _answer(
        asked, _by_type(vectors, asked.embedding_types or ["float"]), "embeddings_by_type"
    )


def _answer(asked: CohereEmbedRequest, embeddings: Any, kind: str) -> JsonResponse:
    words = sum(len(text.split()) for text in asked.texts)
    return JsonResponse(
        {
            "id": str(uuid.uuid4()),
            "embeddings": embeddings,
            "texts": asked.texts,
            "response_type": kind,
            "meta": {"api_version": {"version": "2"}, "billed_units": {"input_tokens": words}},
        }
    )


def _by_type(vectors: F32, types: list[str]) -> dict[str, Any]:
    wrong = next((each for each in types if each not in _TYPES), None)
    if wrong is not None:
        raise InputError(
            f"embedding_types has {quoted(wrong)}; expected float or base64: the vectors are not quantized"
        )
    found: dict[str, Any] = {}
    if "float" in types:
        found["float"] = list(vectors)
    if "base64" in types:
        found["base64"] = in_base64(vectors)
    return found
