"""Every refusal has the status and the shape of the interface that was asked."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient
from pydantic import ValidationError

from gem_index import Home
from gem_index.server.app import create_app
from gem_index.server.documents import DeleteBody, DocumentsBody
from gem_index.server.mcp.documents import AddArguments, ReadArguments
from gem_index.server.openai import EmbeddingsRequest
from gem_index.server.reranking import RerankRequest
from gem_index.server.searching import RerankBody, SearchBody
from gem_index.server.settings import Limits
from gem_index.server.tei import EmbedRequest, SimilarityRequest, TextRerankRequest
from stored import other_writer

KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    405: "invalid_request_error",
    409: "invalid_request_error",
    413: "invalid_request_error",
    422: "invalid_request_error",
    429: "rate_limit_error",
    503: "server_error",
}
TEI_KINDS = {429: "Overloaded", 503: "Unhealthy"}


def openai(status: int, told: str) -> dict[str, Any]:
    return {"error": {"message": told, "type": KINDS[status], "param": None, "code": None}}


def cohere_and_jina(status: int, told: str) -> dict[str, Any]:
    return {"message": told, "detail": told}


def tei(status: int, told: str) -> dict[str, Any]:
    return {"error": told, "error_type": TEI_KINDS.get(status, "Validation")}


def told_by(body: dict[str, Any]) -> str:
    error = body.get("error", body.get("message"))
    return error["message"] if isinstance(error, dict) else error


Shape = Callable[[int, str], dict[str, Any]]
ROUTES: dict[str, tuple[Shape, dict[str, Any]]] = {
    "/v1/embeddings": (openai, {"input": ["a"]}),
    "/v1/rerank": (cohere_and_jina, {"query": "a", "documents": ["b"]}),
    "/v2/rerank": (cohere_and_jina, {"query": "a", "documents": ["b"]}),
    "/embed": (tei, {"inputs": ["a"]}),
    "/embed_sparse": (tei, {"inputs": ["a"]}),
    "/rerank": (tei, {"query": "a", "texts": ["b"]}),
    "/similarity": (tei, {"inputs": {"source_sentence": "a", "sentences": ["b"]}}),
    "/": (tei, {"inputs": ["a"]}),
    "/collections/faq/search": (openai, {"query": "a"}),
    "/collections/faq/rerank": (openai, {"query": "a", "candidates": ["b"]}),
}
DIRECT = ("/v1/embeddings", "/embed")
"""Routes that read their bodies themselves, for speed."""
JSON = {"Content-Type": "application/json"}
NDJSON = {"Content-Type": "application/x-ndjson"}
BODY = 2_000
MANY = ["a"] * 9
TOO_MANY: dict[str, dict[str, Any]] = {
    "/v1/embeddings": {"input": MANY},
    "/v1/rerank": {"query": "a", "documents": MANY},
    "/v2/rerank": {"query": "a", "documents": MANY},
    "/embed": {"inputs": MANY},
    "/embed_sparse": {"inputs": MANY},
    "/rerank": {"query": "a", "texts": MANY},
    "/similarity": {"inputs": {"source_sentence": "a", "sentences": MANY}},
    "/": {"inputs": MANY},
    "/collections/faq/search": {"queries": MANY},
    "/collections/faq/rerank": {"query": "a", "candidates": MANY},
}
each_route = pytest.mark.parametrize("path", ROUTES)
each_encoding_route = pytest.mark.parametrize(
    "path", [path for path in ROUTES if "faq" not in path]
)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Home:
    home = Home(tmp_path_factory.mktemp("errors") / "home")
    home.create_collection("faq").upsert([("1", "renew a passport", {"lang": "en"})])
    return home


@pytest.fixture(scope="module")
def app(stored: Home) -> Iterator[TestClient]:
    """A server with small limits, which waits for no other writer."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GEM_INDEX_LOCK_TIMEOUT", "0.1")
        hurried = Home(stored.root)
    limits = Limits(body=BODY, texts=8, characters=1_000, waiting=1, requests=2)
    hosts = frozenset({"testserver"})
    with TestClient(create_app(hurried, limits=limits, hosts=hosts)) as client:
        yield client


@pytest.fixture(scope="module")
def unlimited(stored: Home) -> Iterator[TestClient]:
    with TestClient(create_app(stored)) as client:
        yield client


@pytest.fixture(scope="module")
def locked(stored: Home) -> Iterator[tuple[TestClient, dict[str, str]]]:
    """A server that asks for a key, and the header with one that reads."""
    home = Home(stored.root.parent / "locked")
    home.create_collection("faq")
    head = {"Authorization": f"Bearer {home.keys.add('reader', 'read')}"}
    with TestClient(create_app(home)) as client:
        yield client, head


def assert_refused(answer: Any, path: str, status: int, told: str) -> None:
    """Assert an answer's status, its exact body but for the rest of the message, and its headers."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/json"
    body = answer.json()
    message = told_by(body)
    assert told in message
    shape = ROUTES[path][0] if path in ROUTES else openai
    assert body == shape(status, message)
    assert (answer.headers.get("retry-after") == "1") == (status in (429, 503))
    assert (answer.headers.get("www-authenticate") == "Bearer") == (status == 401)
    assert "x-request-id" in answer.headers


class TestEachInterface:
    @each_route
    def test_a_good_request_is_answered(self, app, path):
        assert app.post(path, json=ROUTES[path][1]).status_code == 200

    @each_route
    @pytest.mark.parametrize("content", [b"{", b"\xff", b"[" * 100_000], ids=["{", "ff", "deep"])
    def test_400_what_is_not_json(self, unlimited, path, content):
        answer = unlimited.post(path, content=content, headers=JSON)
        assert_refused(answer, path, 400, "the body is not JSON: ")

    @each_route
    def test_400_json_under_another_name(self, app, path):
        answer = app.post(
            path, content=json.dumps(ROUTES[path][1]), headers={"Content-Type": "text/plain"}
        )
        if path in DIRECT:
            assert answer.status_code == 200
        else:
            told = "the header Content-Type is 'text/plain'; expected application/json"
            assert_refused(answer, path, 400, told)

    @each_route
    def test_a_body_that_is_missing(self, app, path):
        status, told = (400, "not JSON") if path in DIRECT else (422, "found no body; expected one")
        assert_refused(app.post(path), path, status, told)

    @each_route
    def test_400_a_text_that_is_none(self, app, path):
        body = json.dumps(ROUTES[path][1]).replace('"a"', '"\\ud800"')
        answer = app.post(path, content=body, headers=JSON)
        assert_refused(answer, path, 400, "")

    @each_route
    @pytest.mark.parametrize("body", [{}, [], {"model": 5}], ids=json.dumps)
    def test_422_what_is_of_another_form_and_400_to_openai(self, app, path, body):
        status, told = 422, "expected"
        if path == "/v1/embeddings":
            status = 400
        elif path == "/collections/faq/search" and body == {}:
            status, told = 400, "neither query nor queries"  # all its fields may be left out
        assert_refused(app.post(path, json=body), path, status, told)

    @each_route
    def test_401_without_a_key_and_with_a_wrong_one(self, locked, path):
        client, head = locked
        body = ROUTES[path][1]
        assert_refused(client.post(path, json=body), path, 401, "found no key; expected the header")
        wrong = {"Authorization": "Bearer gem-wrong"}
        answer = client.post(path, json=body, headers=wrong)
        assert_refused(answer, path, 401, "found an unknown key")
        assert client.post(path, json=body, headers=head).status_code == 200

    @each_route
    def test_403_under_another_name(self, app, path):
        answer = app.post(path, json=ROUTES[path][1], headers={"Host": "elsewhere.example"})
        assert_refused(answer, path, 403, "the header Host is 'elsewhere.example'; expected")

    @each_encoding_route
    def test_404_a_model_that_is_not_there(self, app, path):
        answer = app.post(path, json={**ROUTES[path][1], "model": "gpt"})
        assert_refused(answer, path, 404, "no model is named 'gpt': existing names: ")

    @each_route
    def test_405_another_method(self, app, path):
        answer = app.patch(path, json={})
        assert_refused(answer, path, 405, f"found 'PATCH {path}'; expected another method")
        assert "POST" in answer.headers["allow"]

    @each_route
    def test_413_a_body_too_large_by_its_length_and_by_its_parts(self, app, path):
        told = f"the body has {BODY + 1} bytes; expected at most {BODY}"
        assert_refused(app.post(path, content=b" " * (BODY + 1), headers=JSON), path, 413, told)
        parts = (b" " * 500 for _ in range(5))
        told = f"the body has more than {BODY} bytes"
        assert_refused(app.post(path, content=parts, headers=JSON), path, 413, told)

    @each_route
    def test_413_too_many_texts_and_a_text_too_long(self, app, path):
        answer = app.post(path, json=TOO_MANY[path])
        assert answer.status_code == 413
        assert_refused(answer, path, 413, " texts; expected at most 8")
        long = json.loads(json.dumps(ROUTES[path][1]).replace('"a"', json.dumps("a" * 1_001)))
        told = "has 1001 characters; expected at most 1000"
        assert_refused(app.post(path, json=long), path, 413, told)
        longest = json.loads(json.dumps(long).replace("a" * 1_001, "a" * 1_000))
        assert app.post(path, json=longest).status_code == 200

    @each_encoding_route
    def test_429_when_texts_wait(self, app, path):
        queue = app.app.state.context.encoding
        release = threading.Event()
        holding = queue._short._pool.submit(release.wait, 60)
        first = threading.Thread(
            target=app.post, args=("/embed",), kwargs={"json": {"inputs": "a"}}
        )
        first.start()
        try:
            wait_until(lambda: queue.waiting == 1)
            answer = app.post(path, json=ROUTES[path][1])
        finally:
            release.set()
            first.join()
            holding.result()
        assert_refused(answer, path, 429, "1 texts wait already; try again in a second")
        assert app.post(path, json=ROUTES[path][1]).status_code == 200

    @pytest.mark.parametrize("path", ["/collections/faq/search", "/collections/faq/rerank"])
    def test_429_when_requests_wait(self, app, path):
        context = app.app.state.context
        context._waiting += 2
        try:
            answer = app.post(path, json=ROUTES[path][1])
        finally:
            context._waiting -= 2
        assert_refused(answer, path, 429, "2 requests wait already; try again in a second")
        assert app.post(path, json=ROUTES[path][1]).status_code == 200


@pytest.fixture(scope="module")
def crowded(stored: Home) -> Iterator[TestClient]:
    """A server that keeps no bodies of more than 100 bytes in memory."""
    with TestClient(create_app(Home(stored.root), limits=Limits(memory=100))) as client:
        yield client


MANY = 20_000


@pytest.mark.parametrize("item", [1, {}, "x"], ids=json.dumps)
@pytest.mark.parametrize(
    ("model", "fields"),
    [
        (EmbeddingsRequest, ("input",)),
        (EmbedRequest, ("inputs",)),
        (RerankRequest, ("documents", "rank_fields")),
        (TextRerankRequest, ("texts",)),
        (SimilarityRequest, ("inputs",)),
        (DocumentsBody, ("documents",)),
        (DeleteBody, ("ids",)),
        (SearchBody, ("queries",)),
        (RerankBody, ("candidates",)),
        (ReadArguments, ("ids",)),
        (AddArguments, ("documents",)),
    ],
)
def test_a_body_that_is_wrong_in_many_places_is_described_in_few(model, fields, item):
    """A description takes a thousand bytes, an item three: the memory of the machine would not hold them."""
    many = [item] * MANY
    other = {f"other{place}": 1 for place in range(MANY)}
    counts = []
    for found in (
        *({field: many} for field in fields),
        *({field: {"source_sentence": "a", "sentences": many}} for field in fields),
        *({field: [{"id": "1", "text": "a", **other}]} for field in fields),
        *({field: [many, many]} for field in fields),
        other,
    ):
        try:
            model.model_validate(found)
        except ValidationError as error:
            counts.append(error.error_count())
    assert counts
    assert max(counts) < 20


@each_route
def test_503_when_bodies_fill_the_memory(crowded, path):
    answer = crowded.post(path, content=b" " * 101, headers=JSON)
    assert_refused(answer, path, 503, "other requests and their answers fill the server's memory")
    assert crowded.post(path, json=ROUTES[path][1]).status_code == 200


def wait_until(condition: Callable[[], bool]) -> None:
    for _ in range(2_000):
        if condition():
            return
        time.sleep(0.005)
    raise AssertionError("it did not come")


DOCUMENTS = {"documents": [{"id": "1", "text": "a"}]}
TWICE = {"documents": [{"id": "1", "text": "a"}, {"id": "1", "text": "b"}]}
NO_TARGET = {"target": "nowhere"}
REFUSED: list[tuple[str, str, Any, int, str]] = [
    ("GET", "/nothing", None, 404, "found 'GET /nothing'; expected a route of /openapi.json"),
    ("POST", "/encodings", {}, 404, "found 'POST /encodings'; expected a route"),
    ("GET", "/v1/models/gpt", None, 404, "no model is named 'gpt'"),
    ("GET", "/v1/models/collection:nope", None, 404, "no collection is named 'nope'"),
    ("GET", "/collections/nope", None, 404, "no collection is named 'nope'"),
    ("DELETE", "/collections/nope", None, 404, "no collection is named 'nope'"),
    ("GET", "/collections/nope/documents", None, 404, "no collection is named 'nope'"),
    ("PUT", "/collections/nope/documents", DOCUMENTS, 404, "no collection is named 'nope'"),
    ("POST", "/collections/nope/search", {"query": "a"}, 404, "no collection is named 'nope'"),
    ("POST", "/collections/nope/refit", None, 404, "no collection is named 'nope'"),
    ("POST", "/collections/nope/documents/stream", None, 404, "no collection is named 'nope'"),
    ("GET", "/collections/faq/documents/7", None, 404, "the collection faq has no document '7'"),
    ("POST", "/collections/faq/push", NO_TARGET, 404, "no target is named 'nowhere'"),
    ("POST", "/collections", {"name": "x", "vectors": "/etc"}, 404, "no word vectors"),
    ("POST", "/collections", {"name": "faq"}, 409, "faq"),
    ("POST", "/collections", {"name": ".."}, 400, "'..'"),
    ("POST", "/collections", {"name": "x", "index": "Nonsense"}, 400, "'Nonsense'"),
    ("POST", "/collections", {"name": "x", "preset": "none"}, 400, "'none'"),
    ("PUT", "/collections/faq/documents", TWICE, 400, "'1'"),
    ("POST", "/collections/faq/search", {"query": "?!"}, 422, "holds no word"),
    ("POST", "/collections/faq/search", {"query": "a", "where": {"x": 1}}, 400, "'x'"),
    ("POST", "/collections/faq/search", {"query": "a", "k": 2**63}, 422, "k: found"),
    ("POST", "/collections/faq/search", {"query": "a", "mode": "magic"}, 400, "'magic'"),
    ("POST", "/collections/faq/similar", {"id": "7"}, 404, "no document '7'"),
    ("POST", "/collections/faq/duplicates", {"threshold": 2}, 400, "the threshold is 2"),
    ("POST", "/collections/faq/documents/delete", {}, 400, "ids"),
    ("GET", "/collections/faq/documents?limit=0", None, 422, "limit: found '0'"),
    ("GET", "/collections/faq/documents?where=[]", None, 400, "the filter is []"),
    (
        "GET",
        "/collections/faq/documents?sort_by=yaer",
        None,
        400,
        "no document has the field 'yaer'",
    ),
    ("POST", "/collections/faq/count", {"by": ["yaer"]}, 400, "no document has the field 'yaer'"),
    ("POST", "/collections/faq/count", {"by": ["a"] * 21}, 422, "by: found"),
    ("POST", "/collections/faq/count", {"by": [], "limit": 0}, 422, "limit: found 0"),
    ("POST", "/inspect?file=a.pdf", {}, 400, "expected a file of records: .jsonl"),
    ("POST", "/inspect?file=.a.csv", {}, 400, "the file is named '.a.csv'"),
    ("PATCH", "/collections/faq", {}, 405, "expected another method"),
    ("POST", "/health", {}, 405, "expected another method"),
]


@pytest.mark.parametrize(("method", "path", "body", "status", "told"), REFUSED)
def test_collections_and_what_is_not_there(app, method, path, body, status, told):
    answer = app.request(method, path, json=body)
    assert_refused(answer, path if path in ROUTES else "", status, told)


LONG = "a" * 1_001
OTHERS_WITH_TEXTS: list[tuple[str, str, Any]] = [
    ("PUT", "/collections/faq/documents", {"documents": [{"id": "1", "text": LONG}]}),
    ("POST", "/collections/faq/explain", {"text": LONG}),
    ("POST", "/collections/faq/explain", {"text": "a", "with": LONG}),
    ("POST", "/search", {"collections": ["faq"], "query": LONG}),
    ("POST", "/v1/vector_stores/faq/search", {"query": LONG}),
    ("POST", "/retrieval", {"knowledge_id": "faq", "query": LONG, "retrieval_setting": {}}),
    ("POST", "/v1/embed", {"texts": [LONG]}),
    ("POST", "/v2/embed", {"texts": [LONG]}),
    ("POST", "/api/embed", {"input": LONG}),
    ("POST", "/api/embeddings", {"prompt": LONG}),
    ("POST", "/vectors", {"text": LONG}),
]


@pytest.mark.parametrize(("method", "path", "body"), OTHERS_WITH_TEXTS)
def test_413_a_text_too_long_elsewhere(app, method, path, body):
    answer = app.request(method, path, json=body)
    assert answer.status_code == 413
    assert "has 1001 characters; expected at most 1000" in answer.text


def test_413_too_many_documents(app):
    many = {"documents": [{"id": str(number), "text": "a"} for number in range(9)]}
    answer = app.put("/collections/faq/documents", json=many)
    assert_refused(answer, "", 413, "found 9 texts; expected at most 8")


class TestStream:
    def test_errors_say_what_is_stored(self, app):
        lines = b'{"id": "2", "text": "two ducks"}\n{"id": "3"}\n'
        answer = app.post("/collections/faq/documents/stream", content=lines, headers=NDJSON)
        assert answer.status_code == 400
        body = answer.json()
        assert body.pop("stored") == {"added": 0, "updated": 0, "unchanged": 0}
        told = told_by(body)
        assert "line 2 is" in told
        assert body == openai(400, told)

    def test_a_last_line_as_long_as_the_limit(self, app):
        line = b'{"id": "1", "text": "renew a passport", "lang": "en"}'  # as it is stored
        content = line + b" " * (BODY - len(line))
        answer = app.post("/collections/faq/documents/stream", content=content, headers=NDJSON)
        assert answer.status_code == 200

    @pytest.mark.parametrize(
        ("lines", "status", "told"),
        [
            (b'{"id": "2", "text": "' + b"a" * 1_001 + b'"}', 413, "1001 characters"),
            (b"a" * (BODY + 1), 413, f"line 1 has more than {BODY} bytes"),
        ],
    )
    def test_too_large(self, app, lines, status, told):
        answer = app.post("/collections/faq/documents/stream", content=lines, headers=NDJSON)
        assert answer.status_code == status
        body = answer.json()
        del body["stored"]
        assert told in told_by(body)
        assert body == openai(status, told_by(body))


WRITES: list[tuple[str, str, Any]] = [
    ("POST", "/collections", {"name": "more"}),
    ("PUT", "/collections/faq/documents", DOCUMENTS),
    ("POST", "/collections/faq/documents/delete", {"ids": ["1"]}),
    ("POST", "/collections/faq/refit", None),
    ("DELETE", "/collections/faq", None),
]


@pytest.mark.parametrize(("method", "path", "body"), WRITES)
def test_403_of_a_key_that_only_reads(locked, method, path, body):
    client, head = locked
    answer = client.request(method, path, json=body, headers=head)
    assert_refused(answer, path, 403, "the key allows to read; expected one that allows ")
    assert client.get("/collections/faq", headers=head).status_code == 200


def test_503_while_another_process_writes(app, stored):
    with other_writer(stored):
        for method, path, body in WRITES:
            answer = app.request(method, path, json=body)
            assert_refused(answer, path, 503, "another process is writing to the home")
            assert str(stored.root) not in answer.text
        line = json.dumps({"id": "2", "text": "two ducks"})
        answer = app.post("/collections/faq/documents/stream", content=line, headers=NDJSON)
        assert answer.status_code == 503
        assert answer.headers["retry-after"] == "1"
        assert answer.json()["stored"] == {"added": 0, "updated": 0, "unchanged": 0}
        # searches do not wait
        [hit] = app.post("/collections/faq/search", json={"query": "passport"}).json()["results"]
        assert hit["id"] == "1"
    assert app.put("/collections/faq/documents", json=DOCUMENTS).status_code == 200
