"""GemVectorStore in LlamaIndex: searches, modes and filters.

LlamaIndex ships no standard tests for vector stores: its own packages each have theirs.
"""

from __future__ import annotations

import numpy as np
import pytest
from llama_index.core import VectorStoreIndex
from llama_index.core.schema import (
    TextNode,
)
from llama_index.core.vector_stores import (
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
)
from llama_index.core.vector_stores.types import VectorStoreQueryMode
from llama_index.vector_stores.gem import GemVectorStore
from stores import TEXTS, filters, ids, of

from calls import search
from gem_index import Home
from gem_index.errors import (
    FilterError,
    FingerprintMismatchError,
)


@pytest.fixture(scope="module")
def bundled(tmp_path_factory: pytest.TempPathFactory) -> GemVectorStore:
    """A store with the bundled word vectors, for reading alone."""
    store = GemVectorStore("faq", home=tmp_path_factory.mktemp("home"))
    store.add(of())
    return store


class TestSearch:
    def test_a_search_is_the_collections_own_by_meaning_and_words(
        self, bundled: GemVectorStore
    ) -> None:
        hits = bundled.client.search("my visa", mode="hybrid")
        found = search(bundled, "my visa")
        assert [name for name, _ in found] == [hit.id for hit in hits]
        np.testing.assert_allclose([s for _, s in found], [hit.score for hit in hits], atol=1e-6)

    def test_nodes_ids_and_scores_belong_together(self, bundled: GemVectorStore) -> None:
        found = bundled.query(VectorStoreQuery(query_str="a cup of tea", similarity_top_k=2))
        assert ids(found.nodes) == found.ids
        assert found.ids[0] == "tea"
        assert [node.text for node in found.nodes] == [TEXTS[name] for name in found.ids]
        assert found.similarities == sorted(found.similarities, reverse=True)

    @pytest.mark.parametrize("mode", ["sparse", "text_search", "hybrid"])
    def test_by_words(self, bundled: GemVectorStore, mode: str) -> None:
        query = VectorStoreQuery(query_str="cup", similarity_top_k=1, mode=mode)
        assert bundled.query(query).ids == ["tea"]

    @pytest.mark.parametrize("mode", ["dense", "lexical", "hybrid"])
    def test_by_a_mode_of_the_collections_own(self, bundled: GemVectorStore, mode: str) -> None:
        hits = bundled.client.search("my visa", k=5, mode=mode)
        query = VectorStoreQuery(query_str="my visa", similarity_top_k=5)
        found = bundled.query(query, mode=mode)
        assert found.ids == [hit.id for hit in hits]
        assert found.similarities == pytest.approx([hit.score for hit in hits])
        query = VectorStoreQuery(query_str="my visa", similarity_top_k=5, mode="sparse")
        with pytest.raises(
            ValueError, match="found the mode 'dense' and the query's mode 'sparse'"
        ):
            bundled.query(query, mode="dense")

    def test_by_an_embedding_with_its_fingerprint(self, bundled: GemVectorStore) -> None:
        embed_model = bundled.embed_model
        embedding = embed_model.get_agg_embedding_from_queries(["my visa", "renew it"])
        query = VectorStoreQuery(query_embedding=embedding, similarity_top_k=5)
        found = bundled.query(query, fingerprint=embed_model.fingerprint)
        rows = bundled.client.encoder.encode(list(TEXTS.values()))
        direction = np.array(embedding) / np.linalg.norm(embedding)
        np.testing.assert_allclose(found.similarities, np.sort(rows @ direction)[::-1], atol=1e-5)
        with_text = VectorStoreQuery(query_embedding=embedding, query_str="tea", similarity_top_k=5)
        assert bundled.query(with_text, fingerprint=embed_model.fingerprint).ids == found.ids

    def test_by_an_embedding_of_the_text_beside_it(self, bundled: GemVectorStore) -> None:
        embedding = bundled.embed_model.get_query_embedding("my visa")
        query = VectorStoreQuery(query_embedding=embedding, query_str="my visa", similarity_top_k=9)
        found = bundled.query(query)
        assert list(zip(found.ids, found.similarities, strict=True)) == search(bundled, "my visa")

    def test_restricted_to_documents_and_nodes(self, store: GemVectorStore) -> None:
        def found(**restriction: list[str]) -> set[str]:
            query = VectorStoreQuery(query_str="open", similarity_top_k=9, **restriction)
            return set(store.query(query).ids)

        assert found(doc_ids=["permits"]) == {"visa", "visa2"}
        assert found(doc_ids=["permits", "money"], node_ids=["visa", "bank", "tea"]) == {
            "visa",
            "bank",
        }
        assert found(node_ids=[], doc_ids=[]) == set(TEXTS)

    def test_a_least_score(self, bundled: GemVectorStore) -> None:
        least = search(bundled, "my visa")[1][1]
        found = bundled.query(
            VectorStoreQuery(query_str="my visa", similarity_top_k=9), min_score=least
        )
        assert len(found.ids) == 2

    @pytest.mark.parametrize("text", ["", " ", "?!"])
    def test_a_query_without_words_finds_nothing(self, store: GemVectorStore, text: str) -> None:
        found = store.query(VectorStoreQuery(query_str=text))
        assert (found.nodes, found.ids, found.similarities) == ([], [], [])

    @pytest.mark.parametrize(
        ("fields", "message"),
        [
            ({"mmr_threshold": 0.5}, "found mmr_threshold; expected it in the mode mmr"),
            (
                {"mode": "mmr", "mmr_threshold": 2},
                "mmr_threshold is 2; expected a number from 0 to 1",
            ),
            ({"mode": "mmr", "query_str": None}, "found no text of the query"),
            ({"mode": "svm"}, "found the mode 'svm'"),
            ({"mode": "semantic_hybrid"}, "found the mode 'semantic_hybrid'"),
            ({"mode": "hybrid", "alpha": 0.5}, "found alpha; expected"),
            ({"sparse_top_k": 2, "hybrid_top_k": 3}, "found sparse_top_k, hybrid_top_k; expected"),
            ({"query_str": None}, "found no text of the query"),
        ],
    )
    def test_what_it_cannot_do_is_refused(
        self, store: GemVectorStore, fields: dict[str, object], message: str
    ) -> None:
        with pytest.raises(ValueError, match=message):
            store.query(VectorStoreQuery(**{"query_str": "a visa", **fields}))

    def test_mmr_selects_different_nodes(self, home: Home) -> None:
        texts = [
            "how do I renew a visa?",
            "how do I renew my visa?",
            "a visa costs 200 riyals",
            "tea",
            "?",
        ]
        store = GemVectorStore("mmr", home=home)
        store.add([TextNode(id_=str(i), text=text) for i, text in enumerate(texts)])
        embedding = store.embed_model.get_query_embedding("renew a visa")
        for fields in (
            {"query_str": "renew a visa"},
            {"query_str": "renew a visa", "query_embedding": embedding},
        ):
            query = VectorStoreQuery(mode=VectorStoreQueryMode.MMR, similarity_top_k=2, **fields)
            found = store.query(query)
            plain = store.query(VectorStoreQuery(query_str="renew a visa", similarity_top_k=5))
            assert plain.ids[:2] == ["0", "1"]
            assert found.ids == ["0", "2"]
            scores = dict(zip(plain.ids, plain.similarities, strict=True))
            assert found.similarities == pytest.approx(
                [scores[name] for name in found.ids], abs=1e-6
            )
            assert store.query(query, mmr_threshold=1.0).ids == ["0", "1"]
            assert store.query(query, mmr_prefetch_factor=1).ids == ["0", "1"]
        by_vector = VectorStoreQuery(query_embedding=embedding, mode="mmr", similarity_top_k=5)
        found = store.query(by_vector, fingerprint=store.embed_model.fingerprint)
        assert sorted(found.ids) == sorted(plain.ids)
        with pytest.raises(FingerprintMismatchError):
            store.query(by_vector)
        with pytest.raises(ValueError, match="mmr_prefetch_factor is 0; expected at least 1"):
            store.query(query, mmr_prefetch_factor=0)
        assert store.query(VectorStoreQuery(query_str="?", mode="mmr")).ids == []

    def test_mmr_by_a_retriever(self, home: Home) -> None:
        store = GemVectorStore("mmr", home=home)
        store.add([TextNode(id_=str(i), text=f"renew a visa {i}") for i in range(9)])
        index = VectorStoreIndex.from_vector_store(store, embed_model=store.embed_model)
        retriever = index.as_retriever(
            vector_store_query_mode="mmr",
            similarity_top_k=3,
            vector_store_kwargs={"mmr_threshold": 0.3},
        )
        assert len({hit.node_id for hit in retriever.retrieve("renew my visa")}) == 3

    def test_unknown_arguments_are_refused(self, store: GemVectorStore) -> None:
        for call in (
            lambda: store.add([], where=1),
            lambda: store.delete("permits", where=1),
            lambda: store.delete_nodes(["visa"], where=1),
            lambda: store.query(VectorStoreQuery(query_str="a visa"), where=1),
            lambda: GemVectorStore("faq", where=1),
        ):
            with pytest.raises(TypeError, match="found the argument where, which this store"):
                call()
        assert len(store.get_nodes()) == 5


METADATA = {
    "visa": {"lang": "en", "year": 2020},
    "visa2": {"lang": "en", "year": 2024},
    "bank": {"lang": "de", "year": 2024.5},
    "school": {"lang": None, "year": 2022, "tags": ["a", "b"]},
    "tea": {},
}
FILTERS = [
    (filters(("lang", "==", "en")), {"visa", "visa2"}),
    (filters(("lang", "==", None)), {"school", "tea"}),
    (filters(("lang", "!=", "en")), {"bank", "school", "tea"}),
    (filters(("lang", "!=", None)), {"visa", "visa2", "bank"}),
    (filters(("year", ">", 2022)), {"visa2", "bank"}),
    (filters(("year", ">=", 2022)), {"visa2", "bank", "school"}),
    (filters(("year", "<", 2022)), {"visa"}),
    (filters(("year", "<=", 2022)), {"visa", "school"}),
    (filters(("lang", ">", "de")), {"visa", "visa2"}),
    (filters(("year", "in", [2020, 2022])), {"visa", "school"}),
    (filters(("lang", "nin", ["en"])), {"bank", "school", "tea"}),
    (filters(("lang", "nin", [])), set(TEXTS)),
    (filters(("lang", "any", ["de", "fr"])), {"bank"}),
    (filters(("lang", "all", ["en"])), {"visa", "visa2"}),
    (filters(("lang", "all", ["en", "de"])), set()),
    (filters(("lang", "contains", "e")), {"visa", "visa2", "bank"}),
    (filters(("lang", "text_match", "E")), set()),
    (filters(("lang", "text_match_insensitive", "E")), {"visa", "visa2", "bank"}),
    (filters(("lang", "text_match_insensitive", "_e")), set()),
    (filters(("lang", "==", "en"), ("year", ">", 2020)), {"visa2"}),
    (filters(("lang", "==", "de"), ("year", "==", 2020), condition="or"), {"visa", "bank"}),
    (filters(("lang", "==", "en"), ("year", "==", 2022), condition="not"), {"bank", "tea"}),
    (
        filters(
            filters(("lang", "==", "de"), ("year", "<", 2021), condition="or"),
            filters(("lang", "==", "de"), condition="not"),
        ),
        {"visa"},
    ),
    (MetadataFilters(filters=[], condition="or"), set(TEXTS)),
    (MetadataFilters(filters=[MetadataFilter(key="lang", value="de")], condition=None), {"bank"}),
]


@pytest.fixture(scope="module")
def filtered(tmp_path_factory: pytest.TempPathFactory) -> GemVectorStore:
    """A store of nodes with metadata, for reading alone."""
    store = GemVectorStore("filters", home=tmp_path_factory.mktemp("home"))
    store.add(of(**METADATA))
    return store


class TestFilters:
    @pytest.mark.parametrize(("wanted", "expected"), FILTERS)
    def test_operators(
        self, filtered: GemVectorStore, wanted: MetadataFilters, expected: set[str]
    ) -> None:
        query = VectorStoreQuery(query_str="open", similarity_top_k=9, filters=wanted)
        assert set(filtered.query(query).ids) == expected
        assert set(ids(filtered.get_nodes(filters=wanted))) == expected

    @pytest.mark.parametrize("operator", ["is_empty"])
    def test_what_cannot_be_expressed_is_refused_by_name(
        self, filtered: GemVectorStore, operator: str
    ) -> None:
        wanted = filters(filters(("tags", operator, ["a"])), condition="or")
        for call in (
            lambda: filtered.query(VectorStoreQuery(query_str="open", filters=wanted)),
            lambda: filtered.get_nodes(filters=wanted),
            lambda: filtered.delete_nodes(["tea"], filters=wanted),
        ):
            with pytest.raises(FilterError, match=rf"the operator on 'tags' is '{operator}' with"):
                call()
        assert len(filtered.get_nodes()) == 5

    @pytest.mark.parametrize(
        ("condition", "message"),
        [
            (("year", ">", None), r"\$gt on 'year' compares with None"),
            (("year", "in", 2020), r"\$in on 'year' holds 2020"),
            (("tags", "==", ["a"]), "expected a string, a number"),
            (('a"b', "==", "c"), "expected a name without quotes"),
        ],
    )
    def test_malformed_ones_are_refused(
        self, filtered: GemVectorStore, condition: object, message: str
    ) -> None:
        with pytest.raises(FilterError, match=message):
            filtered.get_nodes(filters=filters(condition))
