"""The interface of Hugging Face's Text Embeddings Inference: /embed, /rerank, /similarity, /info."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Depends
from pydantic import BaseModel, ConfigDict

from gem_index.server.context import ServerContext
from gem_index.server.models import DEFAULT
from gem_index.server.reranking import ranked
from gem_index.server.security import context_of, needs

__all__ = ["router"]

router = APIRouter(tags=["Text Embeddings Inference"])


class EmbedRequest(BaseModel):
    """The body of a request for embeddings."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"inputs": ["renew a passport"]}]})

    inputs: str | list[str]
    normalize: bool = True
    truncate: bool | None = None
    model: str = DEFAULT


@router.post("/embed", dependencies=[Depends(needs("read"))])
async def embed(
    asked: EmbedRequest, context: Annotated[ServerContext, Depends(context_of)]
) -> list[list[float]]:
    """Return unit vectors."""
    texts = [asked.inputs] if isinstance(asked.inputs, str) else asked.inputs
    vectors = await context.encode(context.models.get(asked.model), texts)
    rows: list[list[float]] = vectors.tolist()
    return rows


class TextRerankRequest(BaseModel):
    """The body of a request for a re-ranking."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"query": "renew a passport", "texts": ["a new passport", "a bank"]}]
        }
    )

    query: str
    texts: list[str]
    return_text: bool = False
    raw_scores: bool = False
    truncate: bool | None = None
    model: str = DEFAULT


@router.post("/rerank", dependencies=[Depends(needs("read"))])
async def rerank(
    asked: TextRerankRequest, context: Annotated[ServerContext, Depends(context_of)]
) -> list[dict[str, Any]]:
    """Order texts by their cosine with a query, best first."""
    order = await ranked(context, asked.model, asked.query, asked.texts)
    return [
        {"index": place, "score": score} | ({"text": asked.texts[place]} if asked.return_text else {})
        for place, score in order
    ]


class SimilarityInputs(BaseModel):
    """A sentence, and those it is compared with."""

    source_sentence: str
    sentences: list[str]


class SimilarityRequest(BaseModel):
    """The body of a request for similarities."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"inputs": {"source_sentence": "a passport", "sentences": ["a visa", "a bank"]}}
            ]
        }
    )

    inputs: SimilarityInputs
    model: str = DEFAULT


@router.post("/similarity", dependencies=[Depends(needs("read"))])
async def similarity(
    asked: SimilarityRequest, context: Annotated[ServerContext, Depends(context_of)]
) -> list[float]:
    """Return the cosines of a sentence with others."""
    texts = [asked.inputs.source_sentence, *asked.inputs.sentences]
    vectors = await context.encode(context.models.get(asked.model), texts)
    scores: list[float] = np.clip(vectors[1:] @ vectors[0], -1.0, 1.0).tolist()
    return scores


@router.get("/info", dependencies=[Depends(needs("read"))])
async def info(context: Annotated[ServerContext, Depends(context_of)]) -> dict[str, Any]:
    """Return what the server is, and what it takes."""
    encoder = await context.read(context.models.default)
    return {
        "model_id": DEFAULT,
        "model_sha": encoder.fingerprint,
        "model_dtype": "float32",
        "model_type": {"embedding": {"pooling": "gem"}},
        "max_client_batch_size": context.limits.texts,
        "max_input_length": context.limits.characters,
        "version": version("gem-index"),
    }
