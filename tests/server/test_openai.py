"""The interface of OpenAI."""

from __future__ import annotations

import base64

import numpy as np
import pytest
from fastapi.testclient import TestClient

from gem_index import Home, open_provider
from gem_index.server import models
from gem_index.server.app import create_app

TEXTS = ["renew a passport", "open a bank account", "", "?!"]


@pytest.fixture
def expected(home: Home) -> np.ndarray:
    return np.asarray(open_provider(home=home).encoder.encode(TEXTS))


class TestEmbeddings:
    def test_floats_are_the_encoders(self, client, expected):
        answer = client.post("/v1/embeddings", json={"input": TEXTS, "model": "gem-index"})
        assert answer.status_code == 200
        body = answer.json()
        found = np.array([row["embedding"] for row in body["data"]], np.float32)
        assert np.array_equal(found, expected)
        assert [row["index"] for row in body["data"]] == [0, 1, 2, 3]
        assert {row["object"] for row in body["data"]} == {"embedding"}
        assert body["usage"] == {"prompt_tokens": 8, "total_tokens": 8}
        assert (body["object"], body["model"]) == ("list", "gem-index")

    def test_base64_holds_the_same_bytes(self, client, expected):
        asked = {"input": TEXTS, "model": "gem-index", "encoding_format": "base64"}
        plain = client.post("/v1/embeddings", json={**asked, "encoding_format": None})
        assert isinstance(plain.json()["data"][0]["embedding"][0], float)
        rows = client.post("/v1/embeddings", json=asked).json()["data"]
        found = [np.frombuffer(base64.b64decode(row["embedding"]), "<f4") for row in rows]
        assert np.array_equal(found, expected)

    def test_one_text(self, client, expected):
        [row] = client.post("/v1/embeddings", json={"input": TEXTS[0]}).json()["data"]
        assert np.array_equal(np.float32(row["embedding"]), expected[0])

    def test_dimensions_of_the_model_itself_are_honoured(self, client, expected):
        asked = {"input": "a", "dimensions": expected.shape[1]}
        assert client.post("/v1/embeddings", json=asked).status_code == 200

    @pytest.mark.parametrize(
        ("body", "status", "told"),
        [
            ({"input": [1, 2]}, 400, "tokens"),
            ({"input": [[1, 2]]}, 400, "tokens"),
            ({"input": []}, 400, "empty list"),
            (
                {"input": ["a", 3]},
                400,
                "input.1: found 3; expected a valid string",
            ),
            ({"input": {"a": 1}}, 400, "input: found {'a': 1}; expected"),
            ({"input": [{"text": 5}]}, 400, "input.0: found {'text': 5}; expected a valid string"),
            (
                {"input": [{"text": "a"}, {"text": None}]},
                400,
                "input.0: found {'text': 'a'}; expec",
            ),
            ({"input": [{"image": "a"}]}, 400, "input.0: found {'image': 'a'}; expected"),
            ({}, 400, "found no field 'input'; expected one"),
            ({"input": "a", "dimensions": 257}, 400, "dimensions is 257; expected at most 256"),
            ({"input": "a", "dimensions": 0}, 400, "dimensions"),
            ({"input": "a", "encoding_format": "int8"}, 400, "encoding_format"),
            ({"input": "a", "model": "gpt"}, 404, "no model is named 'gpt'"),
            ({"input": "a", "model": "collection:nope"}, 404, "'nope'"),
            ({"input": ["a"] * 2049}, 413, "2049 texts; expected at most 2048"),
        ],
    )
    def test_what_is_wrong_is_said_as_openai_says_it(self, client, body, status, told):
        answer = client.post("/v1/embeddings", json=body)
        assert answer.status_code == status
        error = answer.json()["error"]
        assert told in error["message"]
        assert set(error) == {"message", "type", "param", "code"}

    @pytest.mark.parametrize(
        "content", [b"{", b"", b"\xff\xfe", b'{"input": "\\ud800"}', b"[]", b"null"]
    )
    def test_a_malformed_body_is_400(self, client, content):
        answer = client.post("/v1/embeddings", content=content)
        assert answer.status_code == 400
        assert answer.json()["error"]["type"] == "invalid_request_error"


class TestModels:
    def test_default_fitted_and_those_of_collections(self, client, home):
        home.models.fit("mine", ["renew a passport", "open a bank account"])
        home.create_collection("faq")
        found = {each["id"]: each for each in client.get("/v1/models").json()["data"]}
        assert set(found) == {"gem-index", "gem-index-embeddings", "mine", "collection:faq"}
        assert found["mine"]["fingerprint"] == home.models.open("mine").fingerprint
        assert {model["dimension"] for model in found.values()} == {256}
        alone = client.get("/v1/models/collection:faq").json()
        assert alone["dimension"] == 256
        assert alone["fingerprint"] == home.collection("faq").encoder.fingerprint

    def test_a_name_with_embed_is_the_default_model_or_the_model_that_has_it(
        self, client, home, monkeypatch
    ):
        """n8n shows only names that contain "embed"."""
        asked = {"input": "a bank", "model": "gem-index-embeddings"}

        def answered():
            row = client.post("/v1/embeddings", json=asked).json()["data"][0]
            return np.array(row["embedding"], np.float32).tolist()

        assert answered() == open_provider(home=home).encoder.encode(["a bank"])[0].tolist()
        home.models.fit("gem-index-embeddings", ["renew a passport", "open a bank account"])
        monkeypatch.setattr(models, "_FRESH", 0.0)  # as after a second
        expected = home.models.open("gem-index-embeddings").encode(["a bank"])[0]
        assert answered() == expected.tolist()
        names = [each["id"] for each in client.get("/v1/models").json()["data"]]
        assert names == ["gem-index", "gem-index-embeddings"]

    def test_other_names_of_models_are_listed_and_used(self, home):
        home.models.fit("mine", ["renew a passport", "open a bank account"])
        home.create_collection("faq").upsert([("1", "a river bank"), ("2", "a boat")])
        home.collection("faq").refit()
        mine, faq = home.models.open("mine"), home.collection("faq").encoder
        aliases = {"ada": "mine", "faq": "collection:faq", "gem-index-embeddings": "mine"}
        with TestClient(create_app(home, aliases=aliases)) as client:
            found = {
                each["id"]: each["fingerprint"] for each in client.get("/v1/models").json()["data"]
            }
            assert found.pop("gem-index") != mine.fingerprint
            assert found == {
                "mine": mine.fingerprint,
                "ada": mine.fingerprint,
                "gem-index-embeddings": mine.fingerprint,
                "collection:faq": faq.fingerprint,
                "faq": faq.fingerprint,
            }
            for name, encoder in (*dict.fromkeys(aliases, mine).items(), (faq.fingerprint, faq)):
                encoder = faq if name == "faq" else encoder
                answer = client.post("/v1/embeddings", json={"input": "a bank", "model": name})
                row = np.float32(answer.json()["data"][0]["embedding"])
                assert np.array_equal(row, encoder.encode(["a bank"])[0]), name
            unknown = client.get("/v1/models/zzzzzzzz").json()["error"]["message"]
            names = "ada, collection:faq, faq, gem-index, gem-index-embeddings, mine"
            assert unknown == (
                f"no model is named 'zzzzzzzz': existing names: {names}; GET /v1/models lists them"
            )
            home.models.remove("mine")
            listed = [each["id"] for each in client.get("/v1/models").json()["data"]]
            assert listed == ["gem-index", "collection:faq", "faq"]

    def test_a_name_is_looked_up_again_after_a_second(self, client, home, monkeypatch):
        now = [100.0]
        monkeypatch.setattr("gem_index.server.models.time.monotonic", lambda: now[0])
        home.models.fit("mine", ["renew a passport", "open a bank account"])
        assert client.get("/v1/models/mine").status_code == 200
        home.models.remove("mine")
        now[0] += 1.0
        assert client.get("/v1/models/mine").status_code == 200
        now[0] += 0.1
        assert client.get("/v1/models/mine").status_code == 404

    def test_a_model_is_asked_by_name_or_fingerprint(self, client, home):
        home.models.fit("mine", ["renew a passport", "open a bank account", "a river bank"])
        encoder = home.models.open("mine")
        expected = encoder.encode(["bank"])[0]
        for name in ("mine", encoder.fingerprint):
            row = client.post("/v1/embeddings", json={"input": "bank", "model": name}).json()
            assert np.array_equal(np.float32(row["data"][0]["embedding"]), expected)

    def test_a_name_follows_its_model(self, client, home, monkeypatch):
        faq = home.create_collection("faq")
        asked = {"input": "a river bank", "model": "collection:faq"}
        before = client.post("/v1/embeddings", json=asked).json()["data"]
        faq.upsert(
            [(str(i), text) for i, text in enumerate(["a river bank", "a boat", "some water"])]
        )
        faq.refit()
        monkeypatch.setattr(models, "_FRESH", 0.0)  # as after a second
        after = client.post("/v1/embeddings", json=asked).json()["data"]
        assert before != after
        expected = faq.encoder.encode(["a river bank"])[0]
        assert np.array_equal(np.float32(after[0]["embedding"]), expected)

    def test_an_unknown_one_is_404(self, client):
        answer = client.get("/v1/models/nope")
        assert answer.status_code == 404
        assert answer.json()["error"]["type"] == "not_found_error"
