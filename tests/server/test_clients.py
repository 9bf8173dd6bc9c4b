"""Clients that people have, against a server process: what they are told is what our encoder says."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np
import pytest

from gem_index import Home
from gem_index.gem.combined import Encoder
from server_process import ServerProcess

pytestmark = [
    pytest.mark.usefixtures("offline", "collected"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # clients leave connections open
]

TEXTS = ["renew a passport", "open a bank account", "", "?!", "naïve — 漢字 🦆"]
QUERY = "where do I renew my passport"
DOCUMENTS = ["open a bank account", "renew a passport", "a passport", "two ducks"]
READ_KEY, ADMIN_KEY = "read-key-of-the-tests", "admin-key-of-the-tests"


@pytest.fixture(scope="module")
def served_home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    home = Home(tmp_path_factory.mktemp("clients") / "home")
    home.models.fit(
        "mine", ["renew a passport", "open a bank account", "a river bank", "two ducks"]
    )
    faq = home.create_collection("faq")
    faq.upsert([(str(place), text) for place, text in enumerate(DOCUMENTS)])
    faq.refit()
    return home


@pytest.fixture(scope="module")
def served(served_home: Home) -> Iterator[ServerProcess]:
    """A server with a fitted model, a collection, and the name that `llm` asks for."""
    alias = "text-embedding-3-small=gem-index"
    with ServerProcess(served_home.root, "--alias", alias) as started:
        yield started


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server with keys, where no text may wait behind others."""
    folder = tmp_path_factory.mktemp("strict")
    keys = folder / "keys.txt"
    keys.write_text(f"{READ_KEY} read\n{ADMIN_KEY} admin\n")
    options = ("--key-file", str(keys))
    with ServerProcess(folder / "home", *options, GEM_INDEX_SERVER_WAITING="1") as started:
        yield started


@pytest.fixture(scope="module")
def encoder(served_home: Home, served: ServerProcess) -> Encoder:
    from gem_index import open_provider

    return open_provider(home=served_home).encoder


@pytest.fixture(scope="module")
def expected(encoder: Encoder) -> np.ndarray:
    return np.asarray(encoder.encode(TEXTS))


@pytest.fixture(scope="module")
def cosines(encoder: Encoder) -> dict[int, float]:
    """Cosines of the documents with the query by place, best first."""
    vectors = encoder.encode([QUERY, *DOCUMENTS])
    scores = vectors[1:] @ vectors[0]
    return {int(i): float(scores[i]) for i in np.argsort(-scores, kind="stable")}


def order(results) -> dict[int, float]:
    return {each.index: each.relevance_score for each in results}


class TestOpenAI:
    @pytest.fixture
    def client(self, served):
        import openai

        with openai.OpenAI(base_url=f"{served.url}/v1", api_key="none", max_retries=0) as client:
            yield client

    @pytest.mark.parametrize(
        "options", [{}, {"encoding_format": "float"}, {"encoding_format": "base64"}]
    )
    def test_vectors_are_the_encoders(self, client, expected, options):
        import base64

        answer = client.embeddings.create(input=TEXTS, model="gem-index", **options)
        rows = [each.embedding for each in answer.data]
        if (
            options.get("encoding_format") == "base64"
        ):  # asked for by hand, the client leaves it as it is
            rows = [np.frombuffer(base64.b64decode(row), "<f4") for row in rows]
        assert np.array_equal(np.array(rows, np.float32), expected)
        assert [each.index for each in answer.data] == list(range(len(TEXTS)))
        assert answer.model == "gem-index"
        assert answer.usage.prompt_tokens == answer.usage.total_tokens == 12

    def test_models_and_vectors_of_each(self, client, served_home):
        names = {each.id for each in client.models.list()}
        aliases = {"text-embedding-3-small", "gem-index-embeddings"}
        assert names == {"gem-index", "mine", "collection:faq"} | aliases
        encoders = {
            "mine": served_home.models.open("mine"),
            "collection:faq": served_home.collection("faq").encoder,
        }
        for name, encoder in encoders.items():
            assert client.models.retrieve(name).fingerprint == encoder.fingerprint
            [row] = client.embeddings.create(input=QUERY, model=name).data
            assert np.array_equal(np.float32(row.embedding), encoder.encode([QUERY])[0])

    def test_many_requests_at_once_get_each_its_own(self, served, encoder):
        import openai

        texts = [f"text {number} of a bank" for number in range(60)]

        async def ask():
            async with openai.AsyncOpenAI(base_url=f"{served.url}/v1", api_key="none") as client:
                create = client.embeddings.create
                asked = [create(input=[text], model="gem-index") for text in texts]
                return await asyncio.gather(*asked)

        found = [answer.data[0].embedding for answer in asyncio.run(ask())]
        assert np.array_equal(np.float32(found), encoder.encode(texts))

    def test_dimensions_up_to_those_of_the_model_are_accepted(self, client, expected):
        import openai

        dimension = expected.shape[1]
        asked = {"input": TEXTS, "model": "gem-index"}
        rows = client.embeddings.create(**asked, dimensions=dimension).data
        assert np.array_equal(np.float32([row.embedding for row in rows]), expected)
        with pytest.raises(openai.BadRequestError, match="dimensions is 257; expected at most 256"):
            client.embeddings.create(**asked, dimensions=257)

    @pytest.mark.parametrize(
        ("asked", "error", "status", "kind", "told"),
        [
            ({"model": "gpt"}, "NotFoundError", 404, "not_found_error", "no model is named 'gpt'"),
            (
                {"input": []},
                "BadRequestError",
                400,
                "invalid_request_error",
                "input is an empty list",
            ),
            ({"input": [[1, 2]]}, "BadRequestError", 400, "invalid_request_error", "tokens"),
            (
                {"encoding_format": "int8"},
                "BadRequestError",
                400,
                "invalid_request_error",
                "encoding_format",
            ),
            (
                {"input": ["a"] * 2049},
                "APIStatusError",
                413,
                "invalid_request_error",
                "found 2049 texts",
            ),
            (
                {"extra_headers": {"Host": "elsewhere.example"}},
                "PermissionDeniedError",
                403,
                "permission_error",
                "the header Host is 'elsewhere.example'",
            ),
        ],
    )
    def test_errors_are_the_clients_own(self, client, asked, error, status, kind, told):
        import openai

        with pytest.raises(getattr(openai, error)) as raised:
            client.embeddings.create(**{"input": "a", "model": "gem-index", **asked})
        assert raised.value.status_code == status
        assert told in raised.value.message
        assert raised.value.type == kind

    def test_an_unknown_model_and_an_unknown_route(self, client):
        import openai

        with pytest.raises(openai.NotFoundError, match="no model is named 'gpt'"):
            client.models.retrieve("gpt")
        with pytest.raises(openai.NotFoundError, match="expected a route of /openapi.json"):
            client.completions.create(model="gem-index", prompt="a")

    def test_keys(self, strict):
        import openai

        for key in ("wrong", "read-key", f"{READ_KEY}x"):
            client = openai.OpenAI(base_url=f"{strict.url}/v1", api_key=key, max_retries=0)
            with client, pytest.raises(openai.AuthenticationError, match="unknown key") as raised:
                client.embeddings.create(input="a", model="gem-index")
            assert raised.value.type == "authentication_error"
        with openai.OpenAI(base_url=f"{strict.url}/v1", api_key=READ_KEY) as client:
            assert len(client.embeddings.create(input="a", model="gem-index").data) == 1

    def test_a_full_queue_is_a_rate_limit_that_the_client_waits_for(self, strict):
        import openai

        with openai.OpenAI(base_url=f"{strict.url}/v1", api_key=READ_KEY, max_retries=0) as client:

            def ask():
                return client.embeddings.create(input="a", model="gem-index")

            for _ in range(5):  # the long request may end before the short one comes
                found = _Heavy(strict.url).meanwhile(ask, openai.RateLimitError)
                if found is not None:
                    break
            assert isinstance(found, openai.RateLimitError)
            assert found.type == "rate_limit_error"
            assert found.response.headers["Retry-After"] == "1"
            assert "try again in a second" in found.message


class _Heavy:
    """A request that keeps the encoder busy for a while."""

    def __init__(self, url: str) -> None:
        self._thread = threading.Thread(target=self._ask, args=(url,))
        self._thread.start()

    def _ask(self, url: str) -> None:
        text = "a river bank and an open account of money " * 20_000
        head = {"Authorization": f"Bearer {READ_KEY}"}
        httpx.post(f"{url}/v1/embeddings", json={"input": [text] * 16}, headers=head, timeout=60)

    def meanwhile(self, ask, error: type[Exception]) -> Exception | None:
        """Ask until it is refused or the long request ends; return the refusal."""
        try:
            while self._thread.is_alive():
                try:
                    ask()
                except error as refused:
                    return refused
                time.sleep(0.002)
            return None
        finally:
            self._thread.join()


class TestLangChain:
    def test_texts_as_they_are(self, served, expected):
        from langchain_openai import OpenAIEmbeddings

        embeddings = OpenAIEmbeddings(
            base_url=f"{served.url}/v1",
            api_key="none",
            model="gem-index",
            check_embedding_ctx_length=False,
        )
        assert np.array_equal(np.float32(embeddings.embed_documents(TEXTS)), expected)
        assert np.array_equal(np.float32(embeddings.embed_query(TEXTS[0])), expected[0])
        found = asyncio.run(embeddings.aembed_documents(TEXTS))
        assert np.array_equal(np.float32(found), expected)

    def test_tokens_of_another_model_are_refused_with_what_to_set(self, served, monkeypatch):
        import openai
        import tiktoken
        from langchain_openai import OpenAIEmbeddings

        bytes_alone = tiktoken.Encoding(  # its own would be downloaded
            "cl100k_base",
            pat_str=r".+",
            mergeable_ranks={bytes([each]): each for each in range(256)},
            special_tokens={},
        )
        monkeypatch.setitem(tiktoken.registry.ENCODINGS, "cl100k_base", bytes_alone)
        embeddings = OpenAIEmbeddings(
            base_url=f"{served.url}/v1", api_key="none", model="gem-index", max_retries=0
        )
        with pytest.raises(openai.BadRequestError, match="check_embedding_ctx_length=False"):
            embeddings.embed_documents(TEXTS[:2])


def test_llama_index(served, expected):
    import openai
    from llama_index.embeddings.openai_like import OpenAILikeEmbedding

    def model(**options):
        given = {"model_name": "gem-index", "api_base": f"{served.url}/v1", "api_key": "none"}
        return OpenAILikeEmbedding(**{**given, "max_retries": 0, **options})

    written = [text for text in TEXTS if text]  # it refuses an empty one itself
    rows = [place for place, text in enumerate(TEXTS) if text]
    embedding = model(embed_batch_size=2)
    assert np.array_equal(np.float32(embedding.get_text_embedding_batch(written)), expected[rows])
    assert np.array_equal(np.float32(embedding.get_query_embedding(TEXTS[0])), expected[0])
    found = asyncio.run(model(dimensions=256).aget_text_embedding_batch(written))
    assert np.array_equal(np.float32(found), expected[rows])
    with pytest.raises(openai.NotFoundError, match="no model is named 'gpt'"):
        model(model_name="gpt").get_text_embedding("a")


class TestHaystack:
    @pytest.fixture
    def options(self, served):
        from haystack.utils import Secret

        return {
            "api_key": Secret.from_token("none"),
            "api_base_url": f"{served.url}/v1",
            "model": "gem-index",
            "max_retries": 0,
        }

    def test_a_text(self, options, expected):
        from haystack.components.embedders import OpenAITextEmbedder

        answer = OpenAITextEmbedder(**options).run(TEXTS[0])
        assert np.array_equal(np.float32(answer["embedding"]), expected[0])
        assert answer["meta"]["usage"] == {"prompt_tokens": 3, "total_tokens": 3}

    def test_documents_with_their_metadata(self, options, encoder):
        from haystack import Document
        from haystack.components.embedders import OpenAIDocumentEmbedder

        embedder = OpenAIDocumentEmbedder(
            **options, batch_size=2, meta_fields_to_embed=["title"], progress_bar=False
        )
        documents = [Document(content=text, meta={"title": f"title {text}"}) for text in DOCUMENTS]
        found = np.float32([each.embedding for each in embedder.run(documents)["documents"]])
        assert np.array_equal(
            found, encoder.encode([f"title {text}\n{text}" for text in DOCUMENTS])
        )

    def test_an_unknown_model(self, options):
        import openai
        from haystack import Document
        from haystack.components.embedders import OpenAIDocumentEmbedder, OpenAITextEmbedder

        options["model"] = "gpt"
        with pytest.raises(openai.NotFoundError, match="no model is named 'gpt'"):
            OpenAITextEmbedder(**options).run("a")
        embedder = OpenAIDocumentEmbedder(**options, progress_bar=False, raise_on_failure=True)
        with pytest.raises(openai.NotFoundError, match="no model is named 'gpt'"):
            embedder.run([Document(content="a")])


class TestHuggingFace:
    @pytest.fixture(params=["base_url", "model"])
    def client(self, request, served):
        from huggingface_hub import InferenceClient

        return InferenceClient(**{request.param: served.url})

    def test_vectors_are_the_encoders(self, client, expected):
        assert np.array_equal(client.feature_extraction(TEXTS).astype(np.float32), expected)
        one = client.feature_extraction(TEXTS[0], normalize=True, truncate=True)
        assert np.array_equal(one.astype(np.float32), expected[:1])

    def test_similarities_are_cosines(self, client, cosines):
        found = client.sentence_similarity(QUERY, other_sentences=DOCUMENTS)
        assert found == pytest.approx([cosines[place] for place in range(len(DOCUMENTS))], abs=1e-6)

    def test_fewer_dimensions_are_cut_and_more_refused(self, client, expected):
        from huggingface_hub.errors import HfHubHTTPError

        found = client.feature_extraction(TEXTS, dimensions=256)
        assert np.array_equal(found.astype(np.float32), expected)
        assert client.feature_extraction("a", dimensions=64).shape == (1, 64)
        with pytest.raises(
            HfHubHTTPError, match="dimensions is 512; expected at most 256"
        ) as raised:
            client.feature_extraction("a", dimensions=512)
        assert raised.value.response.status_code == 400

    def test_errors(self, client, strict):
        from huggingface_hub import InferenceClient
        from huggingface_hub.errors import HfHubHTTPError

        with pytest.raises(
            HfHubHTTPError, match="found 2049 texts; expected at most 2048"
        ) as raised:
            client.feature_extraction(["a"] * 2049)
        assert raised.value.response.status_code == 413
        with pytest.raises(HfHubHTTPError, match="unknown key") as raised:
            InferenceClient(base_url=strict.url, api_key="wrong").feature_extraction("a")
        assert raised.value.response.status_code == 401
        answer = InferenceClient(base_url=strict.url, api_key=READ_KEY).feature_extraction("a")
        assert answer.shape == (1, 256)

    def test_async(self, served, expected):
        from huggingface_hub import AsyncInferenceClient

        async def ask():
            async with AsyncInferenceClient(model=served.url) as client:
                return await client.feature_extraction(TEXTS)

        assert np.array_equal(asyncio.run(ask()).astype(np.float32), expected)


class TestCohere:
    @pytest.fixture(params=["Client", "ClientV2"])
    def connect(self, request):
        import cohere

        return lambda server, key="none": getattr(cohere, request.param)(key, base_url=server.url)

    def test_documents_are_ordered_by_cosine(self, connect, served, cosines):
        client = connect(served)
        answer = client.rerank(model="gem-index", query=QUERY, documents=DOCUMENTS)
        assert list(order(answer.results)) == list(cosines)
        assert order(answer.results) == pytest.approx(cosines, abs=1e-6)
        few = client.rerank(model="gem-index", query=QUERY, documents=DOCUMENTS, top_n=2)
        assert [each.index for each in few.results] == list(cosines)[:2]

    def test_a_collections_model(self, connect, served, served_home):
        client, encoder = connect(served), served_home.collection("faq").encoder
        answer = client.rerank(model="collection:faq", query=QUERY, documents=DOCUMENTS)
        vectors = encoder.encode([QUERY, *DOCUMENTS])
        found = order(answer.results)
        assert [found[place] for place in range(4)] == pytest.approx(
            vectors[1:] @ vectors[0], abs=1e-6
        )

    def test_async(self, served, cosines):
        import cohere

        async def ask():
            async with cohere.AsyncClientV2("none", base_url=served.url) as client:
                return await client.rerank(model="gem-index", query=QUERY, documents=DOCUMENTS)

        assert list(order(asyncio.run(ask()).results)) == list(cosines)

    @pytest.mark.parametrize(
        ("asked", "error", "told"),
        [
            ({"model": "gpt"}, "NotFoundError", "no model is named 'gpt'"),
            ({"documents": []}, "BadRequestError", "empty list of documents"),
            ({"top_n": 0}, "UnprocessableEntityError", "top_n"),
        ],
    )
    def test_errors_are_the_clients_own(self, connect, served, asked, error, told):
        import cohere

        with pytest.raises(getattr(cohere, error)) as raised:
            connect(served).rerank(
                **{"model": "gem-index", "query": "a", "documents": ["b"], **asked}
            )
        assert told in raised.value.body["message"]

    def test_keys(self, connect, strict):
        import cohere

        asked = {"model": "gem-index", "query": "a", "documents": ["b"]}
        with pytest.raises(cohere.UnauthorizedError) as raised:
            connect(strict, "wrong").rerank(**asked)
        assert "unknown key" in raised.value.body["message"]
        assert len(connect(strict, READ_KEY).rerank(**asked).results) == 1


# the older client uses what pydantic has deprecated
@pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecationWarning")
@pytest.mark.parametrize("kind", ["Client", "ClientV2"])
def test_cohere_embeds(served, kind):
    import cohere

    client = getattr(cohere, kind)("none", base_url=served.url)
    asked = {"model": "gem-index", "texts": DOCUMENTS, "input_type": "search_document"}
    answer = client.embed(**asked, embedding_types=["float"])
    rows = httpx.post(f"{served.url}/embed", json={"inputs": DOCUMENTS}).json()
    np.testing.assert_allclose(answer.embeddings.float_, rows, atol=1e-6)
    with pytest.raises(cohere.BadRequestError) as raised:
        client.embed(**asked, embedding_types=["int8"])
    assert "embedding_types has 'int8'" in raised.value.body["message"]


def test_azure_openai(served):
    from openai import AzureOpenAI

    client = AzureOpenAI(azure_endpoint=served.url, api_key="none", api_version="2024-10-21")
    answer = client.embeddings.create(model="gem-index", input=DOCUMENTS, dimensions=64)
    assert [len(each.embedding) for each in answer.data] == [64] * 4


class TestOllama:
    def test_embed(self, served):
        import ollama

        client = ollama.Client(host=served.url)
        rows = httpx.post(f"{served.url}/embed", json={"inputs": DOCUMENTS}).json()
        found = client.embed(model="gem-index", input=DOCUMENTS)
        np.testing.assert_allclose(found.embeddings, rows, atol=1e-6)
        one = client.embeddings(model="gem-index", prompt=DOCUMENTS[0])
        np.testing.assert_allclose(one.embedding, rows[0], atol=1e-6)
        assert "gem-index" in [each.model for each in client.list().models]

    def test_errors_are_the_clients_own(self, served):
        import ollama

        with pytest.raises(ollama.ResponseError, match="no model is named 'llama'") as raised:
            ollama.Client(host=served.url).embed(model="llama", input="a")
        assert raised.value.status_code == 404


def test_cohere_documents_with_fields(served, cosines):
    import cohere

    client = cohere.Client("none", base_url=served.url)
    documents = [{"title": text, "n": "7"} for text in DOCUMENTS]
    answer = client.rerank(
        query=QUERY,
        documents=documents,
        rank_fields=["title"],
        return_documents=True,
        model="gem-index",
    )
    assert list(order(answer.results)) == list(cosines)
    assert [each.document.text for each in answer.results] == [
        DOCUMENTS[place] for place in cosines
    ]


class TestLlm:
    @pytest.fixture
    def environment(self, served, tmp_path):
        return {
            "OPENAI_BASE_URL": f"{served.url}/v1",
            "OPENAI_API_KEY": "none",
            "LLM_USER_PATH": str(tmp_path / "llm"),
            "HTTPS_PROXY": "http://127.0.0.1:9",  # nothing listens there
        }

    def run(self, environment: dict[str, str], *arguments: str) -> str:
        return subprocess.run(
            [sys.executable, "-m", "llm", *arguments],
            env={**os.environ, **environment},
            check=True,
            capture_output=True,
            text=True,
            timeout=60,
        ).stdout

    def test_commands(self, environment, tmp_path: Path, expected, encoder):
        import sqlite_utils

        printed = json.loads(self.run(environment, "embed", "-m", "3-small", "-c", TEXTS[0]))
        assert np.array_equal(np.float32(printed), expected[0])
        (tmp_path / "texts.csv").write_text("id,text\n" + "".join(f"{t},{t}\n" for t in DOCUMENTS))
        database = tmp_path / "embeddings.db"
        options = ("-m", "3-small", "-d", str(database), "--store")
        self.run(environment, "embed-multi", "faq", str(tmp_path / "texts.csv"), *options)
        rows = {row["id"]: row for row in sqlite_utils.Database(database)["embeddings"].rows}
        assert {name: row["content"] for name, row in rows.items()} == {t: t for t in DOCUMENTS}
        found = np.stack([np.frombuffer(rows[text]["embedding"], "<f4") for text in DOCUMENTS])
        assert np.array_equal(found, encoder.encode(DOCUMENTS))

    def test_a_collection_in_python(self, environment, monkeypatch, cosines):
        import openai

        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        import llm
        import sqlite_utils

        collection = llm.Collection("faq", sqlite_utils.Database(memory=True), model_id="3-small")
        collection.embed_multi([(str(place), text) for place, text in enumerate(DOCUMENTS)])
        hits = collection.similar(QUERY, number=4)
        assert {int(hit.id): hit.score for hit in hits} == pytest.approx(cosines, abs=1e-5)
        with pytest.raises(
            openai.NotFoundError, match="no model is named 'text-embedding-3-large'"
        ):
            llm.get_embedding_model("3-large").embed("a")
        with pytest.raises(openai.BadRequestError, match="dimensions is 512; expected at most 256"):
            llm.get_embedding_model("3-small-512").embed("a")


class TestPlainRequests:
    """Interfaces whose clients are plain HTTP: Jina's and TEI's."""

    def test_jina(self, served, cosines):
        asked = {
            "model": "gem-index",
            "query": QUERY,
            "documents": [{"text": text} for text in DOCUMENTS],
            "top_n": 3,
            "return_documents": True,
        }
        body = httpx.post(f"{served.url}/v1/rerank", json=asked, timeout=60).json()
        assert [each["index"] for each in body["results"]] == list(cosines)[:3]
        assert body["results"][0]["document"] == {"text": DOCUMENTS[next(iter(cosines))]}
        assert body["usage"] == {"total_tokens": 17}
        refused = httpx.post(f"{served.url}/v1/rerank", json={**asked, "model": "gpt"}, timeout=60)
        assert refused.status_code == 404
        assert "no model is named 'gpt'" in refused.json()["detail"]

    def test_tei(self, served, encoder, expected, cosines):
        with httpx.Client(base_url=served.url, timeout=60) as client:
            asked = {"inputs": TEXTS, "normalize": True, "truncate": False}
            found = np.float32(client.post("/embed", json=asked).json())
            assert np.array_equal(found, expected)
            one = client.post("/embed", json={"inputs": TEXTS[0]}).json()
            assert np.array_equal(np.float32(one), expected[:1])
            asked = {"query": QUERY, "texts": DOCUMENTS, "raw_scores": False, "return_text": True}
            for path in ("/rerank", "/"):
                rows = client.post(path, json=asked).json()
                assert {row["index"]: row["score"] for row in rows} == pytest.approx(
                    cosines, abs=1e-6
                )
                assert [row["index"] for row in rows] == list(cosines)
                assert [row["text"] for row in rows] == [DOCUMENTS[place] for place in cosines]
            inputs = {"source_sentence": QUERY, "sentences": DOCUMENTS}
            scores = client.post("/similarity", json={"inputs": inputs}).json()
            assert dict(enumerate(scores)) == pytest.approx(cosines, abs=1e-6)
            info = client.get("/info").json()
            assert info["model_sha"] == encoder.fingerprint
            assert info["max_client_batch_size"] == 2048
