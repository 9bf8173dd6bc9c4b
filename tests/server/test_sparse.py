"""Sparse vectors of words over HTTP, in the form of Text Embeddings Inference."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

import httpx
import numpy as np
import pytest
from fastapi.testclient import TestClient

from gem_index import open_provider
from gem_index.common.arrays import SparseVector
from gem_index.server.app import create_app
from gem_index.sparse import SparseEncoder

TEXTS = [
    "How do I renew a passport?",
    "Opening hours of the library at the river",
    "Error 4711 when a printer is renewed",
    "护照过期了怎么办 需要带身份证和照片去办理",
    "Die Müllabfuhr kommt in München jeden Dienstag",
    "كيف أجدد جواز السفر",
    "?",
    "a passport, a bank, a river " * 3000,
]


@pytest.fixture
def app(home):
    home.build("faq", [{"id": str(i), "text": text} for i, text in enumerate(TEXTS[:6])])
    hosts = frozenset({"testserver"})
    with TestClient(create_app(home, hosts=hosts, aliases={"short": "collection:faq"})) as client:
        yield client


def vectors(client, inputs, **fields):
    answer = client.post("/embed_sparse", json={"inputs": inputs, **fields})
    assert answer.status_code == 200, answer.text
    return [
        SparseVector(
            np.array([each["index"] for each in row], np.int64),
            np.array([each["value"] for each in row], np.float32),
        )
        for row in answer.json()
    ]


def check_same(found, expected):
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert one.indices.tolist() == other.indices.tolist()
        assert one.values.tolist() == other.values.tolist()


class TestVectors:
    def test_the_form_is_that_of_tei(self, app):
        body = {
            "inputs": "visa",
            "truncate": True,
            "truncation_direction": "right",
            "prompt_name": None,
        }
        [[only]] = app.post("/embed_sparse", json=body).json()
        assert set(only) == {"index", "value"}
        assert isinstance(only["index"], int)
        assert 0 < only["value"] < 1

    def test_documents_and_queries_are_those_of_the_provider(self, app):
        provider = open_provider()
        documents = provider.embed_sparse_documents(TEXTS)
        check_same(vectors(app, TEXTS), documents)
        check_same(vectors(app, TEXTS, prompt_name="document"), documents)
        queries = [provider.embed_sparse_query(text) for text in TEXTS]
        check_same(vectors(app, TEXTS, prompt_name="query"), queries)
        assert vectors(app, []) == []

    @pytest.mark.parametrize("name", ["collection:faq", "short", "fingerprint"])
    def test_a_collection_has_its_own_statistics(self, app, home, name):
        collection = home.collection("faq")
        model = collection.encoder.fingerprint if name == "fingerprint" else name
        own = collection.sparse_encoder()
        check_same(vectors(app, TEXTS, model=model), own.embed_documents(TEXTS))
        queries = [own.embed_query(text) for text in TEXTS]
        check_same(vectors(app, TEXTS, model=model, prompt_name="query"), queries)

    def test_a_model_of_the_home_has_those_of_the_background(self, app, home):
        home.models.fit("small", TEXTS)
        check_same(
            vectors(app, TEXTS, model="small"), SparseEncoder.background().embed_documents(TEXTS)
        )

    def test_the_score_is_that_of_a_search(self, app):
        query = "error 4711"
        [asked] = vectors(app, query, model="collection:faq", prompt_name="query")
        words = np.array(
            [asked.dot(each) for each in vectors(app, TEXTS[:6], model="collection:faq")]
        )
        rows = app.post(
            "/embed", json={"inputs": [query, *TEXTS[:6]], "model": "collection:faq"}
        ).json()
        cosines = np.array(rows[1:]) @ np.array(rows[0])
        body = {"query": query, "k": 6}
        hits = app.post("/collections/faq/search", json=body).json()["results"]
        expected = [{hit["id"]: hit["score"] for hit in hits}[str(place)] for place in range(6)]
        np.testing.assert_allclose((cosines + words) / 3.25, expected, atol=5e-3)


class TestStatistics:
    """They are kept, so that a request does not read all texts."""

    @pytest.fixture
    def reads(self, monkeypatch):
        """The collections whose texts were read."""
        from gem_index import Collection

        read = []
        fit = Collection.sparse_encoder

        def counted(self, progress=None):
            read.append(self.name)
            return fit(self, progress)

        monkeypatch.setattr(Collection, "sparse_encoder", counted)
        return read

    def ask(self, app):
        return vectors(app, "passport", model="collection:faq", prompt_name="query")

    def test_texts_are_read_once(self, app, reads):
        for _ in range(3):
            self.ask(app)
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda _: self.ask(app), range(8)))
        assert reads == ["faq"]

    def test_few_new_documents_change_nothing(self, app, home, reads):
        before = self.ask(app)
        home.collection("faq").upsert([{"id": "one", "text": "another passport"}])
        check_same(self.ask(app), before)
        assert reads == ["faq"]

    def test_many_new_documents_and_a_refit_are_seen(self, app, home, reads):
        before = self.ask(app)
        rows = [{"id": f"new {i}", "text": f"a passport {i}"} for i in range(20)]
        home.collection("faq").upsert(rows)
        after = self.ask(app)
        assert reads == ["faq"] * 2
        assert before[0].values.tolist() == after[0].values.tolist()  # one term has all the weight
        home.collection("faq").refit()
        self.ask(app)
        assert reads == ["faq"] * 3

    def test_a_fifth_of_the_documents_may_change(self, home, reads):
        """More or fewer: the statistics of ten documents serve twelve and eight, not thirteen and seven."""
        rows = [{"id": str(i), "text": f"a passport {i}"} for i in range(10)]
        with TestClient(create_app(home)) as client:
            for name, change in (("more", 1), ("fewer", -1)):
                faq = home.create_collection(name)
                faq.upsert(rows)
                for number in range(4):
                    vectors(client, "passport", model=f"collection:{name}", prompt_name="query")
                    assert reads == [name] * (1 if number < 3 else 2)
                    if change > 0:
                        faq.upsert([{"id": f"new {number}", "text": "another passport"}])
                    else:
                        faq.delete([str(number)])
                reads.clear()

    def test_a_collection_of_the_same_name(self, app, home):
        self.ask(app)
        home.drop("faq")
        home.build("faq", [{"id": str(i), "text": f"zebra {i}"} for i in range(6)])
        assert not len(self.ask(app)[0].indices)
        home.drop("faq")
        answer = app.post("/embed_sparse", json={"inputs": "a", "model": "collection:faq"})
        assert answer.status_code == 404


class TestErrors:
    @pytest.mark.parametrize(
        ("body", "status", "told"),
        [
            ({"inputs": "a", "model": "other"}, 404, "no model is named 'other'"),
            ({"inputs": "a", "model": "collection:other"}, 404, "other"),
            (
                {"inputs": "a", "prompt_name": "search"},
                422,
                "prompt_name: found 'search'; expected 'query' or 'document'",
            ),
            ({"inputs": [3]}, 422, "found 3"),
            ({}, 422, "found no field 'inputs'"),
        ],
    )
    def test_one_line(self, app, body, status, told):
        answer = app.post("/embed_sparse", json=body)
        assert answer.status_code == status
        assert told in answer.json()["error"]


def test_requests_that_arrive_together_get_their_own(home):
    app = create_app(home, hosts=frozenset({"testserver"}))
    texts = [f"{text} {i}" for i in range(20) for text in TEXTS]

    async def ask_all():
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://testserver") as client:
            return await asyncio.gather(
                *(client.post("/embed_sparse", json={"inputs": text}) for text in texts)
            )

    answers = asyncio.run(ask_all())
    expected = SparseEncoder.background().embed_documents(texts)
    for answer, vector in zip(answers, expected, strict=True):
        assert [each["index"] for each in answer.json()[0]] == vector.indices.tolist()
