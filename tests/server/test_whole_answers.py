"""The whole answer of each imitated interface, and of the server's own routes about itself."""

from __future__ import annotations

import base64
import json
from importlib.metadata import version
from uuid import UUID

import numpy as np
import pytest
from fastapi.testclient import TestClient

from gem_index import Home
from gem_index.server.app import create_app
from gem_index.server.settings import Limits

TEXTS = ["renew a passport", "open  a\nbank account", "?"]
WORDS = 8
VERSION = version("gem-index")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A home with a fitted model, and a collection of two documents."""
    home = Home(tmp_path_factory.mktemp("answers") / "home")
    home.models.fit("fitted", ["renew a passport", "open a bank account", "a river bank"])
    faq = home.create_collection("faq")
    faq.upsert(
        [
            ("1", "How do I renew a passport?", {"title": "Passports", "year": 2020}),
            ("2", "Where can I open a bank account?", {"year": 2024, "document_id": "mine"}),
        ]
    )
    return home


@pytest.fixture(scope="module")
def client(made):
    with TestClient(
        create_app(made, limits=Limits(texts=9, characters=900, waiting=99))
    ) as started:
        yield started


@pytest.fixture(scope="module")
def rows(made):
    """The vectors of the texts as JSON, of the model that all requests name: not the default model."""
    return made.models.open("fitted").encode(TEXTS)


def in_base64(vectors) -> list[str]:
    return [base64.b64encode(np.asarray(row, "<f4").tobytes()).decode() for row in vectors]


def close(found, expected) -> bool:
    return np.allclose(np.asarray(found), np.asarray(expected), atol=1e-6)


def test_openai(client, made, rows):
    body = {"model": "fitted", "input": TEXTS, "encoding_format": "base64"}
    assert client.post("/v1/embeddings", json=body).json() == {
        "object": "list",
        "data": [
            {"object": "embedding", "index": place, "embedding": each}
            for place, each in enumerate(in_base64(rows))
        ],
        "model": "fitted",
        "usage": {"prompt_tokens": WORDS, "total_tokens": WORDS},
    }
    default = client.app.state.context.models.default()
    collection = made.collection("faq")
    cards = {
        "gem-index": default,
        "fitted": made.models.open("fitted"),
        "collection:faq": collection.encoder,
        "gem-index-embeddings": default,
    }
    listed = [
        {
            "id": name,
            "object": "model",
            "created": 0,
            "owned_by": "gem-index",
            "fingerprint": encoder.fingerprint,
            "dimension": encoder.dimension,
        }
        for name, encoder in cards.items()
    ]
    assert client.get("/v1/models").json() == {"object": "list", "data": listed}
    for each in listed:
        assert client.get(f"/v1/models/{each['id']}").json() == each


def test_openai_names_the_model_of_the_path_and_of_the_body(client, rows):
    path = "/openai/deployments/fitted/embeddings"
    answer = client.post(path, json={"input": TEXTS[0]}).json()
    assert answer["model"] == "fitted"
    assert close(answer["data"][0]["embedding"], rows[0])
    answer = client.post(path, json={"input": TEXTS[0], "model": "gem-index"}).json()
    assert answer["model"] == "gem-index"


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"input": []}, "input is an empty list; expected a text, or a list of them"),
        (
            {"input": [1]},
            "input holds the numbers of another model's tokens; expected texts: for LangChain set "
            "check_embedding_ctx_length=False",
        ),
        (
            {"input": [{"text": 1}]},
            "input.0: found {'text': 1}; expected a valid string",
        ),
    ],
)
def test_openai_is_told_what_it_can_send(client, body, told):
    answer = client.post("/v1/embeddings", json=body)
    assert (answer.status_code, answer.json()["error"]["message"]) == (400, told)


def test_ollama(client, made, rows):
    answer = client.post("/api/embed", json={"model": "fitted", "input": TEXTS}).json()
    assert close(answer.pop("embeddings"), rows)
    assert answer.pop("total_duration") > 1000  # nanoseconds
    assert answer == {"model": "fitted", "load_duration": 0, "prompt_eval_count": WORDS}
    one = client.post("/api/embeddings", json={"model": "fitted", "prompt": TEXTS[0]}).json()
    assert list(one) == ["embedding"]
    assert close(one["embedding"], rows[0])
    assert client.get("/api/version").json() == {"version": VERSION}
    models = client.get("/v1/models").json()["data"]
    assert client.get("/api/tags").json() == {
        "models": [
            {
                "name": each["id"],
                "model": each["id"],
                "modified_at": "1970-01-01T00:00:00Z",
                "size": 0,
                "digest": each["fingerprint"],
                "details": {"format": "gem-index", "family": "gem", "families": ["gem"]},
            }
            for each in models
        ]
    }


@pytest.mark.parametrize(
    ("path", "types", "kind"),
    [
        ("/v1/embed", None, "embeddings_floats"),
        ("/v1/embed", ["float"], "embeddings_by_type"),
        ("/v1/embed", ["base64"], "embeddings_by_type"),
        ("/v2/embed", None, "embeddings_by_type"),
        ("/v2/embed", ["base64", "float"], "embeddings_by_type"),
    ],
)
def test_cohere(client, rows, path, types, kind):
    body = {"model": "fitted", "texts": TEXTS, "embedding_types": types}
    answer = client.post(path, json=body).json()
    assert UUID(answer.pop("id")).version == 4
    embeddings = answer.pop("embeddings")
    assert answer == {
        "texts": TEXTS,
        "response_type": kind,
        "meta": {"api_version": {"version": "2"}, "billed_units": {"input_tokens": WORDS}},
    }
    if kind == "embeddings_floats":
        embeddings = {"float": embeddings}
    assert sorted(embeddings) == sorted(types or ["float"])
    assert close(embeddings.get("float", rows), rows)
    assert embeddings.get("base64", in_base64(rows)) == in_base64(rows)


def test_cohere_is_cut_and_told_which_types_there_are(client, rows):
    body = {"model": "fitted", "texts": TEXTS[:1], "output_dimension": 8}
    cut = rows[:1, :8] / np.linalg.norm(rows[0, :8])
    assert close(client.post("/v1/embed", json=body).json()["embeddings"], cut)
    answer = client.post("/v1/embed", json={"texts": ["a"], "embedding_types": ["float", "int8"]})
    assert answer.json()["message"] == (
        "embedding_types has 'int8'; expected float or base64: the vectors are not quantized"
    )


@pytest.mark.parametrize("path", ["/v1/rerank", "/v2/rerank", "/rerank"])
def test_reranking(client, rows, path):
    body = {
        "model": "fitted",
        "query": TEXTS[0],
        "documents": [TEXTS[1], {"text": TEXTS[0]}, TEXTS[2], TEXTS[2]],
        "return_documents": True,
    }
    answer = client.post(path, json=body).json()
    assert UUID(answer.pop("id")).version == 4
    scores = [result.pop("relevance_score") for result in answer["results"]]
    near = float(rows[1] @ rows[0])
    assert close(scores, sorted([1.0, near, 0.0, 0.0], reverse=True))
    order = [1, 0, 2, 3] if near > 0 else [1, 2, 3, 0]  # equal ones in the order of the texts
    texts = [TEXTS[1], TEXTS[0], TEXTS[2], TEXTS[2]]
    assert answer == {
        "model": "fitted",
        "results": [{"index": place, "document": {"text": texts[place]}} for place in order],
        "meta": {"api_version": {"version": "2"}, "billed_units": {"search_units": 0}},
        "usage": {"total_tokens": 3 + 4 + 3 + 1 + 1},
    }
    few = client.post(path, json={**body, "top_n": 1, "return_documents": False}).json()["results"]
    assert [sorted(each) for each in few] == [["index", "relevance_score"]]


def test_reranking_of_some_fields(client):
    documents = [{"title": "a", "text": "b", "n": 1}, {"text": "c"}]
    body = {"query": "a", "documents": documents, "rank_fields": ["title", "text"]}
    answer = client.post("/v1/rerank", json={**body, "return_documents": True}).json()
    found = {each["index"]: each["document"]["text"] for each in answer["results"]}
    assert found == {0: "a\nb", 1: "c"}
    refused = client.post("/v1/rerank", json={**body, "rank_fields": ["n", "m"]}).json()
    assert refused["message"] == (
        "document 0 is {'n': 1, 'text': 'b', 'title': 'a'}; expected a text, or an object with n or m"
    )
    empty = client.post("/v1/rerank", json={"query": "a", "documents": []})
    assert empty.status_code == 400
    assert empty.json()["message"] == "found an empty list of documents; expected texts"


def test_text_embeddings_inference(client, made, rows):
    body = {"model": "fitted", "query": TEXTS[0], "texts": [TEXTS[2], TEXTS[0]]}
    for path in ("/rerank", "/"):
        answer = client.post(path, json={**body, "return_text": True}).json()
        scores = [each.pop("score") for each in answer]
        assert close(scores, [1.0, 0.0])
        assert answer == [{"index": 1, "text": TEXTS[0]}, {"index": 0, "text": TEXTS[2]}]
        plain = client.post(path, json=body).json()
        assert [sorted(each) for each in plain] == [["index", "score"]] * 2
    compared = {"source_sentence": TEXTS[0], "sentences": [TEXTS[1], TEXTS[0]]}
    for path in ("/similarity", "/"):
        answer = client.post(path, json={"model": "fitted", "inputs": compared}).json()
        assert close(answer, [float(rows[1] @ rows[0]), 1.0])
        answer = client.post("/", json={"model": "fitted", "inputs": TEXTS, "dimensions": 8}).json()
        assert np.shape(answer) == (3, 8)
    assert client.get("/info").json() == {
        "model_id": "gem-index",
        "model_sha": client.app.state.context.models.default().fingerprint,
        "model_dtype": "float32",
        "model_type": {"embedding": {"pooling": "gem"}},
        "max_client_batch_size": 9,
        "max_input_length": 900,
        "version": VERSION,
    }


def test_weaviate(client, rows):
    answer = client.post("/vectors", json={"model": "fitted", "text": TEXTS[0]}).json()
    assert close(answer.pop("vector"), rows[0])
    assert answer == {"text": TEXTS[0], "dim": 256}
    assert client.get("/meta").json() == {"model_name": "gem-index", "version": VERSION}
    for path in ("/.well-known/live", "/.well-known/ready"):
        assert (client.get(path).status_code, client.get(path).content) == (204, b"")


def test_a_vector_store(client, made):
    path = "/v1/vector_stores/faq/search"
    first, second = made.collection("faq").search("passport")
    row = {
        "file_id": "1",
        "filename": "Passports",
        "score": first.score,
        "attributes": {"title": "Passports", "year": 2020},
        "content": [{"type": "text", "text": "How do I renew a passport?"}],
    }
    other = {
        "file_id": "2",
        "filename": "2",
        "score": second.score,
        "attributes": {"year": 2024, "document_id": "mine"},
        "content": [{"type": "text", "text": "Where can I open a bank account?"}],
    }
    assert client.post(path, json={"query": "passport"}).json() == {
        "object": "vector_store.search_results.page",
        "search_query": ["passport"],
        "data": [row, other],
        "has_more": False,
        "next_page": None,
    }
    year = {"key": "year", "value": 2020}
    for filters, ids in (
        ({"type": "eq", **year}, ["1"]),
        ({"type": "ne", **year}, ["2"]),
        ({"type": "gt", **year}, ["2"]),
        ({"type": "gte", **year}, ["1", "2"]),
        ({"type": "lt", "key": "year", "value": 2024}, ["1"]),
        ({"type": "lte", "key": "year", "value": 2024}, ["1", "2"]),
        ({"type": "in", "key": "year", "value": [2020]}, ["1"]),
        ({"type": "nin", "key": "year", "value": [2020]}, ["2"]),
        ({"type": "gt", "key": "year", "value": 0}, ["1", "2"]),
        ({"type": "or", "filters": [{"type": "eq", **year}, {"type": "gt", **year}]}, ["1", "2"]),
        ({"type": "and", "filters": [{"type": "eq", **year}, {"type": "gt", **year}]}, []),
    ):
        found = client.post(path, json={"query": "passport", "filters": filters}).json()["data"]
        assert [each["file_id"] for each in found] == ids, filters


@pytest.mark.parametrize(
    ("filters", "told"),
    [
        (
            {"type": "and", "filters": [1]},
            "filters holds a part that is no object; expected objects",
        ),
        (
            {"type": "eq", "key": "year"},
            "filters is not a filter of OpenAI; expected type (and, or, eq, gt, gte, in, lt, lte, ne, nin) with filters, "
            "or with key and value",
        ),
    ],
)
def test_a_vector_store_is_told_what_a_filter_is(client, filters, told):
    body = {"query": "passport", "filters": filters}
    answer = client.post("/v1/vector_stores/faq/search", json=body)
    assert (answer.status_code, answer.json()["error"]["message"]) == (400, told)


@pytest.mark.parametrize(("most", "path"), [(50, "vector"), (100, "dify")])
def test_a_knowledge_base_returns_a_limited_number(client, most, path):
    for number, status in ((most, 200), (most + 1, 422), (0, 422)):
        if path == "vector":
            body = {"query": "passport", "max_num_results": number}
            answer = client.post("/v1/vector_stores/faq/search", json=body)
        else:
            setting = {"top_k": number}
            body = {"knowledge_id": "faq", "query": "passport", "retrieval_setting": setting}
            answer = client.post("/retrieval", json=body)
        assert answer.status_code == status


def test_a_knowledge_base_returns_ten_or_five_by_default(client, made):
    many = made.get_or_create_collection("many")
    many.upsert([(str(number), f"a passport of {number}") for number in range(12)])
    found = client.post("/v1/vector_stores/many/search", json={"query": "a passport"}).json()
    assert len(found["data"]) == 10
    found = client.post("/retrieval", json={"knowledge_id": "many", "query": "a passport"}).json()
    assert len(found["records"]) == 5
    made.drop("many")


def test_dify(client, made):
    first, second = made.collection("faq").search("passport")
    records = [
        {
            "content": "How do I renew a passport?",
            "score": first.score,
            "title": "Passports",
            "metadata": {"title": "Passports", "year": 2020, "document_id": "1"},
        },
        {
            "content": "Where can I open a bank account?",
            "score": second.score,
            "title": "2",
            "metadata": {"year": 2024, "document_id": "2"},
        },
    ]
    body = {"knowledge_id": "faq", "query": "passport"}
    for least, found in ((second.score, records), (first.score, records[:1])):
        setting = {"top_k": 2, "score_threshold": least}
        answer = client.post("/retrieval", json={**body, "retrieval_setting": setting})
        assert answer.json() == {"records": found}
    refused = client.post("/retrieval", json={**body, "metadata_condition": {}})
    told = "found metadata_condition; expected none: it is not supported"
    assert refused.status_code == 400
    assert refused.json() == {"error_code": 400, "error_msg": told}


def test_health(client):
    assert client.get("/health").json() == client.get("/health/live").json() == {"status": "ok"}
    metrics = client.get("/metrics")
    assert metrics.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    for path in ("/docs", "/redoc"):  # FastAPI's pages load scripts of other servers
        assert client.get(path).status_code == 404


def test_what_is_no_route(client):
    def told(method, path):
        return client.request(method, path).json()["error"]["message"]

    assert told("GET", "/v1/mdels") == "found 'GET /v1/mdels'; did you mean /v1/models?"
    assert told("GET", "/xyz") == "found 'GET /xyz'; expected a route of /openapi.json"
    answer = client.request("PATCH", "/collections")
    assert answer.headers["allow"] in ("GET", "POST", "GET, POST")
    assert answer.json()["error"]["message"] == (
        "found 'PATCH /collections'; expected another method: /openapi.json lists the methods of each path"
    )


def test_a_body_that_is_not_json(client):
    head = {"Content-Type": "application/json"}
    for content, told in (
        (b'{"query": }', "the body is not JSON: Expecting value"),
        (b"\xff", "the body is not JSON: it is not UTF-8, or nested too deeply"),
    ):
        answer = client.post("/collections/faq/search", content=content, headers=head)
        assert (answer.status_code, answer.json()["error"]["message"]) == (400, told)


def test_numbers_of_more_than_64_bits_are_sent(client, made):
    made.collection("faq").upsert([("3", "a large number", {"n": 2**70})])
    found = client.get("/collections/faq/documents/3")
    assert json.loads(found.content)["metadata"] == {"n": 2**70}
    hits = client.post("/collections/faq/search", json={"query": "large number", "k": 1}).json()
    assert hits["results"][0]["metadata"] == {"n": 2**70}
    made.collection("faq").delete(["3"])
