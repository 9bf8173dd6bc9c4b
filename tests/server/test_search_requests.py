"""Searches, explanations and re-rankings by requests: what they refuse, whole, and what they pass on."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest
from fastapi.testclient import TestClient

from gem_index.collection import Collection
from gem_index.server import searching
from gem_index.server.app import create_app
from gem_index.server.settings import Limits

ROWS = [(str(number), f"a visa of week {number}", {"n": number}) for number in range(12)]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    from gem_index import Home

    made = Home(tmp_path_factory.mktemp("searches") / "home")
    made.create_collection("faq").upsert(ROWS)
    made.create_collection("tickets").upsert(ROWS[:3])
    return made


@pytest.fixture(scope="module")
def client(home):
    limits = Limits(texts=20, characters=20_000, query=1500)
    with TestClient(create_app(home, limits=limits)) as started:
        yield started


@pytest.mark.parametrize(
    ("path", "body", "status", "told"),
    [
        ("search", {}, 400, "found neither query nor queries; expected one of them"),
        (
            "search",
            {"query": "a", "queries": []},
            400,
            "found query and queries; expected one of them",
        ),
        (
            "search",
            {"query": "a", "why": True, "k": 101},
            400,
            "k is 101 with why; expected at most 100 results with an explanation",
        ),
        (
            "search",
            {"queries": ["a", "b" * 1001], "why": True},
            413,
            "query 1 has 1001 characters; expected at most 1000 of one that is explained",
        ),
        (
            "search",
            {"queries": ["a", "b" * 1501]},
            413,
            "the query has 1501 characters; expected at most 1500: a longer text is a document",
        ),
        (
            "search",
            {"queries": ["a"] * 11, "k": 900, "offset": 100},
            413,
            "found 11 queries with k 900 and offset 100; expected at most 10000 results per request, with those that the "
            "offset leaves out",
        ),
        ("search", {"queries": ["a"] * 21}, 413, "found 21 texts; expected at most 20"),
        (
            "explain",
            {"text": "a" * 10_001},
            413,
            "text 0 has 10001 characters; expected at most 10000 of one that is explained",
        ),
        (
            "explain",
            {"text": "a", "with": "a" * 10_001},
            413,
            "text 1 has 10001 characters; expected at most 10000 of one that is explained",
        ),
        (
            "rerank",
            {"query": "a" * 1501, "candidates": ["a"]},
            413,
            "the query has 1501 characters; expected at most 1500: a longer text is a document",
        ),
        (
            "similar",
            {"id": "none"},
            404,
            "the collection faq has no document 'none'; expected one that GET /collections/faq/documents lists",
        ),
    ],
)
def test_what_is_refused(client, path, body, status, told):
    answer = client.post(f"/collections/faq/{path}", json=body)
    assert (answer.status_code, answer.json()["error"]["message"]) == (status, told)


def test_what_is_refused_of_several_collections(client):
    body = {"collections": ["faq", "tickets"], "query": "a", "k": 5000, "offset": 1}
    answer = client.post("/search", json=body)
    assert answer.status_code == 413
    assert answer.json()["error"]["message"] == (
        "found 1 queries in 2 collections with k 5000 and offset 1; expected at most 10000 results per request, with those "
        "that the offset leaves out"
    )
    assert client.post("/search", json={**body, "offset": 0}).status_code == 200
    assert client.post("/search", json={**body, "collections": ["faq"] * 32}).status_code == 200


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("search", {"query": "a", "why": True, "k": 100}),
        ("search", {"query": "b " * 500, "why": True}),
        ("search", {"query": "b " * 750}),
        ("search", {"queries": ["a"] * 10, "k": 900, "offset": 100}),
        ("search", {"queries": ["a"] * 20}),
        ("explain", {"text": "a " * 5000}),
    ],
)
def test_as_much_as_the_limits_is_answered(client, path, body):
    assert client.post(f"/collections/faq/{path}", json=body).status_code == 200


def test_each_option_reaches_the_search(client, monkeypatch):
    asked = []
    search = Collection.search

    def noting(self, query, k, **options):
        asked.append((query, k, options))
        return search(self, query, k)

    monkeypatch.setattr(Collection, "search", noting)
    options = {
        "mode": "dense",
        "fusion": "rrf",
        "where": {"n": 1},
        "min_score": 0.5,
        "rerank": True,
        "why": True,
        "collapse": 0.9,
        "pieces": True,
        "exact": True,
        "correct": False,
        "offset": 2,
        "boost": "n:1",
        "sort_by": "-n",
    }
    client.post("/collections/faq/search", json={"query": "a visa", "k": 7, "pairs": 0, **options})
    client.post("/collections/faq/search", json={"query": "a visa"})
    defaults = {
        "mode": None,
        "fusion": "weighted",
        "where": None,
        "min_score": None,
        "rerank": False,
        "why": False,
        "collapse": False,
        "pieces": False,
        "exact": False,
        "correct": True,
        "offset": 0,
        "boost": None,
        "sort_by": None,
    }
    assert asked == [("a visa", 7, options), ("a visa", 10, defaults)]


def test_many_queries_are_answered_in_parts_as_each_alone(client, monkeypatch):
    parts = []
    search_many = Collection.search_many

    def noting(self, queries, *arguments, **options):
        parts.append(len(queries))
        return search_many(self, queries, *arguments, **options)

    monkeypatch.setattr(Collection, "search_many", noting)
    monkeypatch.setattr(searching, "_SLICE_HITS", 6)
    queries = [f"visa of week {number}" for number in range(7)]
    for work, expected in ((10_000, [3, 3, 1]), (30, [2, 2, 2, 1])):
        monkeypatch.setattr(searching, "_SLICE_WORK", work)
        parts.clear()
        body = {"queries": queries, "k": 2}
        answers = client.post("/collections/faq/search", json=body).json()["searches"]
        assert parts == expected
        alone = [
            client.post("/collections/faq/search", json={"query": query, "k": 2}).json()
            for query in queries
        ]
        assert answers == alone


def test_pairs_of_words_are_cut_to_a_number(client):
    body = {"query": "a visa of a week", "why": True, "k": 1}
    [whole] = client.post("/collections/faq/search", json=body).json()["results"]
    for pairs in (0, 2, 99):
        [hit] = client.post("/collections/faq/search", json={**body, "pairs": pairs}).json()[
            "results"
        ]
        assert hit["why"]["pairs"] == whole["why"]["pairs"][:pairs]
        assert {**hit, "why": None} == {**whole, "why": None}


def test_collapsed_results_name_their_near_duplicates(client, home):
    texts = {"1": "renew a visa", "2": "renew a visa", "3": "the river bank"}
    home.create_collection("copies").upsert(list(texts.items()))
    body = {"query": "renew a visa", "k": 3, "mode": "dense"}
    answer = client.post("/collections/copies/search", json=body).json()["results"]
    assert [(hit["id"], "similar" in hit) for hit in answer] == [(name, False) for name in texts]
    answer = client.post("/collections/copies/search", json={**body, "collapse": True}).json()
    assert [(hit["id"], hit["similar"]) for hit in answer["results"]] == [("1", ["2"]), ("3", [])]


def test_similar_documents_are_filtered_and_as_many_as_asked(client, home):
    for path in ("similar", "neighbours"):
        body = {"id": "1", "k": 2, "where": {"n": {"$gte": 9}}}
        found = client.post(f"/collections/faq/{path}", json=body).json()
        hits = home.collection("faq").similar("1", 2, {"n": {"$gte": 9}})
        assert found == json.loads(
            json.dumps({"id": "1", "results": [hit.to_dict() for hit in hits]})
        )
        assert len(hits) == 2
    assert len(client.post("/collections/faq/similar", json={"id": "1"}).json()["results"]) == 10


def test_explanations_and_rankings_are_those_of_the_library(client, home):
    faq = home.collection("faq")
    body = {"text": "renew a visa", "with": "two visas"}
    found = client.post("/collections/faq/explain", json=body).json()
    assert found == json.loads(json.dumps(asdict(faq.encoder.explain_match(*body.values()))))
    answer = client.post("/collections/faq/explain", json={**body, "width": 3})
    assert answer.status_code == 422
    assert "found the field 'width'; expected none of that name" in answer.text
    ranked = {"query": "a visa", "candidates": ["a bank", "two visas", "weeks"]}
    for top in (None, 2):
        answer = client.post("/collections/faq/rerank", json={**ranked, "top_n": top}).json()
        expected = faq.rerank("a visa", ranked["candidates"], top)
        assert answer == {"query": "a visa", "results": [asdict(each) for each in expected]}


def test_a_filter_of_a_list_is_told(client):
    for where, told in (
        ("[]", "the filter is []; expected an object"),
        ("{", "the filter is not JSON: "),
    ):
        answer = client.get("/collections/faq/documents", params={"where": where})
        message = answer.json()["error"]["message"]
        assert answer.status_code == 400
        assert message.startswith(told)
        assert message.endswith("; expected an object")
    where = json.dumps({"n": {"$gte": 9}})
    found = client.get("/collections/faq/documents", params={"where": where, "limit": 1}).json()
    assert (found["documents"][0]["id"], found["total"]) == ("9", 3)
    newest = client.get("/collections/faq/documents", params={"newest_first": True, "limit": 1})
    assert newest.json()["documents"][0]["id"] == "11"


def test_counts_are_of_the_filtered_documents(client):
    body = {"by": ["n"], "where": {"n": {"$gte": 9}}, "limit": 2}
    found = client.post("/collections/faq/count", json=body).json()
    assert found["documents"] == 3
    assert [len(each["values"]) for each in found["counts"]] == [2]
    plain = client.post("/collections/faq/count", json={"where": {"n": 1}}).json()
    assert plain == {"documents": 1, "counts": []}
