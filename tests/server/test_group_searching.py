"""Searches in several collections together over HTTP."""

import pytest

from gem_index import Home

NEWS = [("n1", "the bank opens a new branch"), ("n2", "ducks on the river bank")]
FAQ = [("f1", "renew a passport"), ("f2", "open a bank account")]


@pytest.fixture
def two(client):
    """Two collections with one model."""
    for name, rows in (("faq", FAQ), ("news", NEWS)):
        assert client.post("/collections", json={"name": name}).status_code == 201
        documents = [{"id": key, "text": text} for key, text in rows]
        stored = client.put(f"/collections/{name}/documents", json={"documents": documents})
        assert stored.status_code == 200


def asked(client, status=200, **body):
    answer = client.post("/search", json={"collections": ["faq", "news"], **body})
    assert answer.status_code == status, answer.text
    return answer.json()


def test_one_list_by_score(client, home: Home, two):
    found = asked(client, query="the bank", k=3)
    assert found["ranked_by"] == "score"
    assert found["query"] == "the bank"
    expected = home.group(["faq", "news"]).search("the bank", k=3)
    assert [(hit["collection"], hit["id"], round(hit["score"], 5)) for hit in found["results"]] == [
        (hit.collection, hit.id, round(hit.score, 5)) for hit in expected
    ]
    assert {hit["collection"] for hit in found["results"]} == {"faq", "news"}


@pytest.mark.parametrize("how", ["lexical", "another model"])
def test_one_list_by_rank(client, home: Home, two, how):
    if how == "another model":
        home.collection("news").refit()
    found = asked(client, query="a bank", k=3, mode="lexical" if how == "lexical" else "hybrid")
    assert found["ranked_by"] == "rank"
    assert len({hit["collection"] for hit in found["results"][:2]}) == 2


def test_several_queries_and_pages(client, two):
    found = asked(client, queries=["the bank", "passport"], k=1)
    assert [each["query"] for each in found["searches"]] == ["the bank", "passport"]
    assert found["ranked_by"] == "score"
    first, second = asked(client, query="bank", k=2)["results"]
    assert asked(client, query="bank", k=1, offset=1)["results"] == [second]
    assert first != second


def test_a_collection_that_is_named_twice_counts_once(client, two):
    found = asked(client, collections=["faq", "faq"], query="bank", k=4)
    assert [hit["collection"] for hit in found["results"]] == ["faq"] * len(found["results"])
    assert len({hit["id"] for hit in found["results"]}) == len(found["results"])


def test_a_dropped_collection_made_again_is_searched(client, home: Home, two):
    assert asked(client, query="bank")["results"]
    home.drop("news")
    home.create_collection("news").upsert([("n9", "a bank in the park")])
    found = {hit["id"] for hit in asked(client, query="bank in the park")["results"]}
    assert "n9" in found
    assert "n1" not in found


@pytest.mark.parametrize(
    ("body", "status", "told"),
    [
        ({"collections": ["faq", "other"], "query": "x"}, 404, "no collection is named 'other'"),
        ({"collections": [], "query": "x"}, 422, "collections"),
        ({"collections": ["faq"] * 33, "query": "x"}, 422, "collections"),
        ({}, 400, "neither query nor queries"),
        ({"query": "x", "k": 6000}, 413, "found 1 queries in 2 collections with k 6000"),
        ({"query": "x", "unknown": 1}, 422, "unknown"),
        ({"query": "bank", "where": {"no": 1}}, 400, "no"),
    ],
)
def test_what_is_refused(client, two, body, status, told):
    assert told in str(asked(client, status, **body))
