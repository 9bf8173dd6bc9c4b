"""The embedding function: pymilvus' convention, and the model of a pushed collection in another process."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from gem_index_milvus import GemEmbeddingFunction
from milvus_lite.server_manager import server_manager_instance
from pymilvus import MilvusClient

from gem_index import Document, Home, open_provider
from gem_index.errors import ConfigError, FingerprintMismatchError
from gem_index.testing import run_python

TEXTS = ["how do I renew a visa", "where is the bank", "?!"]
PROGRAM = """
import json, sys
from gem_index_milvus import GemEmbeddingFunction
from pymilvus import MilvusClient

path, home, name = sys.argv[1:]
client = MilvusClient(path)
embed = GemEmbeddingFunction.for_collection(client, "faq", collection=name, home=home)
client.load_collection("faq")
[[hit]] = client.search("faq", embed.encode_queries(["a river bank"]), limit=1, output_fields=["id"])
print(json.dumps([hit["entity"]["id"], round(hit["distance"], 3), embed.fingerprint]))
"""


class TestConvention:
    def test_documents_queries_and_calls_agree(self) -> None:
        embed, provider = GemEmbeddingFunction(), open_provider()
        expected = provider.embed_documents(TEXTS)
        for encode in (embed.encode_documents, embed.encode_queries, embed):
            found = encode(TEXTS)
            assert isinstance(found, list)
            assert [vector.dtype for vector in found] == [np.float32] * 3
            np.testing.assert_array_equal(found, expected)
        assert embed.dim == provider.dimension == len(found[0])
        assert embed.fingerprint == provider.fingerprint
        assert embed.encode_documents([]) == []
        assert not found[2].any()

    def test_what_names_a_model(self, tmp_path: Path) -> None:
        home = Home(tmp_path / "home")
        collection = home.create_collection("faq")
        collection.upsert(Document(id=text, text=text) for text in TEXTS)
        collection.refit()
        embed = GemEmbeddingFunction(collection="faq", home=home)
        assert embed.fingerprint == collection.encoder.fingerprint
        with pytest.raises(FingerprintMismatchError):
            GemEmbeddingFunction(collection="faq", home=home, fingerprint="0" * 64)
        with pytest.raises(ConfigError, match="a model and a collection"):
            GemEmbeddingFunction(model="a", collection="b")


@pytest.fixture
def pushed(tmp_path: Path) -> tuple[Path, Home]:
    """Return a folder into which the collection "faq" was pushed, and the home with another collection."""
    home, path = Home(tmp_path / "home"), tmp_path / "faq.db"
    for name, texts in {"faq": [*TEXTS, "the bank of the river"], "other": TEXTS}.items():
        collection = home.create_collection(name)
        collection.upsert(Document(id=text, text=text) for text in texts)
        collection.refit()
    home.collection("faq").push(f"milvus://{path}?collection=faq")
    return path, home


class TestForCollection:
    def test_a_second_process_searches_with_the_model_that_was_pushed(
        self, pushed, tmp_path
    ) -> None:
        path, home = pushed
        run = run_python("-c", PROGRAM, str(path), str(tmp_path / "home"), "faq")
        name, score, fingerprint = json.loads(run.stdout)
        (hit,) = home.collection("faq").search("a river bank", 1, mode="dense")
        assert (name, score) == (hit.id, pytest.approx(hit.score, abs=1e-3))
        assert fingerprint == home.collection("faq").encoder.fingerprint

    def test_another_model_is_refused_by_both_fingerprints(self, pushed) -> None:
        path, home = pushed
        client = MilvusClient(str(path), dedicated=True)
        expected, found = (home.collection(n).encoder.fingerprint for n in ("faq", "other"))
        with pytest.raises(FingerprintMismatchError, match=f"{expected[:12]}.*{found[:12]}"):
            GemEmbeddingFunction.for_collection(client, "faq", collection="other", home=home)
        client.create_collection("mine", dimension=4)
        with pytest.raises(ConfigError, match="'mine', which gem-index did not create"):
            GemEmbeddingFunction.for_collection(client, "mine")
        client.close()
        server_manager_instance.release_server(str(path))
