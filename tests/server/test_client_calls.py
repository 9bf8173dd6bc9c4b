"""Calls of clients and databases, replayed from their own code or documentation, where no client of theirs is installed."""

from __future__ import annotations

import base64

import numpy as np
import pytest
from fastapi.testclient import TestClient

from gem_index import Home, open_provider
from gem_index.server.app import create_app

TEXTS = ["renew a passport", "a bank account"]


@pytest.fixture
def expected(client):
    """The vectors of TEXTS."""
    return np.array(client.post("/embed", json={"inputs": TEXTS}).json())


class TestPaths:
    @pytest.mark.parametrize(
        "path",
        [
            "/embeddings",
            "/v1/embeddings/",
            "//v1/embeddings",
            "/openai/deployments/gem-index/embeddings?api-version=2024-10-21",
            "/openai/v1/embeddings",
            "/api/v1/embeddings",
        ],
    )
    def test_embeddings_by_other_paths(self, client, expected, path):
        answer = client.post(path, json={"input": TEXTS})
        assert answer.status_code == 200
        rows = [each["embedding"] for each in answer.json()["data"]]
        np.testing.assert_allclose(rows, expected, atol=1e-6)
        assert answer.json()["model"] == "gem-index"

    def test_the_deployment_is_the_model(self, client):
        answer = client.post("/openai/deployments/other/embeddings", json={"input": "a"})
        assert answer.status_code == 404
        assert "no model is named 'other'" in answer.json()["error"]["message"]

    @pytest.mark.parametrize(
        "path",
        ["/models", "/v1/models/", "/v1", "/v1/", "/openai/v1/models", "/api/v1/models", "///v1//"],
    )
    def test_models_by_other_paths(self, client, path):
        assert client.get(path).json() == client.get("/v1/models").json()

    @pytest.mark.parametrize("path", ["/", "/health", "/v1", "/v1/models", "/api/tags", "/info"])
    def test_head_where_get_works(self, client, path):
        answer = client.head(path)
        assert answer.status_code == 200
        assert not answer.content
        assert client.get(path).headers["content-type"] == answer.headers["content-type"]

    def test_head_and_slashes_elsewhere(self, client):
        client.post("/collections/", json={"name": "faq"})
        row = {"id": "a/", "text": "a bank"}
        client.put("/collections/faq/documents/", json={"documents": [row]})
        assert client.get("/collections/faq/documents/a/").json()["id"] == "a/"
        assert client.get("/collections/faq/documents/a").status_code == 404
        assert client.head("/v1/embeddings").status_code == 405

    def test_a_near_path_is_named(self, client):
        for path, near in (
            ("/v1/embedding", "/v1/embeddings"),
            ("/v2/reranks", "/v2/rerank"),
            ("/api/embedings", "/api/embeddings"),
        ):
            answer = client.post(path, json={})
            assert answer.status_code == 404
            assert f"did you mean {near}?" in answer.text
        assert "expected a route of /openapi.json" in client.get("/zzz").text

    def test_azure_sends_the_key_in_its_own_header(self, home):
        key = home.keys.add("shop", "read")
        with TestClient(create_app(home)) as client:
            path = "/openai/deployments/gem-index/embeddings?api-version=2024-10-21"
            for name, value, status in (("api-key", key, 200), ("api-key", "wrong", 401)):
                answer = client.post(path, json={"input": "a"}, headers={name: value})
                assert answer.status_code == status


class TestFields:
    def test_jina_sends_objects(self, client, expected):
        body = {"model": "gem-index", "input": [{"text": text} for text in TEXTS]}
        rows = [
            each["embedding"] for each in client.post("/v1/embeddings", json=body).json()["data"]
        ]
        np.testing.assert_allclose(rows, expected, atol=1e-6)

    def test_fewer_dimensions_are_cut_and_have_unit_length(self, client, expected):
        cut = expected[:, :64] / np.linalg.norm(expected[:, :64], axis=1, keepdims=True)
        for path, body, found in (
            ("/v1/embeddings", {"input": TEXTS, "dimensions": 64}, "data"),
            ("/embed", {"inputs": TEXTS, "dimensions": 64}, None),
            ("/api/embed", {"input": TEXTS, "dimensions": 64}, "embeddings"),
            ("/v2/embed", {"texts": TEXTS, "output_dimension": 64}, "embeddings"),
        ):
            answer = client.post(path, json=body).json()
            rows = answer if found is None else answer[found]
            rows = rows["float"] if isinstance(rows, dict) else rows
            rows = [each["embedding"] if isinstance(each, dict) else each for each in rows]
            np.testing.assert_allclose(rows, cut, atol=1e-6, err_msg=path)
        zero = client.post("/embed", json={"inputs": "?", "dimensions": 8}).json()
        assert zero == [[0.0] * 8]

    def test_more_dimensions_are_refused(self, client):
        answer = client.post("/v1/embeddings", json={"input": "a", "dimensions": 257})
        told = "dimensions is 257; expected at most 256, which the model 'gem-index' has"
        assert answer.status_code == 400
        assert answer.json()["error"]["message"] == told

    def test_voyage_names_top_k(self, client):
        body = {"query": "a passport", "documents": TEXTS, "top_k": 1, "model": "gem-index"}
        assert [
            each["index"] for each in client.post("/v1/rerank", json=body).json()["results"]
        ] == [0]

    def test_infinity_and_jina_re_rank_without_a_version(self, client):
        body = {"query": "a passport", "documents": TEXTS, "model": "gem-index"}
        answer = client.post("/rerank", json=body | {"return_documents": True}).json()
        assert answer["results"][0]["document"] == {"text": TEXTS[0]}
        assert (
            client.post("/rerank", json={"query": "a passport", "texts": TEXTS}).json()[0]["index"]
            == 0
        )

    def test_vectors_that_are_not_normalized_are_refused(self, client):
        answer = client.post("/embed", json={"inputs": "a", "normalize": False})
        assert answer.status_code == 400
        assert (
            answer.json()["error"]
            == "normalize is false; expected true: all vectors have unit length"
        )
        assert client.post("/embed", json={"inputs": "a", "normalize": True}).status_code == 200


class TestCohere:
    def test_both_versions(self, client, expected):
        body = {"texts": TEXTS, "model": "gem-index", "input_type": "search_document"}
        np.testing.assert_allclose(
            client.post("/v1/embed", json=body).json()["embeddings"], expected, atol=1e-6
        )
        types = ["float", "base64"]
        answer = client.post("/v2/embed", json=body | {"embedding_types": types}).json()
        assert sorted(answer["embeddings"]) == sorted(types)
        assert answer["response_type"] == "embeddings_by_type"

    def test_errors_have_its_form(self, client):
        answer = client.post("/v2/embed", json={"texts": ["a"], "embedding_types": ["int8"]})
        assert answer.status_code == 400
        assert answer.json()["message"].startswith("embedding_types has 'int8'; expected float")
        assert client.get("/v2/embed").json()["message"].startswith("found 'GET /v2/embed'")


class TestOllama:
    def test_its_routes(self, client, home, expected):
        answer = client.post("/api/embed", json={"model": "gem-index", "input": TEXTS}).json()
        np.testing.assert_allclose(answer["embeddings"], expected, atol=1e-6)
        one = client.post("/api/embeddings", json={"model": "gem-index", "prompt": TEXTS[0]}).json()
        np.testing.assert_allclose(one["embedding"], expected[0], atol=1e-6)
        [default, *_] = client.get("/api/tags").json()["models"]
        assert (default["name"], default["model"]) == ("gem-index", "gem-index")
        assert default["digest"] == open_provider(home=home).encoder.fingerprint
        assert client.get("/api/version").json()["version"]

    def test_errors_have_its_form(self, client):
        answer = client.post("/api/embed", json={"model": "llama", "input": "a"})
        assert answer.status_code == 404
        assert answer.json()["error"].startswith("no model is named 'llama'")
        assert isinstance(client.get("/api/nope").json()["error"], str)


class TestDatabases:
    def test_weaviate_text2vec_transformers(self, client, expected):
        """The requests of modules/text2vec-transformers/clients of Weaviate."""
        assert client.get("/.well-known/ready").status_code == 204
        assert client.get("/meta").json()["model_name"] == "gem-index"
        body = {
            "text": TEXTS[0],
            "dims": 0,
            "vector": None,
            "error": "",
            "config": {"pooling_strategy": "masked_mean"},
        }
        answer = client.post("/vectors", json=body).json()
        np.testing.assert_allclose(answer["vector"], expected[0], atol=1e-6)
        assert answer["dim"] == 256
        assert isinstance(client.post("/vectors", json={}).json()["error"], str)

    def test_weaviate_text2vec_ollama(self, client, expected):
        answer = client.post("/api/embed", json={"model": "gem-index", "input": TEXTS}).json()
        assert len(answer["embeddings"]) == 2

    @pytest.mark.parametrize(
        "fields",
        [
            # Meilisearch: the template of the how-to, source rest; Typesense, OpenAIEmbedder::embed_documents; OpenSearch,
            # docs/remote_inference_blueprints/openai_connector_embedding_blueprint.md
            {"input": TEXTS, "model": "gem-index"},
            # Elasticsearch, the service custom: ${input} is a list
            {"input": TEXTS},
            # Chroma and LanceDB by the client of OpenAI; LanceDB with its number of dimensions
            {"input": TEXTS, "model": "gem-index", "encoding_format": "float", "dimensions": 256},
        ],
    )
    def test_those_that_read_lists_of_numbers(self, client, expected, fields):
        """Each reads data[*].embedding."""
        answer = client.post("/v1/embeddings", json=fields, headers={"Authorization": "Bearer x"})
        rows = [each["embedding"] for each in answer.json()["data"]]
        np.testing.assert_allclose(rows, expected, atol=1e-6)

    def test_typesense_looks_for_the_model_first(self, client, expected):
        """OpenAIEmbedder::is_model_valid: a list of models, then the vector of one word."""
        models = [each["id"] for each in client.get("/v1/models").json()["data"]]
        assert "gem-index" in models
        body = {"input": "typesense", "model": "gem-index"}
        assert len(client.post("//v1/embeddings", json=body).json()["data"][0]["embedding"]) == 256
        wrong = client.post("/v1/embeddings", json=body | {"model": "nope"})
        assert wrong.json()["error"]["message"].startswith("no model is named 'nope'")

    def test_vespa_reads_base64(self, client, expected):
        """OpenAIEmbedder.EmbeddingRequest and toTensors: sorted by index, little-endian float32."""
        body = {
            "input": TEXTS,
            "model": "gem-index",
            "dimensions": 256,
            "encoding_format": "base64",
        }
        answer = client.post("/v1/embeddings", json=body).json()
        rows = sorted(answer["data"], key=lambda each: each["index"])
        found = [np.frombuffer(base64.b64decode(each["embedding"]), "<f4") for each in rows]
        np.testing.assert_allclose(found, expected, atol=1e-6)
        assert answer["usage"]["total_tokens"] == 6

    @pytest.mark.parametrize("options", [{}, {"options": {"num_ctx": 2048}, "keep_alive": "5m"}])
    def test_pgai_embeds_one_text_by_ollama(self, client, expected, options):
        """ai.ollama_embed: client.embeddings of a text."""
        for text, vector in zip(TEXTS, expected, strict=True):
            body = {"model": "gem-index", "prompt": text, **options}
            answer = client.post("/api/embeddings", json=body).json()
            np.testing.assert_allclose(answer["embedding"], vector, atol=1e-6)

    @pytest.mark.parametrize("options", [{}, {"truncate": True, "keep_alive": "5m"}])
    def test_chroma_lancedb_and_pgais_vectorizer_embed_several_by_ollama(
        self, client, expected, options
    ):
        """Their functions for Ollama and ai.embedding_ollama: client.embed of all texts."""
        body = {"model": "gem-index", "input": TEXTS, **options}
        answer = client.post("/api/embed", json=body).json()
        np.testing.assert_allclose(answer["embeddings"], expected, atol=1e-6)

    @pytest.mark.parametrize(
        ("path", "body", "place"),
        [
            ("/v1/embeddings", {"input": TEXTS}, "usage.prompt_tokens"),
            ("/api/embed", {"input": TEXTS}, "prompt_eval_count"),
            ("/v1/embed", {"texts": TEXTS}, "meta.billed_units.input_tokens"),
            ("/v2/embed", {"texts": TEXTS}, "meta.billed_units.input_tokens"),
            ("/v1/rerank", {"query": TEXTS[0], "documents": TEXTS[1:]}, "usage.total_tokens"),
        ],
    )
    def test_tokens_are_words_at_each_interface(self, client, path, body, place):
        found = client.post(path, json=body).json()
        for name in place.split("."):
            found = found[name]
        assert found == 6

    def test_chromas_server_of_hugging_face(self, client, expected):
        """HuggingFaceEmbeddingServer posts to the URL that it is given."""
        answer = client.post("/embed", json={"inputs": TEXTS}).json()
        np.testing.assert_allclose(answer, expected, atol=1e-6)


@pytest.fixture
def faq(home: Home):
    collection = home.create_collection("faq")
    collection.upsert(
        [
            ("1", "How do I renew a passport?", {"title": "Passports", "year": 2020}),
            ("2", "Where can I open a bank account?", {"year": 2024}),
        ]
    )
    return collection


class TestKnowledge:
    def test_a_vector_store_of_openai(self, faq, client):
        path = "/v1/vector_stores/faq/search"
        answer = client.post(path, json={"query": "passport", "max_num_results": 1}).json()
        assert answer["object"] == "vector_store.search_results.page"
        [found] = answer["data"]
        assert (found["file_id"], found["filename"]) == ("1", "Passports")
        assert found["content"] == [{"type": "text", "text": "How do I renew a passport?"}]
        after = {"type": "gte", "key": "year", "value": 2021}
        both = {"type": "and", "filters": [after, {"type": "eq", "key": "year", "value": 2024}]}
        for filters in (after, both):
            answer = client.post(path, json={"query": "passport", "filters": filters}).json()
            assert [each["file_id"] for each in answer["data"]] == ["2"]
        wrong = client.post(path, json={"query": "passport", "filters": {"year": 2024}})
        assert wrong.status_code == 400
        assert wrong.json()["error"]["message"].startswith("filters is not a filter of OpenAI")

    def test_external_knowledge_of_dify(self, faq, client):
        body = {
            "knowledge_id": "faq",
            "query": "renew a passport",
            "retrieval_setting": {"top_k": 2, "score_threshold": 0.4},
        }
        [record] = client.post("/retrieval", json=body).json()["records"]
        assert record["title"] == "Passports"
        assert record["content"] == "How do I renew a passport?"
        assert record["metadata"] == {"title": "Passports", "year": 2020, "document_id": "1"}
        missing = client.post("/retrieval", json=body | {"knowledge_id": "nope"})
        assert missing.status_code == 404
        assert missing.json()["error_code"] == 2001
        assert missing.json()["error_msg"].startswith("no collection is named 'nope'")
