"""GemEmbeddingFunction in Chroma: values, what a collection records, another process, other encoders."""

from __future__ import annotations

import json
from pathlib import Path

import chromadb
import numpy as np
import pytest
from chromadb.utils.embedding_functions import known_embedding_functions
from gem_index_chroma import GemEmbeddingFunction, open_collection

from calls import embed, embed_query
from gem_index import Document, Home, open_provider
from gem_index.errors import ConfigError, FingerprintMismatchError, InputError
from gem_index.testing import EmbeddingProviderContract, fit_model, run_python

TEXTS = {
    "visa": "how do I renew a visa?",
    "bank": "where can I open a bank account?",
    "school": "is the school open today?",
    "none": "?!",
}
QUERY = "renewing my visa"
SECOND = """
import json, sys
import chromadb
if sys.argv[2] == "import":
    import gem_index_chroma
found = chromadb.PersistentClient(sys.argv[1]).get_collection("faq").query(query_texts=[sys.argv[3]])
print(json.dumps([found["ids"][0], found["distances"][0]]))
"""


@pytest.fixture
def folder(tmp_path: Path) -> str:
    return str(tmp_path / "chroma")


@pytest.fixture
def faq():
    """A fitted collection in the default home."""
    home = Home()
    home.build("faq", [Document(id=name, text=text) for name, text in TEXTS.items()])
    return home.collection("faq")


def second(folder: str, query: str = QUERY, status: int = 0, imports: str = "import"):
    return run_python("-c", SECOND, folder, imports, query, status=status)


def last_line(run) -> str:
    return run.stderr.strip().splitlines()[-1]


class TestGemEmbeddingFunction(EmbeddingProviderContract):
    """The contract; saved as Chroma saves it."""

    embed = staticmethod(embed)
    embed_query = staticmethod(embed_query)

    def make(self, **choice):
        return GemEmbeddingFunction(**choice)

    def save(self, adapter):
        return json.dumps(adapter.get_config())

    def load(self, saved):
        return known_embedding_functions["gem-index"].build_from_config(json.loads(saved))


class TestInChroma:
    def test_a_collection_of_its_own(self, folder: str) -> None:
        client = chromadb.PersistentClient(folder)
        collection = client.create_collection("faq", embedding_function=GemEmbeddingFunction())
        collection.add(list(TEXTS), documents=list(TEXTS.values()))
        assert collection.configuration_json["hnsw"]["space"] == "cosine"
        found = collection.query(query_texts=[QUERY, "?!"], n_results=4)
        vectors = open_provider().embed_documents([QUERY, *TEXTS.values()])
        scores = dict(zip(TEXTS, vectors[1:] @ vectors[0], strict=True))
        assert found["ids"][0] == sorted(scores, key=lambda name: -scores[name])
        np.testing.assert_allclose(
            found["distances"][0], [1 - scores[name] for name in found["ids"][0]], atol=1e-5
        )
        assert found["distances"][1] == [1, 1, 1, 1]
        assert open_collection(client, "faq").count() == 4
        client.close()
        [ids, distances] = json.loads(second(folder).stdout)
        assert ids == found["ids"][0]
        np.testing.assert_allclose(distances, found["distances"][0], atol=1e-6)

    def test_a_space_in_which_wordless_texts_come_first(self, folder: str) -> None:
        client = chromadb.PersistentClient(folder)
        with pytest.warns(UserWarning, match="space l2 is not supported by gem-index"):
            client.create_collection(
                "faq",
                configuration={"hnsw": {"space": "l2"}},
                embedding_function=GemEmbeddingFunction(),
            )
        client.close()

    def test_the_config_is_json_and_holds_the_fingerprint(self, tmp_path: Path) -> None:
        path = tmp_path / "model.safetensors"
        encoder = fit_model(path, list(TEXTS.values()))
        config = GemEmbeddingFunction(model=path).get_config()
        assert json.loads(json.dumps(config)) == config
        assert config == open_provider(model=path).settings
        assert config["fingerprint"] == encoder.fingerprint

    def test_a_collection_is_not_given_another_encoder(self, folder: str, tmp_path: Path) -> None:
        fit_model(tmp_path / "model.safetensors", list(TEXTS.values()))
        one, other = (
            GemEmbeddingFunction(),
            GemEmbeddingFunction(model=tmp_path / "model.safetensors"),
        )
        one.validate_config_update(one.get_config(), one.get_config())
        with pytest.raises(FingerprintMismatchError, match=other.fingerprint[:12]):
            one.validate_config_update(one.get_config(), other.get_config())


class TestPushed:
    def test_in_a_second_process(self, faq, folder: str) -> None:
        faq.push(f"chroma://{folder}?collection=faq")
        [ids, distances] = json.loads(second(folder).stdout)
        hits = {hit.id: hit.score for hit in faq.search(QUERY, 4, mode="dense")}
        assert ids[0] == "visa"
        scores = dict(zip(ids, [1 - distance for distance in distances], strict=True))
        assert scores == pytest.approx({**hits, "none": 0}, abs=1e-5)

    def test_without_the_import(self, faq, folder: str) -> None:
        faq.push(f"chroma://{folder}?collection=faq")
        refused = second(folder, status=1, imports="nothing")
        assert "Embedding function gem-index not found" in last_line(refused)
        program = (
            "import sys, chromadb\n"
            "collection = chromadb.PersistentClient(sys.argv[1]).get_collection('faq')\n"
            "vector = collection.get(['visa'], include=['embeddings'])['embeddings']\n"
            "print(collection.query(query_embeddings=vector, n_results=1)['ids'])\n"
        )
        assert run_python("-c", program, folder).stdout == "[['visa']]\n"

    def test_a_refit_that_was_not_pushed(self, faq, folder: str) -> None:
        old = faq.encoder.fingerprint
        faq.push(f"chroma://{folder}?collection=faq")
        faq.upsert([Document(id="tea", text="where is the tea?")])
        faq.refit()
        refused = last_line(second(folder, status=1))
        assert f"found no encoder {old[:12]} in the home" in refused
        assert f"faq {faq.encoder.fingerprint[:12]}; expected" in refused
        faq.push(f"chroma://{folder}?collection=faq")
        [ids, distances] = json.loads(second(folder, "where is the tea?").stdout)
        assert (ids[0], distances[0]) == ("tea", pytest.approx(0, abs=1e-5))

    def test_a_named_model_of_the_home(self, folder: str) -> None:
        Home().models.fit("mine", list(TEXTS.values()))
        expected = open_provider(model="mine")
        function = GemEmbeddingFunction(fingerprint=expected.fingerprint)
        np.testing.assert_array_equal(function([QUERY])[0], expected.embed_query(QUERY))
        assert function.get_config() == {"fingerprint": expected.fingerprint}

    def test_the_bundled_vectors_need_no_home(self) -> None:
        expected = open_provider()
        function = GemEmbeddingFunction(fingerprint=expected.fingerprint)
        np.testing.assert_array_equal(function([QUERY])[0], expected.embed_query(QUERY))

    def test_an_encoder_that_is_nowhere(self, tmp_path: Path) -> None:
        with pytest.raises(
            ConfigError, match="found no encoder ffffffffffff .*; there are no encoders"
        ):
            GemEmbeddingFunction(fingerprint="f" * 64)([QUERY])
        with pytest.raises(InputError, match="there is no home in"):
            GemEmbeddingFunction(fingerprint="f" * 64, home=tmp_path / "missing")([QUERY])
        assert not (tmp_path / "missing").exists()


class TestOpenCollection:
    @pytest.fixture
    def elsewhere(self, tmp_path: Path) -> Home:
        """A home that is not the default one, with two collections."""
        home = Home(tmp_path / "elsewhere")
        for name, texts in (("faq", list(TEXTS.values())), ("other", ["a river", "the tea"])):
            home.build(name, [Document(id=str(i), text=text) for i, text in enumerate(texts)])
        return home

    def test_an_encoder_in_another_home(self, elsewhere: Home, folder: str) -> None:
        elsewhere.collection("faq").push(f"chroma://{folder}?collection=faq")
        client = chromadb.PersistentClient(folder)
        with pytest.raises(ConfigError, match="found no encoder"):
            open_collection(client, "faq")
        function = GemEmbeddingFunction(collection="faq", home=elsewhere)
        collection = open_collection(client, "faq", function)
        assert collection.query(query_texts=[QUERY], n_results=1)["ids"] == [["0"]]
        client.close()

    def test_an_encoder_in_the_default_home(self, faq, folder: str) -> None:
        faq.push(f"chroma://{folder}?collection=faq")
        client = chromadb.PersistentClient(folder)
        found = open_collection(client, "faq").query(query_texts=[QUERY], n_results=1)
        assert found["ids"] == [["visa"]]
        client.close()

    def test_another_encoder_is_refused(self, elsewhere: Home, folder: str) -> None:
        elsewhere.collection("faq").push(f"chroma://{folder}?collection=faq")
        function = GemEmbeddingFunction(collection="other", home=elsewhere)
        client = chromadb.PersistentClient(folder)
        with pytest.raises(FingerprintMismatchError, match="the collection faq was made") as caught:
            open_collection(client, "faq", function)
        assert caught.value.expected == elsewhere.collection("faq").encoder.fingerprint
        assert caught.value.found == function.fingerprint
        assert function.fingerprint[:12] in str(caught.value)
        client.close()

    def test_a_collection_without_a_fingerprint(self, folder: str) -> None:
        client = chromadb.PersistentClient(folder)
        client.create_collection("mine", embedding_function=None)
        with pytest.raises(ConfigError, match="found the collection 'mine' without a fingerprint"):
            open_collection(client, "mine")
        with pytest.raises(chromadb.errors.NotFoundError):
            open_collection(client, "none")
        client.close()
