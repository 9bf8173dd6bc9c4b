"""Errors of requests: their HTTP status, and their form in each imitated interface."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from gem_index import errors
from gem_index.errors import Action, Advice
from gem_index.errors.quoting import quoted
from gem_index.server.backup_folder import BackupRunningError, NoRoomError
from gem_index.server.responses import JsonResponse

__all__ = [
    "ADVICE_FOR_ASSISTANTS",
    "ForbiddenError",
    "KnowledgeError",
    "MemoryFullError",
    "MissingDocumentError",
    "MissingMapError",
    "NoBackupsError",
    "OpenAIError",
    "OverloadedError",
    "PlainError",
    "RerankError",
    "ShuttingDownError",
    "TeiError",
    "TooLargeError",
    "UnauthorizedError",
    "UnsupportedTypeError",
    "WriterBusyError",
    "error_descriptions",
    "error_headers",
    "error_response",
    "message_for",
    "status_of",
]


class OverloadedError(errors.GemIndexError):
    """Too many requests wait."""

    def __init__(self, waiting: int, what: str) -> None:
        super().__init__(f"{waiting} {what} wait already; try again in a second")


class MemoryFullError(errors.GemIndexError):
    """Other requests and their answers use all of the allowed memory."""

    def __init__(self) -> None:
        super().__init__(
            "other requests and their answers fill the server's memory; try again in a second"
        )


class WriterBusyError(errors.GemIndexError):
    """Other requests write for too long."""

    def __init__(self) -> None:
        super().__init__("other requests are writing to the home; try again in a second")


class ShuttingDownError(errors.GemIndexError):
    """The server ends before a request is finished."""

    def __init__(self) -> None:
        super().__init__(
            "the server is shutting down before this is finished; nothing of it is stored, or the next call continues it: "
            "send it again"
        )


class TooLargeError(errors.InputError):
    """A request is larger than the server accepts."""


class UnsupportedTypeError(errors.InputError):
    """A body has a type that the route does not accept."""


class MissingDocumentError(errors.InputError):
    """A collection has no document with the id in a path."""

    def __init__(self, collection: str, document: str) -> None:
        super().__init__(
            f"the collection {collection} has no document {quoted(document)}; expected one that GET "
            f"/collections/{collection}/documents lists"
        )


class MissingMapError(errors.InputError):
    """A collection has no map of its present fit."""

    def __init__(self, collection: str) -> None:
        super().__init__(
            f"the collection {collection} has no map since its last refit; expected POST /collections/{collection}/map first"
        )


class NoBackupsError(errors.InputError):
    """The server was started without a folder for backups."""

    def __init__(self) -> None:
        super().__init__("this server makes no backups", Advice(Action.SERVE_BACKUPS))


class UnauthorizedError(errors.InputError):
    """A request has no key, or an unknown one."""


class ForbiddenError(errors.InputError):
    """A key does not have the permission for a request."""


class OpenAIProblem(BaseModel):
    """The message of an error, in one line, and its kind."""

    message: str
    type: str
    param: str | None
    code: str | None


class OpenAIError(BaseModel):
    """An error in the form of OpenAI."""

    error: OpenAIProblem


class RerankError(BaseModel):
    """An error in the form of Cohere (``message``) and of Jina (``detail``)."""

    message: str
    detail: str


class TeiError(BaseModel):
    """An error in the form of Text Embeddings Inference."""

    error: str
    error_type: str


class PlainError(BaseModel):
    """An error in the form of Ollama and of Weaviate's own servers of vectors."""

    error: str


class KnowledgeError(BaseModel):
    """An error in the form of Dify's external knowledge."""

    error_code: int
    error_msg: str


_DESCRIPTIONS = {
    400: "The input is wrong; the message says what was found and what was expected.",
    401: "The key is missing or unknown.",
    403: "The key does not allow this, or the header Host names another server.",
    404: "There is nothing of that name.",
    409: "It exists already, was made with another model, or is being made.",
    415: "The body has another type than the route accepts.",
    413: "The body, a text or the number of texts is too large.",
    422: "The body is not of the documented form, or a query has no word.",
    429: "Too many requests or texts wait; Retry-After says when to try again.",
    503: "Another process writes, or the server's memory is full; Retry-After says when to try again.",
}
_STATUS: tuple[tuple[type[Exception], int], ...] = (
    (UnauthorizedError, 401),
    (ForbiddenError, 403),
    (errors.KeyRefusedError, 403),
    (errors.UnknownNameError, 404),
    (MissingDocumentError, 404),
    (MissingMapError, 404),
    (errors.MissingExtraError, 501),
    (NoBackupsError, 501),
    (errors.NameTakenError, 409),
    (errors.ExistingIdError, 409),
    (errors.FingerprintMismatchError, 409),
    (errors.TargetChangedError, 409),
    (BackupRunningError, 409),
    (TooLargeError, 413),
    (UnsupportedTypeError, 415),
    (OverloadedError, 429),
    (MemoryFullError, 503),
    (WriterBusyError, 503),
    (ShuttingDownError, 503),
    (errors.EmptyTextError, 422),
    (errors.HomeNotWritableError, 503),
    (errors.HomeBusyError, 503),
    (errors.TargetUnavailableError, 503),
    (errors.DatabaseVersionError, 500),
    (errors.InputError, 400),
    (errors.DiskError, 507),
    (NoRoomError, 507),
)
_KINDS = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
}
_COHERE = ("/v1/rerank", "/v2/rerank", "/v1/embed", "/v2/embed")
_PLAIN = ("/api/", "/vectors", "/meta")
_DIFY_CODES = {401: 1001, 403: 1002, 404: 2001}
_TEI = ("/", "/embed", "/embed_sparse", "/rerank", "/similarity", "/info")
_TEI_KINDS = {413: "Validation", 422: "Validation", 429: "Overloaded", 424: "Backend"}


_UNTOLD: tuple[tuple[type[Exception], str], ...] = (
    (errors.HomeBusyError, "another process is writing to the home; try again in a second"),
    (errors.HomeNotWritableError, "the home cannot be written; the server's log says why"),
    (
        errors.DiskError,
        "the disk failed or is full; the server's log says more",
    ),
    (errors.CorruptionError, "a file of the home is damaged; the server's log says which"),
    (errors.DatabaseVersionError, "the home is of another version; the server's log says more"),
)
"""Messages that clients get instead of errors that name files and processes of the server's machine."""


_ROUTES = {
    Action.ADD_OR_DROP: "add to it with PUT /collections/{collection}/documents, or drop it first with DELETE "
    "/collections/{collection}",
    Action.BUILD_AGAIN: "build it again in the server's home",
    Action.CALIBRATE: "calibrate it in the server's home",
    Action.COMPACT: "POST /collections/{collection}/refit",
    Action.FETCH_VECTORS: "add them to the server's home",
    Action.FIT_MODEL: "fit one in the server's home",
    Action.IMPORT_EXPORT: "import it into the server's home",
    Action.INSTALL: "install it where the server runs, and start the server again",
    Action.LEAVE_OUT_VECTORS: "leave out the vectors, or name those that GET /collections shows",
    Action.LIST_VECTORS: "the server's home lists them",
    Action.MAKE_COLLECTION: "make one with POST /collections",
    Action.MAKE_KEY: "make one with POST /keys",
    Action.MAKE_MAKER: "the operator of the server makes such a key on its machine",
    Action.NAME_ENCODING: "name the file's encoding, as encoding={encoding}",
    Action.NAME_FIELD: "name the field of the {field} in {field}_field",
    Action.NAME_TABLE: "upload a file with one list",
    Action.NAME_FIELDS: "name them in text_field and id_field",
    Action.NAME_NO_HEADER: "if its first row is a record, put the names of the columns before it",
    Action.OPEN_AGAIN: "send the request again for the new one",
    Action.READ_AS_JSON_LINES: "if each line is a JSON object, give it a name that ends with .jsonl",
    Action.READ_AS_TSV: "if it is separated by tabs and quotes nothing, give it a name that ends with .tsv",
    Action.REFIT: "POST /collections/{collection}/refit",
    Action.SKIP_RECORDS: "correct it, and upload the file again",
    Action.REGISTER_VECTORS: "add them to the server's home",
    Action.REMOVE_MAKER: "the operator of the server removes it on its machine",
    Action.SERVE_BACKUPS: "its operator starts it with a folder for backups",
}
"""The advice of errors, with the routes and parameters of the server."""

ADVICE_FOR_ASSISTANTS: Mapping[Action, str] = {
    **_ROUTES,
    Action.COMPACT: "the operator of the server refits it",
    Action.MAKE_COLLECTION: "list_collections names those that can be searched",
    Action.OPEN_AGAIN: "call the tool again for the new one",
    Action.REFIT: "the operator of the server refits it",
}
"""The advice of errors for assistants, which call tools instead of routes."""


def message_for(error: Exception, advice: Mapping[Action, str] = _ROUTES) -> str:
    """Return the message of an error for a client; ``advice`` has the words for what to do."""
    untold = next((told for kind, told in _UNTOLD if isinstance(error, kind)), None)
    if untold is not None or not isinstance(error, errors.GemIndexError):
        return untold or str(error)
    return error.told(advice)


def status_of(error: Exception) -> int:
    """Return the HTTP status of an error; 500 if the request is not the cause."""
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 500)


def error_descriptions(body: type[BaseModel]) -> dict[int | str, dict[str, Any]]:
    """Return the part of the OpenAPI document about errors with a body.

    One status has the body as a model, and the others refer to it, because FastAPI makes the model of each status of each
    route again when the first request comes.
    """
    reference = {"schema": {"$ref": f"#/components/schemas/{body.__name__}"}}
    found: dict[int | str, dict[str, Any]] = {
        status: {"description": description, "content": {"application/json": reference}}
        for status, description in _DESCRIPTIONS.items()
    }
    first = next(iter(_DESCRIPTIONS))
    return {**found, first: {"description": _DESCRIPTIONS[first], "model": body}}


def error_response(path: str, status: int, problem: str, **further: Any) -> JsonResponse:
    """Return an error in the form of the interface that a path belongs to, with additional fields."""
    kind = _KINDS.get(status, "server_error" if status >= 500 else "invalid_request_error")
    body: dict[str, Any]
    if path in _COHERE:  # Cohere reads message, Jina reads detail
        body = {"message": problem, "detail": problem}
    elif path in _TEI:
        body = {
            "error": problem,
            "error_type": _TEI_KINDS.get(status, "Validation" if status < 500 else "Unhealthy"),
        }
    elif path.startswith(_PLAIN):
        body = {"error": problem}
    elif path == "/retrieval":
        body = {"error_code": _DIFY_CODES.get(status, status), "error_msg": problem}
    else:
        body = {"error": {"message": problem, "type": kind, "param": None, "code": None}}
    return JsonResponse({**body, **further}, status, error_headers(status))


def error_headers(status: int) -> dict[str, str]:
    """Return the headers of an error's answer."""
    if status in (429, 503):
        return {"Retry-After": "1"}
    return {"WWW-Authenticate": "Bearer"} if status == 401 else {}
