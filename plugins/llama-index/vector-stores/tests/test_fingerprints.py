"""GemVectorStore with fingerprints, as saved fields, in other processes and threads."""

from __future__ import annotations

import json
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from llama_index.core import VectorStoreIndex
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.schema import (
    QueryBundle,
    TextNode,
)
from llama_index.core.vector_stores import (
    VectorStoreQuery,
)
from llama_index.core.vector_stores.types import BasePydanticVectorStore
from llama_index.embeddings.gem import GemEmbedding
from llama_index.vector_stores.gem import GemVectorStore
from stores import SMALL, TEXTS, ids

from calls import search
from gem_index import GemConfig, Home
from gem_index.errors import (
    ConfigError,
    FingerprintMismatchError,
    InputError,
)
from gem_index.testing import call_in_child, run_python, write_word_vectors


class TestFingerprints:
    """Vectors of another model are refused, from any source."""

    def test_a_collection_of_other_vectors_or_settings(
        self, store: GemVectorStore, home: Home
    ) -> None:
        with pytest.raises(FingerprintMismatchError, match="the collection faq"):
            GemVectorStore("faq", vectors="wordllama", home=home)
        with pytest.raises(ConfigError, match="the collection faq has the configuration"):
            GemVectorStore("faq", config="cqa", home=home)
        assert len(GemVectorStore("faq", vectors="small", home=home).get_nodes()) == 5

    def test_an_index_reopened_with_another_embedding_model(self, store: GemVectorStore) -> None:
        for other in (GemEmbedding(), MockEmbedding(embed_dim=8), MockEmbedding(embed_dim=3)):
            index = VectorStoreIndex.from_vector_store(store, embed_model=other)
            with pytest.raises(
                FingerprintMismatchError,
                match="the collection faq .* the node 'n' is not this model's",
            ):
                index.insert_nodes([TextNode(id_="n", text="a new visa")])
            hits = index.as_retriever(similarity_top_k=9).retrieve("my visa")
            assert [(hit.node_id, hit.score) for hit in hits] == search(store, "my visa")
        assert store.get_nodes(["n"]) == []

    def test_a_model_of_before_a_refit(self, store: GemVectorStore) -> None:
        before = store.embed_model
        assert store.embed_model is before
        store.client.refit()
        after = store.embed_model
        assert before.fingerprint != after.fingerprint == store.client.encoder.fingerprint
        node = TextNode(id_="n", text="my visa at the bank")
        with pytest.raises(FingerprintMismatchError, match="after a refit take it again"):
            store.add(before([node.model_copy()]))
        store.add(after([node.model_copy()]))
        assert ids(store.get_nodes(["n"])) == ["n"]

    def test_one_node_of_many(self, store: GemVectorStore) -> None:
        nodes = store.embed_model([TextNode(id_=str(i), text="my visa") for i in range(3)])
        nodes.append(TextNode(id_="without", text="my visa"))
        nodes[1].embedding = nodes[1].embedding[::-1]
        with pytest.raises(FingerprintMismatchError, match="with the encoder .* the node '1'"):
            store.add(nodes)
        assert len(store.get_nodes()) == 5
        nodes[1].embedding = nodes[0].embedding
        assert store.add(nodes) == ["0", "1", "2", "without"]
        assert all(node.embedding is None for node in store.get_nodes())

    @pytest.mark.parametrize("fingerprint", [None, "f" * 64])
    @pytest.mark.parametrize("text", [None, "my visa"])
    def test_the_embedding_of_a_query(
        self, store: GemVectorStore, text: str | None, fingerprint: str | None
    ) -> None:
        for embedding in ([0.1] * 8, [0.1] * 3, [float("nan")] * 8):
            query = VectorStoreQuery(query_embedding=embedding, query_str=text)
            with pytest.raises(
                FingerprintMismatchError, match="the collection faq .*pass fingerprint=embed_model"
            ):
                store.query(query, fingerprint=fingerprint)

    def test_the_embedding_of_a_query_by_an_index(self, store: GemVectorStore) -> None:
        index = VectorStoreIndex.from_vector_store(store, embed_model=store.embed_model)
        embedding = store.embed_model.get_query_embedding("renew a visa")
        bundle = QueryBundle("tea", embedding=embedding)
        with pytest.raises(FingerprintMismatchError, match="vector_store_kwargs"):
            index.as_retriever().retrieve(bundle)
        told = {"fingerprint": store.embed_model.fingerprint}
        hits = index.as_retriever(vector_store_kwargs=told, similarity_top_k=9).retrieve(bundle)
        expected = store.client.search("renew a visa", k=9, mode="dense")
        assert [hit.node_id for hit in hits] == [hit.id for hit in expected]
        assert [hit.score for hit in hits] == pytest.approx([hit.score for hit in expected])

    def test_other_vectors_under_the_name_of_a_collections(
        self, store: GemVectorStore, home: Home, tmp_path: Path
    ) -> None:
        store.client.refit()
        saved = store.to_dict()
        with pytest.raises(InputError, match="faq"):  # a collection's vectors cannot be removed
            home.vectors.remove("small")
        other = Home(tmp_path / "other")
        vectors = write_word_vectors(tmp_path / "other.txt", list(TEXTS.values()), seed=2)
        other.vectors.add("small", vectors)
        assert GemVectorStore.from_dict(saved | {"home": str(other.root)}).get_nodes() == []


class TestSaved:
    def test_it_is_a_vector_store(self, store: GemVectorStore) -> None:
        assert isinstance(store, BasePydanticVectorStore)
        assert (store.stores_text, store.is_embedding_query) == (True, False)
        assert GemVectorStore.class_name() == "GemVectorStore"
        assert store.client.name == "faq"

    def test_fields_open_it_again(self, store: GemVectorStore, home: Home) -> None:
        expected = search(store, "my visa")
        saved = store.to_dict()
        assert saved == {
            "stores_text": True,
            "is_embedding_query": False,
            "collection": "faq",
            "vectors": "small",
            "config": SMALL,
            "home": str(home.root),
            "class_name": "GemVectorStore",
        }
        for again in (
            GemVectorStore.from_dict(saved),
            GemVectorStore.from_json(store.to_json()),
            pickle.loads(pickle.dumps(store)),
        ):
            assert again.to_dict() == saved
            assert search(again, "my visa") == expected
        made = GemVectorStore("other", vectors="small", config="cqa", home=home)
        assert GemVectorStore.from_dict(made.to_dict()).config == made.config
        assert made.config["window"] == 6

    @pytest.mark.parametrize("config", ["cqa", GemConfig.trained(window=3), {"window": 3}])
    def test_a_configuration_without_a_prior_opens_it_again(
        self, tmp_path: Path, config: object
    ) -> None:
        store = GemVectorStore("notes", config=config, home=tmp_path / "home")
        again = GemVectorStore.from_json(store.to_json())
        assert again.client.encoder.config == store.client.encoder.config
        assert store.client.encoder.config.prior == 10_000

    def test_a_short_repr(self, home: Home) -> None:
        store = GemVectorStore("faq", vectors="small", home=home)
        assert repr(store) == f"GemVectorStore('faq', vectors='small', home={str(home.root)!r})"

    def test_fields_cannot_be_assigned(self, store: GemVectorStore) -> None:
        for name in ("collection", "vectors", "config", "home"):
            with pytest.raises(ValueError, match="frozen"):
                setattr(store, name, "other")
        with pytest.raises(ValueError, match="stores_text"):
            GemVectorStore.from_dict(store.to_dict() | {"stores_text": False})

    def test_the_default_home(self, own_home: Path) -> None:
        assert GemVectorStore().to_dict()["home"] is None
        assert [status.name for status in Home(own_home).collections()] == ["llama-index"]


SECOND = """
import json, sys
from calls import search
from llama_index.core import VectorStoreIndex
from llama_index.vector_stores.gem import GemVectorStore
store = GemVectorStore("faq", home=sys.argv[1])
index = VectorStoreIndex.from_vector_store(store, embed_model=store.embed_model)
(hit,) = index.as_retriever(similarity_top_k=1).retrieve("my visa")
print(json.dumps([hit.node_id, hit.node.ref_doc_id, search(store, "my visa")]))
"""


class TestProcesses:
    def test_another_process_finds_what_was_stored(self, store: GemVectorStore) -> None:
        found = run_python("-c", SECOND, str(store.home), import_from=Path(__file__).parent)
        expected = search(store, "my visa")
        assert json.loads(found.stdout) == [expected[0][0], "permits", [list(x) for x in expected]]

    @pytest.mark.parametrize("start", ["spawn", "fork"])
    def test_child_processes_search(self, store: GemVectorStore, start: str) -> None:
        assert call_in_child(start, search, store, "my visa") == search(store, "my visa")

    def test_threads_search_while_one_writes(self, store: GemVectorStore) -> None:
        def write(i: int) -> list[str]:
            return store.add([TextNode(id_=f"n{i}", text=f"tea in the cup, number {i}")])

        with ThreadPoolExecutor(4) as pool:
            written = [pool.submit(write, i) for i in range(10)]
            found = [pool.submit(search, store, "how do I renew a visa?", 1) for _ in range(30)]
            assert {future.result()[0][0] for future in found} == {"visa"}
            assert [future.result() for future in written] == [[f"n{i}"] for i in range(10)]
        assert len(store.get_nodes()) == 15
