"""The documents of a collection: store, delete, read."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Mapping
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import ConfigDict, Field

from gem_index.collection import Collection
from gem_index.common.json_input import parse_json, read_json
from gem_index.documents import Document
from gem_index.errors import FilterError, GemIndexError, InputError
from gem_index.errors.quoting import quoted, quoted_error
from gem_index.server.bodies import Several, StrictBody
from gem_index.server.context import ServerContext
from gem_index.server.errors import (
    MissingDocumentError,
    TooLargeError,
    error_response,
    message_for,
    status_of,
)
from gem_index.server.guard import REQUEST_ID, log_server_error
from gem_index.server.memory import Share
from gem_index.server.origins import check_sent_type
from gem_index.server.responses import JsonResponse
from gem_index.server.routing import READ, WRITE, Context, KeyedRoute
from gem_index.text.tokens import WeightedText

__all__ = ["is_stream", "router"]

router = APIRouter(
    prefix="/collections/{name}/documents", tags=["Documents"], route_class=KeyedRoute
)
_BATCH = 1000  # documents of a stream per transaction
_NAMED = ("id", "text", "metadata")  # fields of a line; any others are metadata
_WEIGHTS = (
    "weights"  # a field of a line beside metadata, of a document whose parts count differently
)
_COUNTED = ("added", "updated", "unchanged")


class DocumentBody(StrictBody):
    """A document."""

    id: str
    text: str
    metadata: dict[str, Any] = Field(default_factory=dict)
    weights: Several[tuple[int, float]] | None = Field(
        default=None,
        description="Length in characters and weight of each part of the text, as exports have them.",
    )


class DocumentsBody(StrictBody):
    """The body of a request that stores documents."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"documents": [{"id": "1", "text": "Renew a passport", "metadata": {}}]}]
        }
    )

    documents: Several[DocumentBody]


class DeleteBody(StrictBody):
    """The body of a request that deletes documents by id or by a filter."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"ids": ["1"]}]})

    ids: Several[str] | None = None
    where: dict[str, Any] | None = None


def is_stream(path: str) -> bool:
    """Tell whether a path accepts streams of documents."""
    return path.endswith("/documents/stream")


@router.put("", dependencies=WRITE)
async def upsert(asked: DocumentsBody, name: str, context: Context) -> dict[str, Any]:
    """Store documents by id, in one transaction; when the answer arrives, they are on the disk."""
    context.check_texts([document.text for document in asked.documents])
    documents = [_document(d.id, d.text, d.metadata, d.weights) for d in asked.documents]
    return asdict(await context.change(name, lambda collection: collection.upsert(documents)))


@router.post(
    "/stream",
    dependencies=WRITE,
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {
                "application/x-ndjson": {
                    "schema": {"type": "string"},
                    "example": '{"id": "1", "text": "Renew a passport"}\n{"id": "2", "text": "A bank account"}\n',
                }
            },
        }
    },
)
async def stream(request: Request, name: str, context: Context) -> JsonResponse:
    """Store documents from JSON lines, at most 1,000 in a transaction; an error says how many are stored."""
    await context.ask(name, lambda collection: collection.name)
    check_sent_type(request.headers, "application/x-ndjson")
    counts: Counter[str] = Counter()
    batch: list[Document] = []
    size = 0
    try:
        with Share(context.memory) as share:
            async for number, line in _lines(request, context.limits.body, share):
                batch.append(_document_of_line(number, line, context))
                size += len(line)
                if len(batch) == _BATCH or size > context.limits.body:
                    counts.update(await _upsert(batch, name, context))
                    share.release(size)
                    batch, size = [], 0
            if batch:
                counts.update(await _upsert(batch, name, context))
    except GemIndexError as error:
        log_server_error(error, request.scope[REQUEST_ID])
        stored = _stored(counts)
        return error_response(request.url.path, status_of(error), message_for(error), stored=stored)
    return JsonResponse({"collection": name, **_stored(counts)})


def _stored(counts: Counter[str]) -> dict[str, int]:
    return {name: counts[name] for name in _COUNTED}


async def _upsert(batch: list[Document], name: str, context: ServerContext) -> dict[str, int]:
    report = await context.change(name, lambda collection: collection.upsert(batch))
    return {name: getattr(report, name) for name in _COUNTED}


async def _lines(request: Request, most: int, share: Share) -> AsyncIterator[tuple[int, bytes]]:
    """Yield the lines of a body that are not blank, with their numbers; a line has at most ``most`` bytes.

    The bytes of a line are counted as held; the consumer of the line releases them.
    """
    held, number = bytearray(), 0
    async for chunk in request.stream():
        share.hold(len(chunk))
        searched = len(held)
        held += chunk
        begin = 0
        while (end := held.find(b"\n", max(begin, searched))) >= 0:
            number += 1
            line = bytes(held[begin : end + 1])
            begin = end + 1
            if line.strip():
                yield number, line
            else:
                share.release(len(line))
        del held[:begin]
        if len(held) > most:
            raise TooLargeError(f"line {number + 1} has more than {most} bytes; expected fewer")
    if held.strip():
        yield number + 1, bytes(held)


def _document(id_: Any, text: str, metadata: Mapping[str, Any], weights: Any) -> Document:
    weighted = text if weights is None else WeightedText(text, weights)
    return Document(id=id_, text=weighted, metadata=metadata)


def _document_of_line(number: int, line: bytes, context: ServerContext) -> Document:
    """Return the document of a line; its metadata are the field ``metadata`` or, as in files, all other fields.

    Raises
    ------
    InputError
        If it is not of that form.
    """
    fields = read_json(line, f"line {number}")
    if (
        not isinstance(fields, Mapping)
        or not isinstance(fields.get("text"), str)
        or "id" not in fields
    ):
        raise InputError(f"line {number} is {quoted(fields)}; expected an object with id and text")
    others = {name: value for name, value in fields.items() if name not in _NAMED}
    metadata = fields.get("metadata")
    weights = None if metadata is None else others.pop(_WEIGHTS, None)
    if metadata is not None and others:
        raise InputError(
            f"line {number} has the field {quoted(next(iter(others)))} beside metadata; expected it inside metadata"
        )
    try:
        context.check_texts([fields["text"]])
        stored = others if metadata is None else metadata
        return _document(fields["id"], fields["text"], stored, weights)
    except TooLargeError as error:
        raise TooLargeError(f"line {number}: {error}") from error
    except InputError as error:
        raise InputError(f"line {number}: {error}") from error


@router.post("/delete", dependencies=WRITE)
async def delete(asked: DeleteBody, name: str, context: Context) -> dict[str, Any]:
    """Delete documents by id or by a filter."""
    report = await context.change(
        name, lambda collection: collection.delete(asked.ids, where=asked.where)
    )
    return {"deleted": report.deleted, "missing": list(report.missing)}


@router.get("", dependencies=READ)
async def list_documents(
    name: str,
    context: Context,
    where: Annotated[str | None, Query(description="A filter as JSON.")] = None,
    offset: Annotated[int, Query(ge=0, le=2**53)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 20,
    sort_by: Annotated[
        str | None,
        Query(description="A metadata field to sort by; -FIELD: the largest first."),
    ] = None,
    newest_first: Annotated[
        bool, Query(description="The last change first, also among equal values of a field.")
    ] = False,
) -> dict[str, Any]:
    """Return documents in the order of their last change or of a field, and how many there are."""
    accepted = None if where is None else _filter(where)

    def listed(collection: Collection) -> dict[str, Any]:
        found = collection.documents(
            accepted, offset, limit, sort_by=sort_by, newest_first=newest_first
        )
        rows = [_fields(document) for document in found]
        return {"documents": rows, "total": collection.count(accepted)}

    return await context.ask(name, listed, pool="long")


@router.get("/{document:path}", dependencies=READ)
async def get(document: str, name: str, context: Context) -> dict[str, Any]:
    """Return a document."""
    found = await context.ask_searched(name, lambda collection: collection.get([document]))
    if not found:
        raise MissingDocumentError(name, document)
    return _fields(found[0])


def _filter(where: str) -> dict[str, Any]:
    try:
        found = parse_json(where)
    except ValueError as error:
        raise FilterError(
            f"the filter is not JSON: {quoted_error(error)}; expected an object"
        ) from error
    if not isinstance(found, dict):
        raise FilterError(f"the filter is {quoted(found)}; expected an object")
    return found


def _fields(document: Document) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "id": document.id,
        "text": str(document.text),
        "metadata": dict(document.metadata),
    }
    if isinstance(document.text, WeightedText):
        fields[_WEIGHTS] = document.text.weights
    return fields
