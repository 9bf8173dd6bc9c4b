"""The interface of Hugging Face's Text Embeddings Inference: /embed, /embed_sparse, /rerank, /similarity, /info, and /.

The path / answers like /embed, /rerank or /similarity.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field

from gem_index.errors import InputError
from gem_index.server.bodies import Several
from gem_index.server.context import ServerContext
from gem_index.server.models import DEFAULT
from gem_index.server.openai import encode
from gem_index.server.reranking import RerankAnswer, RerankRequest, answer, cosines, rank
from gem_index.server.responses import JsonResponse
from gem_index.server.routing import (
    READ,
    Context,
    Direct,
    KeyedRoute,
    body_of,
    context_of,
    may_read,
)

__all__ = ["DIRECT", "router"]

router = APIRouter(tags=["Text Embeddings Inference"], route_class=KeyedRoute)


class EmbedRequest(BaseModel):
    """The body of a request for vectors."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"inputs": ["renew a passport"]}]})

    inputs: str | Several[str]
    dimensions: Annotated[int, Field(ge=1)] | None = None
    model: str = DEFAULT
    normalize: bool = True


class SparseRequest(BaseModel):
    """The body of a request for sparse vectors of words."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"inputs": ["renew a passport"], "prompt_name": "query"}]}
    )

    inputs: str | Several[str]
    prompt_name: Literal["query", "document"] | None = None
    model: str = DEFAULT


class SparseValue(BaseModel):
    """The index of a term, from 0 to 2^31 - 1, and its value."""

    index: int
    value: float


class TextRerankRequest(BaseModel):
    """The body of a request for a re-ranking."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"query": "renew a passport", "texts": ["a new passport", "a bank"]}]
        }
    )

    query: str
    texts: Several[str]
    return_text: bool = False
    model: str = DEFAULT


class Ranked(BaseModel):
    """A text's place in the request, and its cosine with the query."""

    index: int
    score: float
    text: str | None = None


class SimilarityInputs(BaseModel):
    """A sentence, and the sentences with which it is compared."""

    source_sentence: str
    sentences: Several[str]


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


class Info(BaseModel):
    """The description of the server and its limits."""

    model_id: str
    model_sha: str
    model_dtype: str
    model_type: dict[str, Any]
    max_client_batch_size: int
    max_input_length: int
    version: str


async def embed(request: Request) -> JsonResponse:
    """Return unit vectors, zeros for a text without a word."""
    await may_read(request)
    asked = await body_of(request, EmbedRequest)
    return await _embed(await context_of(request), asked)


@router.post("/embed_sparse", dependencies=READ, response_model=list[list[SparseValue]])
async def embed_sparse(asked: SparseRequest, context: Context) -> JsonResponse:
    """Return sparse vectors of words, of documents, or with ``prompt_name: "query"`` of queries.

    The model of a collection has the collection's word statistics; other models know frequent English words only.
    """
    texts = [asked.inputs] if isinstance(asked.inputs, str) else asked.inputs
    rows = await context.encode_words(asked.model, texts, queries=asked.prompt_name == "query")
    return JsonResponse(list(rows))


@router.post("/rerank", dependencies=READ, response_model=list[Ranked] | RerankAnswer)
async def rerank(asked: TextRerankRequest | RerankRequest, context: Context) -> JsonResponse:
    """Order texts by their cosine with a query, best first.

    A body with ``documents`` instead of ``texts`` is answered as /v1/rerank does, for clients of Jina and infinity.
    """
    if isinstance(asked, RerankRequest):
        return await answer(context, asked)
    return await _rank(context, asked)


@router.post("/similarity", dependencies=READ, response_model=list[float])
async def similarity(asked: SimilarityRequest, context: Context) -> JsonResponse:
    """Return the cosines of a sentence with others."""
    return await _compare(context, asked)


@router.post("/", dependencies=READ)
async def at_root(
    asked: EmbedRequest | TextRerankRequest | SimilarityRequest, context: Context
) -> JsonResponse:
    """Answer like /embed, /rerank or /similarity, depending on the body."""
    if isinstance(asked, EmbedRequest):
        return await _embed(context, asked)
    if isinstance(asked, TextRerankRequest):
        return await _rank(context, asked)
    return await _compare(context, asked)


@router.get("/info", dependencies=READ, response_model=Info)
async def info(context: Context) -> JsonResponse:
    """Return the description of the server and its limits."""
    encoder = await context.model(DEFAULT)
    found = Info(
        model_id=DEFAULT,
        model_sha=encoder.fingerprint,
        model_dtype="float32",
        model_type={"embedding": {"pooling": "gem"}},
        max_client_batch_size=context.limits.texts,
        max_input_length=context.limits.characters,
        version=version("gem-index"),
    )
    return JsonResponse(found.model_dump())


async def _embed(context: ServerContext, asked: EmbedRequest) -> JsonResponse:
    texts = [asked.inputs] if isinstance(asked.inputs, str) else asked.inputs
    if not asked.normalize:
        raise InputError("normalize is false; expected true: all vectors have unit length")
    return JsonResponse(list(await encode(context, asked.model, texts, asked.dimensions)))


async def _rank(context: ServerContext, asked: TextRerankRequest) -> JsonResponse:
    order = await rank(context, asked.model, asked.query, asked.texts)
    rows: list[dict[str, Any]] = [{"index": place, "score": score} for place, score in order]
    if asked.return_text:
        rows = [{**row, "text": asked.texts[row["index"]]} for row in rows]
    return JsonResponse(rows)


async def _compare(context: ServerContext, asked: SimilarityRequest) -> JsonResponse:
    inputs = asked.inputs
    return JsonResponse(
        await cosines(context, asked.model, inputs.source_sentence, inputs.sentences)
    )


DIRECT = Direct("/embed", embed, EmbedRequest, list[list[float]], "Text Embeddings Inference")
