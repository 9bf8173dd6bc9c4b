"""The interface of OpenAI: /v1/embeddings and /v1/models."""

from __future__ import annotations

import base64
from typing import Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter, Depends
from pydantic import BaseModel, ConfigDict, Field

from gem_index.errors import InputError
from gem_index.quoting import quoted
from gem_index.server.context import ServerContext
from gem_index.server.security import context_of, needs
from gem_index.text import tokenize

__all__ = ["router"]

router = APIRouter(tags=["OpenAI"])


class EmbeddingsRequest(BaseModel):
    """The body of a request for embeddings."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"model": "gem-index", "input": ["renew a passport"]}]}
    )

    input: str | list[str] | list[int] | list[list[int]]
    model: str = "gem-index"
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: Annotated[int, Field(ge=1)] | None = None
    user: str | None = None


@router.post("/v1/embeddings", dependencies=[Depends(needs("read"))])
async def embeddings(
    asked: EmbeddingsRequest, context: Annotated[ServerContext, Depends(context_of)]
) -> dict[str, Any]:
    """Return the vectors of texts, as OpenAI does."""
    texts: list[Any] = [asked.input] if isinstance(asked.input, str) else list(asked.input)
    if not texts:
        raise InputError("input is an empty list; expected a text, or a list of them")
    if not isinstance(texts[0], str):
        raise InputError(
            "input holds the numbers of another model's tokens; expected texts: for LangChain set "
            "check_embedding_ctx_length=False"
        )
    encoder = context.models.get(asked.model)
    if asked.dimensions not in (None, encoder.dimension):
        raise InputError(
            f"dimensions is {asked.dimensions}; expected {encoder.dimension}, which the model {quoted(asked.model)} has: "
            "its vectors cannot be cut"
        )
    vectors = await context.encode(encoder, texts)
    tokens = sum(len(tokenize(text)) for text in texts)
    return {
        "object": "list",
        "data": [
            {"object": "embedding", "index": place, "embedding": _shown(row, asked.encoding_format)}
            for place, row in enumerate(vectors)
        ],
        "model": asked.model,
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    }


def _shown(row: np.ndarray[Any, np.dtype[np.float32]], form: str) -> str | list[float]:
    if form == "base64":
        return base64.b64encode(row.astype("<f4").tobytes()).decode()
    floats: list[float] = row.tolist()
    return floats


@router.get("/v1/models", dependencies=[Depends(needs("read"))])
async def models(context: Annotated[ServerContext, Depends(context_of)]) -> dict[str, Any]:
    """List the models."""
    cards = await context.read(lambda: list(context.models.list()))
    return {"object": "list", "data": [_card(card.name, card.fingerprint, card.dimension) for card in cards]}


@router.get("/v1/models/{name:path}", dependencies=[Depends(needs("read"))])
async def model(
    name: str, context: Annotated[ServerContext, Depends(context_of)]
) -> dict[str, Any]:
    """Return one model."""
    encoder = await context.read(lambda: context.models.get(name))
    return _card(name, encoder.fingerprint, encoder.dimension)


def _card(name: str, fingerprint: str, dimension: int) -> dict[str, Any]:
    return {
        "id": name,
        "object": "model",
        "created": 0,
        "owned_by": "gem-index",
        "fingerprint": fingerprint,
        "dimension": dimension,
    }
