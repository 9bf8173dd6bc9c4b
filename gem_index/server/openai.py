"""The interface of OpenAI: /v1/embeddings and /v1/models."""

from __future__ import annotations

import base64
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
from fastapi import APIRouter, Request
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, WithJsonSchema

from gem_index.common.arrays import F32
from gem_index.errors import InputError
from gem_index.errors.quoting import quoted
from gem_index.server.bodies import Several
from gem_index.server.context import ServerContext
from gem_index.server.models import DEFAULT, ModelCard
from gem_index.server.paths import DEPLOYMENT
from gem_index.server.responses import JsonResponse
from gem_index.server.routing import (
    READ,
    Context,
    Direct,
    body_of,
    context_of,
    may_read,
)

__all__ = ["DIRECT", "check_dimensions", "encode", "in_base64", "router"]

router = APIRouter(tags=["OpenAI"])


def _with_text(value: dict[str, Any]) -> dict[str, Any]:
    """Return an object that has a text; other fields are ignored, and not described one by one when they are wrong."""
    if not isinstance(value.get("text"), str):
        raise ValueError("expected an object with a text: {'text': '...'}")  # noqa: TRY004 - pydantic's way
    return value


TextObject: TypeAlias = Annotated[
    dict[str, Any],
    AfterValidator(_with_text),
    WithJsonSchema(
        {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    ),
]
"""A text as clients of Jina send it."""


class EmbeddingsRequest(BaseModel):
    """The body of a request for embeddings."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"model": "gem-index", "input": ["renew a passport"]}]}
    )

    input: str | Several[str] | Several[TextObject] | Several[int] | Several[Several[int]]
    model: str = DEFAULT
    encoding_format: Literal["float", "base64"] | None = None
    dimensions: Annotated[int, Field(ge=1)] | None = None
    user: str | None = None


class Embedding(BaseModel):
    """The vector of one text: its numbers, or the Base64 of little-endian float32."""

    object: Literal["embedding"] = "embedding"
    index: int
    embedding: list[float] | str


class Usage(BaseModel):
    """The number of words, separated by white space."""

    prompt_tokens: int
    total_tokens: int


class Embeddings(BaseModel):
    """The answer to a request for embeddings."""

    object: Literal["list"] = "list"
    data: list[Embedding]
    model: str
    usage: Usage


class Model(BaseModel):
    """A model."""

    id: str
    object: Literal["model"] = "model"
    created: int = 0
    owned_by: str = DEFAULT
    fingerprint: str
    dimension: int


class Models(BaseModel):
    """The models of a server."""

    object: Literal["list"] = "list"
    data: list[Model]


async def embeddings(request: Request) -> JsonResponse:
    """Return the vectors of texts, as OpenAI does; zeros for a text without a word."""
    await may_read(request)
    asked = await body_of(request, EmbeddingsRequest)
    context = await context_of(request)
    given: list[Any] = [asked.input] if isinstance(asked.input, str) else list(asked.input)
    # Jina's clients send objects
    texts: list[Any] = [each["text"] if isinstance(each, dict) else each for each in given]
    if not texts:
        raise InputError("input is an empty list; expected a text, or a list of them")
    if not isinstance(texts[0], str):
        raise InputError(
            "input holds the numbers of another model's tokens; expected texts: for LangChain set "
            "check_embedding_ctx_length=False"
        )
    name = asked.model
    if "model" not in asked.model_fields_set:
        name = request.scope.get(DEPLOYMENT, name)
    vectors = await encode(context, name, texts, asked.dimensions)
    words = sum(len(text.split()) for text in texts)
    return JsonResponse(
        {
            "object": "list",
            "data": [
                {"object": "embedding", "index": place, "embedding": row}
                for place, row in enumerate(_shown(vectors, asked.encoding_format))
            ],
            "model": name,
            "usage": {"prompt_tokens": words, "total_tokens": words},
        }
    )


async def encode(
    context: ServerContext, model: str, texts: list[str], dimensions: int | None = None
) -> F32:
    """Return the unit vectors of texts, float32 (n, d); their first ``dimensions`` numbers, again at unit length.

    Raises
    ------
    InputError
        If the model has fewer dimensions; also the errors of ``context.encode``.
    """
    await check_dimensions(context, model, dimensions)
    vectors = await context.encode(model, texts)
    if dimensions is None or dimensions == vectors.shape[1]:
        return vectors
    cut = vectors[:, :dimensions]
    lengths = np.linalg.norm(cut, axis=1, keepdims=True)
    shortened: F32 = np.divide(cut, lengths, out=np.zeros_like(cut), where=lengths > 0)
    return shortened


async def check_dimensions(context: ServerContext, model: str, dimensions: int | None) -> None:
    """Refuse more dimensions than a model has.

    Raises
    ------
    InputError
        If the model has fewer.
    """
    if dimensions is None:
        return
    encoder = await context.model(model)
    if dimensions > encoder.dimension:
        raise InputError(
            f"dimensions is {quoted(dimensions)}; expected at most {encoder.dimension}, which the model {quoted(model)} has"
        )


def _shown(vectors: F32, form: str | None) -> list[str] | list[F32]:
    if form != "base64":
        return list(vectors)
    return in_base64(vectors)


def in_base64(vectors: F32) -> list[str]:
    """Return the Base64 of little-endian float32 of each vector."""
    return [base64.b64encode(row).decode() for row in vectors.astype("<f4", copy=False)]


@router.get("/v1/models", dependencies=READ, response_model=Models)
async def models(context: Context) -> JsonResponse:
    """List the models: the default model, fitted models, and the models of collections."""
    cards = await context.read(context.models.list)
    return JsonResponse({"object": "list", "data": [_card(card) for card in cards]})


@router.get("/v1/models/{name:path}", dependencies=READ, response_model=Model)
async def model(name: str, context: Context) -> JsonResponse:
    """Return one model, by name or fingerprint."""
    encoder = await context.model(name)
    return JsonResponse(_card(ModelCard(name, encoder.fingerprint, encoder.dimension)))


def _card(card: ModelCard) -> dict[str, Any]:
    return Model(id=card.name, fingerprint=card.fingerprint, dimension=card.dimension).model_dump()


DIRECT = Direct("/v1/embeddings", embeddings, EmbeddingsRequest, Embeddings, "OpenAI")
