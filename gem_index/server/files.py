"""Fill a collection from an uploaded file, like the commands build and add."""

from __future__ import annotations

import re
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import BoundedSemaphore
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from gem_index.collection import Collection
from gem_index.collection.results import UpsertReport
from gem_index.common.settings import load_settings
from gem_index.converting import ARCHIVES, KINDS, kind_of
from gem_index.documents import Document
from gem_index.errors import DiskError, InputError
from gem_index.errors.quoting import quoted
from gem_index.home import Home
from gem_index.progress import Progress, counted
from gem_index.readers import DocumentReader, FolderReader, inspect_records
from gem_index.readers.fields import with_title_weights
from gem_index.server.context import UPLOADS, ServerContext
from gem_index.server.errors import OverloadedError, TooLargeError
from gem_index.server.events import EVENTS, answer_with_events
from gem_index.server.origins import check_sent_type
from gem_index.server.routing import WRITE, Context, KeyedRoute

__all__ = ["inspections", "is_upload", "router"]

router = APIRouter(prefix="/collections/{name}/files", tags=["Documents"], route_class=KeyedRoute)
inspections = APIRouter(prefix="/inspect", tags=["Documents"], route_class=KeyedRoute)

_RECORDS = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".txt")
_DOCUMENTS = tuple(
    ending for ending, kind in KINDS.items() if kind != "text" and kind not in ARCHIVES
)
_NAME = re.compile(r"[^\W_][\w .,()+&'-]*")  # no folder, no hidden file
_LONGEST_NAME = 200  # bytes


def is_upload(path: str) -> bool:
    """Tell whether a path accepts file uploads."""
    return path == "/inspect" or (path.startswith("/collections/") and path.endswith("/files"))


_FILE = {
    "requestBody": {
        "required": True,
        "content": {
            "application/octet-stream": {
                "schema": {"type": "string", "format": "binary"},
                "example": '{"id": "1", "text": "Renew a passport"}\n',
            }
        },
    }
}


@inspections.post("", dependencies=WRITE, openapi_extra=_FILE)
async def inspect(
    request: Request,
    context: Context,
    file: Annotated[
        str,
        Query(
            description="The name of the file of records; its ending gives the format.",
            examples=["faq.jsonl"],
        ),
    ],
    encoding: Annotated[
        str | None,
        Query(description="The encoding of text, by default UTF-8; `auto` detects it."),
    ] = None,
) -> dict[str, Any]:
    """Return the fields of a file of records, and which of them are clearly the id and the text; nothing is stored."""
    check_sent_type(request.headers, "application/octet-stream, or the type of the file")
    _check_name(file)
    if kind_of(file) not in (None, "text"):
        raise InputError(f"found {quoted(file)}; expected a file of records: {', '.join(_RECORDS)}")
    upload = await _received(request, file, context)

    def work() -> dict[str, Any]:
        try:
            with _without(f"{upload.path.parent}/"):
                reader = DocumentReader(
                    [str(upload.path)],
                    types="auto",
                    encoding=encoding,
                    max_record_bytes=load_settings().max_record_bytes,
                )
                return asdict(inspect_records(reader))
        finally:
            upload.remove()

    return await context.read(work, pool="long")


@router.post("", dependencies=WRITE, responses=EVENTS, openapi_extra=_FILE)
async def upload(
    request: Request,
    name: str,
    context: Context,
    file: Annotated[
        str,
        Query(
            description="The name of the file; its ending gives the format.", examples=["faq.jsonl"]
        ),
    ],
    id_field: Annotated[
        str | None, Query(description="The field of the id, by default id.")
    ] = None,
    text_field: Annotated[
        list[str] | None, Query(description="The fields of the text, by default text.")
    ] = None,
    encoding: Annotated[
        str | None,
        Query(
            description="The encoding of text, by default UTF-8; `auto` detects it.",
            examples=["cp1252"],
        ),
    ] = None,
) -> Response:
    """Store the documents of a file: JSON lines, JSON, CSV, TSV, lines of text, Markdown, HTML, PDF, Word and others.

    All of them are stored, or none. If the collection was empty, its model is fitted on them, as by `gem-index build`.
    """
    check_sent_type(request.headers, "application/octet-stream, or the type of the file")
    _check_name(file)
    await context.ask(name, lambda collection: collection.name)
    upload = await _received(request, file, context)
    given = {"id_field": id_field, "text_fields": text_field, "encoding": encoding}
    choices = {name: value for name, value in given.items() if value is not None}

    def work(collection: Collection, progress: Progress) -> Mapping[str, Any]:
        try:
            with _without(f"{upload.path.parent}/"):
                return asdict(_store(context.home, collection, upload.path, choices, progress))
        finally:
            upload.remove()

    return await answer_with_events(request, context, name, work)


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name) or len(name.encode()) > _LONGEST_NAME:
        raise InputError(
            f"the file is named {quoted(name)}; expected at most {_LONGEST_NAME} bytes of letters, digits, spaces, "
            "dots and dashes that begin with a letter or a digit"
        )
    if not name.lower().endswith((*_RECORDS, *_DOCUMENTS)):
        raise InputError(
            f"the file is named {quoted(name)}; expected a name that ends with "
            f"{', '.join((*_RECORDS, *_DOCUMENTS))}"
        )


class _Upload:
    """An uploaded file in a temporary folder; it uses one of the few slots until it is removed or garbage collected.

    Parameters
    ----------
    name : str
    places : BoundedSemaphore
        The slots; the file has taken one.

    Attributes
    ----------
    path : Path
    remove : callable
        Removes it; a second call does nothing.
    """

    def __init__(self, name: str, places: BoundedSemaphore) -> None:
        folder = TemporaryDirectory(prefix="gem-index-")
        self.path = Path(folder.name) / name
        # a client may disconnect before the work on the file begins
        self.remove = weakref.finalize(self, _remove, folder, places)


def _remove(folder: TemporaryDirectory[str], places: BoundedSemaphore) -> None:
    try:
        folder.cleanup()
    finally:
        places.release()


async def _received(request: Request, name: str, context: ServerContext) -> _Upload:
    """Return the uploaded file of a request.

    Raises
    ------
    OverloadedError
        If too many other files are being uploaded or stored.
    TooLargeError
        If the file is too large.
    DiskError
        If it cannot be written.
    """
    if not context.upload_places.acquire(blocking=False):
        raise OverloadedError(UPLOADS, "files")
    try:
        upload = _Upload(name, context.upload_places)
    except OSError as error:
        context.upload_places.release()
        raise _unwritable(name, error) from error
    try:
        await _write(request, upload.path, context.limits.file)
    except OSError as error:
        upload.remove()
        raise _unwritable(name, error) from error
    except BaseException:
        upload.remove()
        raise
    return upload


def _unwritable(name: str, error: OSError) -> DiskError:
    return DiskError(f"cannot store {quoted(name)} in a temporary folder: {error}")


async def _write(request: Request, path: Path, most: int) -> None:
    with path.open("wb") as file:
        async for chunk in request.stream():
            file.write(chunk)
            if file.tell() > most:
                raise TooLargeError(f"the file has more than {most} bytes; expected fewer")


@contextmanager
def _without(folder: str) -> Iterator[None]:
    """Remove the folder from messages of errors: clients know only the name of the file."""
    try:
        yield
    except InputError as error:
        error.args = (str(error).replace(folder, ""), *error.args[1:])
        raise


def _store(
    home: Home,
    collection: Collection,
    path: Path,
    choices: Mapping[str, Any],
    progress: Progress,
) -> UpsertReport:
    new = not collection.count()
    if kind_of(path.name) in (None, "text"):
        reader = _records(collection, path, choices, "auto" if new else "text")
        with reader.naming_duplicates():
            if new:
                return home.build(collection.name, reader, progress=progress)
            return collection.upsert(reader, progress=progress)
    if not choices.keys() <= {"encoding"}:
        raise InputError(
            f"found id_field or text_field and {quoted(path.name)}; expected them with a file of records"
        )
    # read as single files, because the collection must not remember a temporary folder
    documents = counted(_documents(path, choices.get("encoding")), "read", progress)
    if new:
        return home.build(collection.name, documents, progress=progress)
    return collection.upsert(documents, progress=progress)


def _records(
    collection: Collection,
    path: Path,
    choices: Mapping[str, Any],
    types: str,
) -> DocumentReader:
    kept = collection.reading
    known = {"types": types, **kept, **choices}
    if "text_fields" in choices:
        known["text_fields"] = with_title_weights(known["text_fields"], kept.get("text_fields"))
    return DocumentReader([str(path)], max_record_bytes=load_settings().max_record_bytes, **known)


def _documents(path: Path, encoding: str | None) -> Iterator[Document]:
    found = False
    for document in FolderReader(path, encoding=encoding):
        found = True
        yield document
    if not found:
        raise InputError(f"{quoted(path.name)} has no text; expected a document with text")
