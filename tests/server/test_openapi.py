"""The OpenAPI document, and what the server answers to whatever the document allows and to what it does not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

import httpx
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.schemas import APIOperation

from server_process import ServerProcess

OPERATIONS = [
    "POST /v1/embeddings",
    "GET /v1/models",
    "GET /v1/models/{name}",
    "POST /v1/rerank",
    "POST /v2/rerank",
    "POST /embed",
    "POST /embed_sparse",
    "POST /rerank",
    "POST /similarity",
    "POST /",
    "GET /info",
    "GET /access",
    "GET /keys",
    "POST /keys",
    "DELETE /keys/{name}",
    "POST /backup",
    "GET /backups",
    "GET /collections",
    "POST /collections",
    "GET /collections/{name}",
    "DELETE /collections/{name}",
    "GET /collections/{name}/drift",
    "POST /collections/{name}/duplicates",
    "POST /collections/{name}/refit",
    "POST /collections/{name}/calibrate",
    "POST /collections/{name}/push",
    "PUT /collections/{name}/description",
    "GET /collections/{name}/synonyms",
    "PUT /collections/{name}/synonyms",
    "PUT /collections/{name}/documents",
    "GET /collections/{name}/documents",
    "GET /collections/{name}/fields",
    "POST /collections/{name}/count",
    "POST /collections/{name}/documents/stream",
    "POST /collections/{name}/documents/delete",
    "GET /collections/{name}/documents/{document}",
    "POST /collections/{name}/search",
    "POST /collections/{name}/files",
    "POST /inspect",
    "POST /search",
    "GET /collections/{name}/map",
    "GET /collections/{name}/map/colours",
    "POST /collections/{name}/map",
    "POST /collections/{name}/similar",
    "POST /collections/{name}/rerank",
    "POST /collections/{name}/explain",
    "GET /health",
    "GET /health/live",
    "GET /health/ready",
    "POST /v1/embed",
    "POST /v2/embed",
    "POST /api/embed",
    "POST /api/embeddings",
    "GET /api/tags",
    "GET /api/version",
    "POST /vectors",
    "GET /meta",
    "GET /.well-known/live",
    "GET /.well-known/ready",
    "POST /v1/vector_stores/{name}/search",
    "POST /retrieval",
    "GET /metrics",
]
ERRORS = {"400", "401", "403", "404", "409", "413", "422", "429", "503"}
DOCUMENTS = {
    "1": "renew a passport",
    "a/b": "two ducks",
    "..": "a river bank",
    "%2F": "a cup of tea",
}
schemathesis.checks.load_all_checks()
CHECKS = schemathesis.checks.CHECKS.get_by_names(
    [
        "not_a_server_error",
        "status_code_conformance",
        "content_type_conformance",
        "response_schema_conformance",
    ]
)
PATHS = {"name": ["faq"], "document": [*DOCUMENTS, "nope"]}
BODIES = {
    "model": ["gem-index", "collection:faq"],
    "query": ["renew a passport"],
    "collections": [["faq"]],
    "where": [None, {"lang": "en"}],
    "id": ["1", "a/b"],
    "target": ["shop"],
    "name": ["made"],
    "vectors": [None, "wordllama"],
    "preset": [None, "cqa"],
    "index": [None, "flat", "HNSW8"],
    "mode": [None, "dense"],
    "fusion": ["weighted"],
}
"""Values of parameters and bodies that mean something, so that not all requests end at an unknown name."""
NEVER_WRONG = {
    *(
        label
        for label in OPERATIONS
        if label.startswith("GET ")
        and not label.endswith(("/documents", "/{document}", "/colours"))
    ),
    "GET /collections/{name}/documents/{document}",
    "DELETE /collections/{name}",
    "DELETE /keys/{name}",
    "POST /backup",
    "POST /collections/{name}/refit",
    "POST /collections/{name}/map",
}
"""Operations that take nothing but names in their path: no request is of a wrong form."""

BOUNDED = settings(
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=15,
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server that the tests write to, with a target and a folder for backups; it has no keys."""
    folder = tmp_path_factory.mktemp("fuzzed")
    target = f"shop=faiss:///{folder}/shop"
    options = ("--target", target, "--backups", str(folder / "backups"))
    with ServerProcess(folder / "home", *options) as started:
        yield started


@pytest.fixture
def http(fuzzed: ServerProcess) -> Iterator[httpx.Client]:
    """A client of the server, which has the collection faq, and still has it after the test."""
    with httpx.Client(base_url=fuzzed.url, timeout=60, verify=False) as client:
        client.post("/collections", json={"name": "faq"})
        rows = [
            {"id": name, "text": text, "metadata": {"lang": "en"}}
            for name, text in DOCUMENTS.items()
        ]
        assert client.put("/collections/faq/documents", json={"documents": rows}).status_code == 200
        yield client
        assert fuzzed.process.poll() is None, "".join(fuzzed.log[-20:])
        assert client.get("/health").status_code == 200


@pytest.fixture(scope="module")
def document(fuzzed: ServerProcess) -> dict[str, Any]:
    found: dict[str, Any] = httpx.get(f"{fuzzed.url}/openapi.json", timeout=60).json()
    return found


@pytest.fixture(scope="module")
def operations(fuzzed: ServerProcess) -> dict[str, APIOperation]:
    schema = schemathesis.openapi.from_url(f"{fuzzed.url}/openapi.json")
    return {each.ok().label: each.ok() for each in schema.get_all_operations()}


class TestDocument:
    def test_it_is_valid(self, fuzzed):
        schemathesis.openapi.from_url(f"{fuzzed.url}/openapi.json").validate()

    def test_it_has_the_version_of_the_package(self, document):
        assert (document["info"]["title"], document["info"]["version"]) == (
            "gem-index",
            version("gem-index"),
        )

    def test_every_operation_is_tested_here(self, operations):
        assert sorted(operations) == sorted(OPERATIONS)

    @pytest.mark.parametrize("label", OPERATIONS)
    def test_an_operation_has_a_summary_a_description_and_errors(self, document, label):
        operation = described(document, label)
        assert operation["summary"]
        assert operation["description"]
        assert set(operation["responses"]) >= ERRORS
        told = {status: operation["responses"][status]["description"] for status in ERRORS}
        assert told["401"] == "The key is missing or unknown."
        assert len(set(told.values())) == len(ERRORS)  # each says its own reason
        bodies = {
            kind["schema"]["$ref"]
            for status in ERRORS
            for kind in operation["responses"][status].get("content", {}).values()
        }
        assert len(bodies) == 1  # all have the form of the interface of the route
        assert bodies.pop().rpartition("/")[2] in document["components"]["schemas"]

    @pytest.mark.parametrize("label", [label for label in OPERATIONS if label.startswith("P")])
    def test_an_example_of_a_body_is_accepted(self, document, http, label):
        if label.endswith(("/refit", "/map", "/backup")):
            assert "requestBody" not in described(document, label)
            return
        method, path = label.replace("{name}", "faq").split()
        [(media, content)] = described(document, label)["requestBody"]["content"].items()
        examples = list(examples_of(document, content))
        assert examples
        if path == "/collections":
            http.delete("/collections/faq")  # the example makes it again
        elif path == "/search":  # the example names a second one
            http.post("/collections", json={"name": "tickets"})
        elif path.endswith("/push"):  # other tests may have pushed a collection of this name
            http.post(path, json={"target": "shop", "full": True})
        elif path.endswith("/calibrate"):  # it takes ten documents
            more = [{"id": f"more {n}", "text": f"renew a visa {n}"} for n in range(10)]
            http.put("/collections/faq/documents", json={"documents": more}).raise_for_status()
        for example in examples:
            body = example if isinstance(example, str) else json.dumps(example)
            name = {"file": "faq.jsonl"} if path.endswith(("/files", "/inspect")) else None
            media_type = {"Content-Type": media}
            answer = http.request(method, path, content=body, params=name, headers=media_type)
            if path == "/keys":  # without a key nobody makes one: test_key_management.py makes them
                assert answer.status_code == 403
                continue
            assert answer.status_code in (200, 201), answer.text
        if path == "/collections":
            assert answer.json()["name"] == "faq"


def described(document: dict[str, Any], label: str) -> dict[str, Any]:
    method, path = label.split()
    found: dict[str, Any] = document["paths"][path][method.lower()]
    return found


def examples_of(document: dict[str, Any], content: dict[str, Any]) -> Iterator[Any]:
    """Yield the examples of a body, or of each form that it may have."""
    if "example" in content:
        yield content["example"]
        return
    schema = content["schema"]
    for form in schema.get("anyOf", [schema]):
        named = form.get("$ref", "").removeprefix("#/components/schemas/")
        found = document["components"]["schemas"][named] if named else form
        assert found["examples"], found
        yield from found["examples"]


@schemathesis.serializer("application/x-ndjson")
def as_lines(context: schemathesis.SerializationContext, value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")


GENERATED = [
    *((label, GenerationMode.POSITIVE) for label in OPERATIONS),
    *((label, GenerationMode.NEGATIVE) for label in OPERATIONS if label not in NEVER_WRONG),
]


@pytest.mark.parametrize(("label", "mode"), GENERATED)
def test_whatever_is_generated_is_answered_as_documented(operations, http, label, mode):
    operation = operations[label]
    session = requests.Session()

    @BOUNDED
    @given(st.data())
    def ask(data):
        case = data.draw(operation.as_strategy(mode))
        given_body = case.body if isinstance(case.body, dict) else {}
        for place, known in ((case.path_parameters or {}, PATHS), (given_body, BODIES)):
            for name in sorted(place.keys() & known):
                if data.draw(st.integers(0, 3)):  # else what was generated
                    place[name] = data.draw(st.sampled_from(known[name]))
        case.validate_response(case.call(session=session, timeout=60), checks=CHECKS)

    with session:
        ask()
