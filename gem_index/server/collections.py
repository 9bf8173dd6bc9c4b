"""Collections: create, fill, search, explain, care for."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import BaseModel, ConfigDict, Field

from gem_index.collection import Collection
from gem_index.documents import Document
from gem_index.errors import GemIndexError, InputError
from gem_index.json_input import parse_json
from gem_index.quoting import quoted, quoted_error
from gem_index.server.context import ServerContext
from gem_index.server.errors import TooLargeError, status_of
from gem_index.server.security import context_of, needs

__all__ = ["router"]

router = APIRouter(prefix="/collections", tags=["Collections"])
Context = Annotated[ServerContext, Depends(context_of)]
_BATCH = 1000  # documents of a stream that are stored at once
_COUNTED = ("added", "updated", "unchanged")


class NewCollection(BaseModel):
    """The body of a request for a new collection."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "faq"}]})

    name: str
    vectors: str | None = None
    preset: str | None = None
    index: str | None = None


class DocumentBody(BaseModel):
    """A document."""

    id: str
    text: str
    metadata: dict[str, Any] = Field(default_factory=dict)


class DocumentsBody(BaseModel):
    """The body of a request that stores documents."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"documents": [{"id": "1", "text": "Renew a passport", "metadata": {}}]}]
        }
    )

    documents: list[DocumentBody]


class DeleteBody(BaseModel):
    """The body of a request that deletes documents by id or by a filter."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"ids": ["1"]}]})

    ids: list[str] | None = None
    where: dict[str, Any] | None = None


class SearchBody(BaseModel):
    """The body of a search, for one query or several."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"query": "a new passport", "k": 3}]}
    )

    query: str | None = None
    queries: list[str] | None = None
    k: Annotated[int, Field(ge=1, le=10_000)] = 10
    mode: str = "hybrid"
    fusion: str = "weighted"
    where: dict[str, Any] | None = None
    min_score: float | None = None
    rerank: bool = False
    why: bool = False
    collapse: bool | float = False
    pieces: bool = False
    exact: bool = False


class RerankBody(BaseModel):
    """The body of a request for a re-ranking with a collection's model."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"query": "a new passport", "candidates": ["renew a passport", "a bank"]}]
        }
    )

    query: str
    candidates: list[str]
    top_n: Annotated[int, Field(ge=1)] | None = None


class ExplainBody(BaseModel):
    """The body of a request that explains a text, or why two match."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"text": "a new passport", "with": "renew a passport"}]},
        populate_by_name=True,
    )

    text: str
    other: str | None = Field(default=None, alias="with")


async def opened(name: str, context: Context) -> Collection:
    """Return the collection that a path names."""
    return await context.read(lambda: context.home.collection(name))


Opened = Annotated[Collection, Depends(opened)]


@router.get("", dependencies=[Depends(needs("read"))])
async def list_all(context: Context) -> dict[str, Any]:
    """List the collections."""
    found = await context.read(context.home.collections)
    return {"collections": [asdict(status) for status in found]}


@router.post("", status_code=201, dependencies=[Depends(needs("admin"))])
async def create(asked: NewCollection, context: Context) -> dict[str, Any]:
    """Create an empty collection."""
    made = await context.write(
        lambda: context.home.create_collection(
            asked.name, vectors=asked.vectors, config=asked.preset, index=asked.index
        )
    )
    return asdict(await context.read(made.status))


@router.get("/{name}", dependencies=[Depends(needs("read"))])
async def status(collection: Opened, context: Context) -> dict[str, Any]:
    """Return the state of a collection."""
    return asdict(await context.read(collection.status))


@router.delete("/{name}", dependencies=[Depends(needs("admin"))])
async def drop(collection: Opened, context: Context) -> dict[str, Any]:
    """Remove a collection with its documents."""
    await context.write(lambda: context.home.drop(collection.name))
    return {"dropped": collection.name}


@router.put("/{name}/documents", dependencies=[Depends(needs("write"))])
async def upsert(asked: DocumentsBody, collection: Opened, context: Context) -> dict[str, Any]:
    """Store documents by id, in one transaction; they are on the disk when this answers."""
    context.checked([document.text for document in asked.documents])
    documents = [Document(id=d.id, text=d.text, metadata=d.metadata) for d in asked.documents]
    return asdict(await context.write(lambda: collection.ingest(documents)))


@router.post("/{name}/documents/stream", dependencies=[Depends(needs("write"))])
async def stream(request: Request, collection: Opened, context: Context) -> JSONResponse:
    """Store documents from JSON lines, 1,000 in a transaction; an error says how many are stored."""
    counts: Counter[str] = Counter()
    batch: list[Document] = []
    try:
        async for number, line in _lines(request, context.limits.body):
            batch.append(_document(number, line, context))
            if len(batch) == _BATCH:
                counts.update(await _ingest(batch, collection, context))
                batch = []
        if batch:
            counts.update(await _ingest(batch, collection, context))
    except GemIndexError as error:
        body = {"error": {"message": str(error), "type": "invalid_request_error"}, "stored": dict(counts)}
        return JSONResponse(body, status_of(error))
    return JSONResponse({"collection": collection.name, **{name: counts[name] for name in _COUNTED}})


async def _ingest(
    batch: list[Document], collection: Collection, context: ServerContext
) -> dict[str, int]:
    report = await context.write(lambda: collection.ingest(batch))
    return {name: getattr(report, name) for name in _COUNTED}


async def _lines(request: Request, most: int) -> AsyncIterator[tuple[int, bytes]]:
    """Iterate over the numbers and lines of a body that are not blank; no line may be longer than ``most`` bytes."""
    held, number = bytearray(), 0
    async for chunk in request.stream():
        held += chunk
        *whole, rest = held.split(b"\n")
        held = bytearray(rest)
        for line in whole:
            number += 1
            if line.strip():
                yield number, bytes(line)
        if len(held) > most:
            raise TooLargeError(f"line {number + 1} has more than {most} bytes; expected fewer")
    if held.strip():
        yield number + 1, bytes(held)


def _document(number: int, line: bytes, context: ServerContext) -> Document:
    try:
        fields = parse_json(line.decode())
    except ValueError as error:
        raise InputError(f"line {number} is not JSON: {quoted_error(error)}; expected an object") from error
    if not isinstance(fields, Mapping) or not isinstance(fields.get("text"), str) or "id" not in fields:
        raise InputError(f"line {number} is {quoted(fields)}; expected an object with id and text")
    context.checked([fields["text"]])
    return Document(
        id=str(fields["id"]), text=fields["text"], metadata=fields.get("metadata") or {}
    )


@router.post("/{name}/documents/delete", dependencies=[Depends(needs("write"))])
async def delete(asked: DeleteBody, collection: Opened, context: Context) -> dict[str, Any]:
    """Delete documents by id or by a filter."""
    report = await context.write(lambda: collection.delete(asked.ids, where=asked.where))
    return {"deleted": report.deleted, "missing": list(report.missing)}


@router.get("/{name}/documents/{document:path}", dependencies=[Depends(needs("read"))])
async def get(document: str, collection: Opened, context: Context) -> dict[str, Any]:
    """Return a document."""
    [found] = await context.read(lambda: collection.get([document]))
    return {"id": found.id, "text": str(found.text), "metadata": dict(found.metadata)}


@router.post("/{name}/search", dependencies=[Depends(needs("read"))])
async def search(asked: SearchBody, collection: Opened, context: Context) -> dict[str, Any]:
    """Search for one query, or for several at once."""
    if (asked.query is None) == (asked.queries is None):
        raise InputError("found neither query nor queries, or both; expected one of them")
    queries = context.checked([asked.query] if asked.queries is None else asked.queries)
    options = asked.model_dump(exclude={"query", "queries", "k"})
    found = await context.read(lambda: collection.search_many(queries, asked.k, **options))
    results = [[asdict(hit) for hit in hits] for hits in found]
    if asked.queries is None:
        return {"query": asked.query, "results": results[0]}
    return {
        "searches": [
            {"query": query, "results": hits} for query, hits in zip(queries, results, strict=True)
        ]
    }


@router.post("/{name}/rerank", dependencies=[Depends(needs("read"))])
async def rerank(asked: RerankBody, collection: Opened, context: Context) -> dict[str, Any]:
    """Order candidates by their cosine with a query."""
    texts = context.checked(asked.candidates)
    found = await context.read(lambda: collection.rerank(asked.query, texts, asked.top_n))
    return {"query": asked.query, "results": [asdict(each) for each in found]}


@router.post("/{name}/explain", dependencies=[Depends(needs("read"))])
async def explain(asked: ExplainBody, collection: Opened, context: Context) -> dict[str, Any]:
    """Return the weights of a text's words, or what pairs of words add to the cosine of two texts."""
    context.checked([asked.text] if asked.other is None else [asked.text, asked.other])

    def work() -> dict[str, Any]:
        encoder = collection.encoder
        if asked.other is None:
            return dict(encoder.explain(asked.text).to_dict())
        return dict(encoder.explain_match(asked.text, asked.other).to_dict())

    return await context.read(work)


@router.post("/{name}/refit", dependencies=[Depends(needs("admin"))])
async def refit(collection: Opened, context: Context) -> StreamingResponse:
    """Fit the model on the present texts; answers a line of progress now and then, and at the end ``{"done": true}``."""
    return StreamingResponse(_refitted(collection, context), media_type="application/x-ndjson")


async def _refitted(collection: Collection, context: ServerContext) -> AsyncIterator[bytes]:
    loop, events = asyncio.get_running_loop(), asyncio.Queue[dict[str, Any]]()

    def note(stage: str, done: int, total: int) -> None:
        event = {"stage": stage, "done": done, "total": total}
        loop.call_soon_threadsafe(events.put_nowait, event)

    running = asyncio.ensure_future(context.write(lambda: collection.refit(progress=note)))
    while not running.done() or not events.empty():
        try:
            yield _line(await asyncio.wait_for(events.get(), 0.5))
        except TimeoutError:
            continue
    try:
        await running
    except GemIndexError as error:
        yield _line({"error": {"message": str(error)}, "done": False})
        return
    yield _line({"done": True})


@router.get("/{name}/drift", dependencies=[Depends(needs("read"))])
async def drift(collection: Opened, context: Context) -> dict[str, Any]:
    """Return how far the texts have moved from those that the model was fitted on."""
    return asdict(await context.read(collection.drift))


def _line(values: Mapping[str, Any]) -> bytes:
    return json.dumps(values).encode() + b"\n"

