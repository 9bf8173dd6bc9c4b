"""A server with the part of Qdrant's HTTP interface that a push uses.

Requests are validated by the models that qdrant-client generates from Qdrant's OpenAPI document, which refuse unknown
fields, and are then executed by qdrant-client's local mode in memory.
"""

from __future__ import annotations

import json
import re
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from pydantic import TypeAdapter, ValidationError
from qdrant_client import QdrantClient, models

KEY = "the-secret-key"
COLLECTION = r"/collections/([^/]+)"


class RefusedError(Exception):
    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Stub(ThreadingHTTPServer):
    """What happens to the next requests is in ``faults``: a status, "drop", "slow" or "html".

    One request of each method in ``busy`` gets the status 503.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.client = QdrantClient(":memory:")
        self.lock = threading.Lock()
        self.faults: list = []
        self.busy: set[str] = set()
        self.key = ""
        self.limit = 32_000_000
        self.keeps_metadata = True
        self.requests: list[tuple[str, str, int]] = []

    @property
    def url(self) -> str:
        return f"qdrant+http://127.0.0.1:{self.server_address[1]}/?collection=faq"

    def handle_error(self, request, client_address) -> None:
        """A client that has gone away is not an error here."""

    def answer(self, method: str, path: str, query: dict, body: bytes):
        """Execute a request; return the result and, for some, what stands beside it."""
        for route, models_, run in ROUTES:
            found = re.fullmatch(route, f"{method} {path}")
            if found is None:
                continue
            unknown = set(query) - {"wait", "timeout", "ordering", "consistency"}
            if unknown:
                raise RefusedError(400, f"unknown parameters {unknown}")
            try:
                content = TypeAdapter(models_).validate_json(body) if models_ else None
            except ValidationError as error:
                raise RefusedError(400, f"Format error in JSON body: {error}") from error
            with self.lock:
                return run(self, content, query, *found.groups())
        raise RefusedError(404, f"no route {method} {path}")


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments) -> None:
        """Write nothing."""

    def handle_any(self) -> None:
        server = self.server
        size = int(self.headers.get("Content-Length") or 0)
        parts = urlsplit(self.path)
        server.requests.append((self.command, self.path, size))
        body = self.rfile.read(size)
        fault = server.faults.pop(0) if server.faults else None
        if self.command in server.busy:
            server.busy.remove(self.command)
            fault = 503
        if fault == "drop":
            self.close_connection = True
            self.connection.close()
            return
        if fault == "slow":
            time.sleep(3)
        if fault == "html":
            self.reply(200, b"<html>another server</html>")
            return
        if isinstance(fault, int):
            self.reply(fault, error(f"told to fail; the key was {self.headers.get('api-key')}"))
            return
        if server.key and self.headers.get("api-key") != server.key:
            self.reply(401, b"Must provide an API key or an Authorization bearer token")
            return
        if size > server.limit:
            self.reply(413, error("Payload Too Large"))
            return
        try:
            result = server.answer(self.command, parts.path, parse_qs(parts.query), body)
        except RefusedError as refused:
            self.reply(refused.status, error(str(refused)))
        except ValueError as problem:
            status = 404 if "not found" in str(problem) else 400
            self.reply(status, error(str(problem)))
        else:
            self.reply(200, json.dumps({"result": result, "status": "ok", "time": 0.1}).encode())

    do_GET = do_PUT = do_POST = do_DELETE = handle_any  # noqa: N815 - the names are http.server's

    def reply(self, status: int, content: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def error(message: str) -> bytes:
    return json.dumps({"status": {"error": message}, "time": 0.1, "result": None}).encode()


def plain(value):
    return value.model_dump(mode="json")


def waits(query: dict) -> None:
    if query.get("wait") != ["true"]:
        raise RefusedError(400, "the stub expects wait=true")


def create(stub: Stub, body, query, name: str):
    if name in {each.name for each in stub.client.get_collections().collections}:
        raise RefusedError(409, f"Wrong input: Collection `{name}` already exists!")
    metadata = body.metadata if stub.keeps_metadata else None
    return stub.client.create_collection(
        name, body.vectors, sparse_vectors_config=body.sparse_vectors, metadata=metadata
    )


def upsert(stub: Stub, body, query, name: str):
    waits(query)
    return plain(stub.client.upsert(name, body.points))


def delete(stub: Stub, body, query, name: str):
    waits(query)
    return plain(stub.client.delete(name, body))


def count(stub: Stub, body, query, name: str):
    return plain(stub.client.count(name, body.filter, exact=body.exact))


def find(stub: Stub, body, query, name: str):
    return plain(
        stub.client.query_points(
            name,
            query=body.query,
            using=body.using,
            query_filter=body.filter,
            limit=body.limit,
            with_payload=body.with_payload,
            with_vectors=body.with_vector or False,
        )
    )


def retrieve(stub: Stub, body, query, name: str):
    records = stub.client.retrieve(
        name, body.ids, with_payload=body.with_payload, with_vectors=body.with_vector or False
    )
    return [plain(record) for record in records]


def scroll(stub: Stub, body, query, name: str):
    records, following = stub.client.scroll(
        name,
        limit=body.limit,
        offset=body.offset,
        with_payload=body.with_payload,
        with_vectors=body.with_vector,
    )
    return {"points": [plain(record) for record in records], "next_page_offset": following}


ROUTES = [
    ("GET /collections", None, lambda s, b, q: plain(s.client.get_collections())),
    ("GET /aliases", None, lambda s, b, q: plain(s.client.get_aliases())),
    (
        "POST /collections/aliases",
        models.ChangeAliasesOperation,
        lambda s, b, q: s.client.update_collection_aliases(b.actions),
    ),
    (f"GET {COLLECTION}", None, lambda s, b, q, name: plain(s.client.get_collection(name))),
    (f"PUT {COLLECTION}", models.CreateCollection, create),
    (f"DELETE {COLLECTION}", None, lambda s, b, q, name: s.client.delete_collection(name)),
    (f"PUT {COLLECTION}/points", models.PointsList, upsert),
    (f"POST {COLLECTION}/points", models.PointRequest, retrieve),
    (f"POST {COLLECTION}/points/delete", models.PointIdsList, delete),
    (f"POST {COLLECTION}/points/count", models.CountRequest, count),
    (f"POST {COLLECTION}/points/query", models.QueryRequest, find),
    (f"POST {COLLECTION}/points/scroll", models.ScrollRequest, scroll),
]


@contextmanager
def serving():
    """Yield a running stub."""
    stub = Stub()
    thread = threading.Thread(target=stub.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield stub
    finally:
        stub.shutdown()
        thread.join()
        stub.server_close()
        stub.client.close()
