"""What a server advises: by its routes and parameters, never by calls of Python or by commands."""

import json

import pytest

from gem_index import errors
from gem_index.errors import (
    Action,
    Advice,
    DatabaseVersionError,
    DiskError,
    InputError,
    UnknownNameError,
)
from gem_index.server import errors as server_errors
from gem_index.server.backup_folder import BackupRunningError, NoRoomError
from gem_index.server.errors import (
    ADVICE_FOR_ASSISTANTS,
    error_response,
    message_for,
    status_of,
)


@pytest.mark.parametrize(
    ("action", "values", "told"),
    [
        (Action.MAKE_COLLECTION, {}, "make one with POST /collections"),
        (Action.REFIT, {"collection": "faq"}, "POST /collections/faq/refit"),
        (Action.NAME_FIELD, {"field": "text"}, "name the field of the text in text_field"),
        (Action.NAME_ENCODING, {"encoding": "auto"}, "name the file's encoding, as encoding=auto"),
        (Action.IMPORT_EXPORT, {}, "import it into the server's home"),
        (
            Action.ADD_OR_DROP,
            {"collection": "faq"},
            "add to it with PUT /collections/faq/documents, or drop it first with DELETE /collections/faq",
        ),
        (Action.CALIBRATE, {"collection": "faq"}, "calibrate it in the server's home"),
        (Action.COMPACT, {"collection": "faq"}, "POST /collections/faq/refit"),
        (Action.FETCH_VECTORS, {"vectors": "glove"}, "add them to the server's home"),
        (Action.REGISTER_VECTORS, {}, "add them to the server's home"),
        (Action.FIT_MODEL, {}, "fit one in the server's home"),
        (
            Action.INSTALL,
            {"line": "pip install x"},
            "install it where the server runs, and start the server again",
        ),
        (
            Action.LEAVE_OUT_VECTORS,
            {},
            "leave out the vectors, or name those that GET /collections shows",
        ),
        (Action.LIST_VECTORS, {}, "the server's home lists them"),
        (Action.MAKE_KEY, {}, "make one with POST /keys"),
        (Action.MAKE_MAKER, {}, "the operator of the server makes such a key on its machine"),
        (Action.REMOVE_MAKER, {"key": "a"}, "the operator of the server removes it on its machine"),
        (Action.NAME_TABLE, {"table": "a"}, "upload a file with one list"),
        (Action.NAME_FIELDS, {"arguments": "x"}, "name them in text_field and id_field"),
        (
            Action.NAME_NO_HEADER,
            {},
            "if its first row is a record, put the names of the columns before it",
        ),
        (Action.OPEN_AGAIN, {"collection": "faq"}, "send the request again for the new one"),
        (
            Action.READ_AS_JSON_LINES,
            {},
            "if each line is a JSON object, give it a name that ends with .jsonl",
        ),
        (
            Action.READ_AS_TSV,
            {},
            "if it is separated by tabs and quotes nothing, give it a name that ends with .tsv",
        ),
        (Action.SKIP_RECORDS, {}, "correct it, and upload the file again"),
        (Action.SERVE_BACKUPS, {}, "its operator starts it with a folder for backups"),
    ],
)
def test_clients_are_told_routes(action, values, told):
    assert message_for(InputError("x", Advice(action, values))) == f"x: {told}"


@pytest.mark.parametrize(
    ("action", "told"),
    [
        (Action.COMPACT, "the operator of the server refits it"),
        (Action.MAKE_COLLECTION, "list_collections names those that can be searched"),
        (Action.OPEN_AGAIN, "call the tool again for the new one"),
        (Action.REFIT, "the operator of the server refits it"),
        (Action.REGISTER_VECTORS, "add them to the server's home"),
    ],
)
def test_assistants_are_told_tools_where_clients_are_told_routes(action, told):
    error = InputError("x", Advice(action, {"collection": "faq"}))
    assert message_for(error, ADVICE_FOR_ASSISTANTS) == f"x: {told}"


def test_an_unknown_name():
    error = UnknownNameError("collection", "faq", [], Advice(Action.MAKE_COLLECTION))
    assert message_for(error) == (
        "no collection is named 'faq': there is none yet; make one with POST /collections"
    )


def test_what_clients_are_not_told():
    error = DiskError("/home/x is full", Advice(Action.CHECK_HOME))
    assert message_for(error) == "the disk failed or is full; the server's log says more"
    error = DatabaseVersionError("/home/x is newer")
    assert message_for(error) == "the home is of another version; the server's log says more"
    assert message_for(ValueError("x")) == "x"


LOG = "the server's log"


@pytest.mark.parametrize(
    ("error", "status", "told"),
    [
        (
            server_errors.OverloadedError(3, "texts"),
            429,
            "3 texts wait already; try again in a second",
        ),
        (
            server_errors.MemoryFullError(),
            503,
            "other requests and their answers fill the server's memory; try again in a second",
        ),
        (
            server_errors.WriterBusyError(),
            503,
            "other requests are writing to the home; try again in a second",
        ),
        (
            server_errors.ShuttingDownError(),
            503,
            "the server is shutting down before this is finished; nothing of it is stored, or the next call continues it: "
            "send it again",
        ),
        (server_errors.TooLargeError("x"), 413, "x"),
        (server_errors.UnsupportedTypeError("x"), 415, "x"),
        (
            server_errors.MissingDocumentError("faq", "1"),
            404,
            "the collection faq has no document '1'; expected one that GET /collections/faq/documents lists",
        ),
        (
            server_errors.MissingMapError("faq"),
            404,
            "the collection faq has no map since its last refit; expected POST /collections/faq/map first",
        ),
        (server_errors.UnauthorizedError("x"), 401, "x"),
        (server_errors.ForbiddenError("x"), 403, "x"),
        (errors.KeyRefusedError("x"), 403, "x"),
        (
            errors.MissingExtraError("a page", "dask"),
            501,
            "a page needs the optional extra 'dask': install it where the server runs, and start the server again",
        ),
        (errors.ExistingIdError("1"), 409, str(errors.ExistingIdError("1"))),
        (
            errors.FingerprintMismatchError("the table", "a", "b", "push it"),
            409,
            str(errors.FingerprintMismatchError("the table", "a", "b", "push it")),
        ),
        (errors.TargetChangedError("x", "y"), 409, str(errors.TargetChangedError("x", "y"))),
        (BackupRunningError(), 409, str(BackupRunningError())),
        (errors.EmptyTextError("?"), 422, str(errors.EmptyTextError("?"))),
        (
            errors.HomeNotWritableError("/secret"),
            503,
            f"the home cannot be written; {LOG} says why",
        ),
        (
            errors.HomeBusyError("/secret"),
            503,
            "another process is writing to the home; try again in a second",
        ),
        (
            errors.TargetUnavailableError("x", "y"),
            503,
            str(errors.TargetUnavailableError("x", "y")),
        ),
        (errors.DiskError("/secret"), 507, f"the disk failed or is full; {LOG} says more"),
        (NoRoomError(1 << 20, 2 << 20), 507, str(NoRoomError(1 << 20, 2 << 20))),
        (errors.CorruptionError("/secret"), 500, f"a file of the home is damaged; {LOG} says which"),
        (DatabaseVersionError("/secret"), 500, f"the home is of another version; {LOG} says more"),
    ],
    ids=lambda given: type(given).__name__ if isinstance(given, Exception) else "",
)  # fmt: skip
def test_each_error_has_a_status_and_names_nothing_of_the_machine(error, status, told):
    assert (status_of(error), message_for(error)) == (status, told)


def openai(kind):
    return {"error": {"message": "x", "type": kind, "param": None, "code": None}}


COHERE = {"message": "x", "detail": "x"}


@pytest.mark.parametrize(
    ("path", "status", "body"),
    [
        ("/v1/embeddings", 400, openai("invalid_request_error")),
        ("/v1/embeddings", 401, openai("authentication_error")),
        ("/v1/embeddings", 403, openai("permission_error")),
        ("/v1/embeddings", 404, openai("not_found_error")),
        ("/v1/embeddings", 429, openai("rate_limit_error")),
        ("/v1/embeddings", 500, openai("server_error")),
        *((path, 400, COHERE) for path in ("/v1/rerank", "/v2/rerank", "/v1/embed", "/v2/embed")),
        *(
            (path, 400, {"error": "x", "error_type": "Validation"})
            for path in ("/", "/embed", "/embed_sparse", "/rerank", "/similarity", "/info")
        ),
        ("/embed", 413, {"error": "x", "error_type": "Validation"}),
        ("/embed", 429, {"error": "x", "error_type": "Overloaded"}),
        ("/embed", 500, {"error": "x", "error_type": "Unhealthy"}),
        *((path, 400, {"error": "x"}) for path in ("/api/tags", "/vectors", "/meta")),
        *(
            ("/retrieval", status, {"error_code": code, "error_msg": "x"})
            for status, code in ((400, 400), (401, 1001), (403, 1002), (404, 2001))
        ),
    ],
)
def test_each_interface_has_its_own_form_of_an_error(path, status, body):
    assert json.loads(error_response(path, status, "x", more=1).body) == {**body, "more": 1}


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 429, 500, 503, 507])
def test_an_error_says_when_to_try_again_and_how_to_send_a_key(status):
    headers = dict(error_response("/collections", status, "x").headers)
    del headers["content-length"]
    further = {
        401: {"www-authenticate": "Bearer"},
        429: {"retry-after": "1"},
        503: {"retry-after": "1"},
    }
    assert headers == {"content-type": "application/json", **further.get(status, {})}
