"""GemVectorStore in LlamaIndex: nodes, filters, indexes, pipelines, fingerprints, processes.

LlamaIndex ships no standard tests for vector stores: its own packages each have theirs.
"""

from __future__ import annotations

import asyncio
import json
import pickle
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path

import numpy as np
import pytest
from llama_index.core import Document, StorageContext, VectorStoreIndex
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.ingestion import DocstoreStrategy, IngestionPipeline
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.schema import (
    ImageNode,
    IndexNode,
    MetadataMode,
    NodeRelationship,
    QueryBundle,
    RelatedNodeInfo,
    TextNode,
)
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.core.vector_stores import (
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
)
from llama_index.core.vector_stores.types import BasePydanticVectorStore, VectorStoreQueryMode
from llama_index.embeddings.gem import GemEmbedding
from llama_index.vector_stores.gem import GemVectorStore

from calls import search
from gem_index import GemConfig, Home
from gem_index.errors import (
    ConfigError,
    DuplicateIdError,
    FilterError,
    FingerprintMismatchError,
    InputError,
)
from gem_index.testing import call_in_child, run_page, run_python, write_word_vectors

SMALL = {"removed": 1, "components": 3}
TEXTS = {
    "visa": "how do I renew a visa?",
    "visa2": "how do I renew my visa?",
    "bank": "where can I open a bank account?",
    "school": "is the school open today?",
    "tea": "how long does tea keep in the cup?",
}

FILLER = "The office is in the town hall, next to the library. "
LONG = f"# Guide\n\n{FILLER * 20}\n\n## Passports\n\nA child needs a passport of its own.\n\n{FILLER * 20}"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A home with word vectors of eight dimensions, whose background components are computed quickly."""
    home = Home(tmp_path / "home")
    home.vectors.add(
        "small", write_word_vectors(tmp_path / "small.txt", list(TEXTS.values()), seed=1)
    )
    return home


def of(*documents: str, **metadata: dict[str, object]) -> list[TextNode]:
    """Return the nodes of TEXTS, each with its source document, if one is given."""
    sources = dict(zip(TEXTS, documents, strict=False))
    nodes = []
    for name, text in TEXTS.items():
        node = TextNode(id_=name, text=text, metadata=metadata.get(name, {}))
        node.excluded_embed_metadata_keys = list(node.metadata)
        if name in sources:
            source = RelatedNodeInfo(node_id=sources[name])
            node.relationships[NodeRelationship.SOURCE] = source
        nodes.append(node)
    return nodes


@pytest.fixture
def store(home: Home) -> GemVectorStore:
    store = GemVectorStore("faq", vectors="small", config=SMALL, home=home)
    store.add(of("permits", "permits", "money"))
    return store


@pytest.fixture(scope="module")
def bundled(tmp_path_factory: pytest.TempPathFactory) -> GemVectorStore:
    """A store with the bundled word vectors, for reading alone."""
    store = GemVectorStore("faq", home=tmp_path_factory.mktemp("home"))
    store.add(of())
    return store


def ids(nodes: object) -> list[str]:
    return [node.node_id for node in nodes]


def filters(*conditions: object, condition: str = "and") -> MetadataFilters:
    return MetadataFilters(
        filters=[
            each
            if isinstance(each, MetadataFilters)
            else MetadataFilter(key=each[0], operator=FilterOperator(each[1]), value=each[2])
            for each in conditions
        ],
        condition=FilterCondition(condition),
    )


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


class TestWriting:
    def test_add_returns_the_ids_and_replaces(self, store: GemVectorStore) -> None:
        assert store.add([TextNode(id_="visa", text="about ducks"), TextNode(id_="new")]) == [
            "visa",
            "new",
        ]
        assert [node.text for node in store.get_nodes(["visa", "new"])] == ["about ducks", ""]
        assert len(store.get_nodes()) == 6
        assert store.add([]) == []

    def test_progress_ends_with_the_whole_count(self, store: GemVectorStore) -> None:
        reports: list[tuple[str, int, int]] = []
        store.add(of(), progress=lambda *report: reports.append(report))
        assert reports[-1] == ("store", 5, 5)
        reports.clear()
        asyncio.run(store.async_add(of(), progress=lambda *report: reports.append(report)))
        assert reports[-1] == ("store", 5, 5)

    def test_progress_of_nodes_that_an_index_embedded(self, store: GemVectorStore) -> None:
        reports: list[tuple[str, int, int]] = []
        index = VectorStoreIndex.from_vector_store(store, embed_model=store.embed_model)
        index.insert_nodes(of(), progress=lambda *report: reports.append(report))
        assert ("encode", 5, 5) in reports
        assert reports[-1] == ("store", 5, 5)

    def test_an_id_twice_in_a_call_is_refused(self, store: GemVectorStore) -> None:
        with pytest.raises(DuplicateIdError, match="'x' occurs twice"):
            store.add([TextNode(id_="x", text="a"), TextNode(id_="x", text="b")])
        assert store.get_nodes(["x"]) == []

    def test_delete_the_nodes_of_a_document(self, store: GemVectorStore) -> None:
        store.delete("permits")
        assert set(ids(store.get_nodes())) == {"bank", "school", "tea"}
        store.delete("nobody")
        store.delete("None")  # LlamaIndex' own name for no document
        assert len(store.get_nodes()) == 3

    def test_delete_nodes(self, store: GemVectorStore) -> None:
        permits = filters(("ref_doc_id", "==", "permits"))
        store.delete_nodes(["visa", "bank"], permits)
        assert set(ids(store.get_nodes())) == {"visa2", "bank", "school", "tea"}
        store.delete_nodes(["tea", "nobody"])
        store.delete_nodes([])
        store.delete_nodes(filters=permits)
        assert set(ids(store.get_nodes())) == {"bank", "school"}
        with pytest.raises(TypeError, match=r"neither ids nor filters; expected one of them, or c"):
            store.delete_nodes()
        with pytest.raises(InputError, match="found one string 'bank'"):
            store.delete_nodes("bank")

    def test_clear(self, store: GemVectorStore) -> None:
        fingerprint = store.client.encoder.fingerprint
        store.clear()
        assert store.get_nodes() == []
        assert search(store, "a visa") == []
        assert store.client.encoder.fingerprint == fingerprint
        store.add(of())
        assert len(store.get_nodes()) == 5

    def test_get_nodes(self, store: GemVectorStore) -> None:
        assert ids(store.get_nodes(["tea", "nobody", "visa"])) == ["tea", "visa"]
        money = filters(("doc_id", "==", "money"))
        assert ids(store.get_nodes(filters=money)) == ["bank"]
        assert ids(store.get_nodes(["tea", "bank", "visa"], money)) == ["bank"]
        assert store.get_nodes([]) == []
        assert set(ids(store.get_nodes(filters=MetadataFilters(filters=[])))) == set(TEXTS)

    def test_bad_metadata_is_refused_and_nothing_stored(self, store: GemVectorStore) -> None:
        nodes = [TextNode(text="good"), TextNode(text="bad", metadata={"x": object()})]
        with pytest.raises(ValueError, match="Unable to serialize unknown type"):
            store.add(nodes)
        assert len(store.get_nodes()) == 5


class TestNodes:
    """All parts of a node are returned, except its embedding."""

    def test_text_nodes(self, store: GemVectorStore) -> None:
        node = TextNode(
            id_="n1",
            text="  the visa office\n",
            metadata={
                "title": "Visas",
                "pages": [1, 2],
                "nested": {"a": None},
                "doc_id": "my own",
                "_text": "also my own",
            },
            excluded_embed_metadata_keys=["pages"],
            excluded_llm_metadata_keys=["title"],
            metadata_template="{key} = {value}",
            text_template="{metadata_str} / {content}",
            start_char_idx=3,
            end_char_idx=20,
            mimetype="text/markdown",
            relationships={
                NodeRelationship.SOURCE: RelatedNodeInfo(node_id="d1", metadata={"file": "f"}),
                NodeRelationship.PREVIOUS: RelatedNodeInfo(node_id="n0"),
                NodeRelationship.CHILD: [
                    RelatedNodeInfo(node_id="c1"),
                    RelatedNodeInfo(node_id="c2"),
                ],
            },
        )
        store.add([node])
        (found,) = store.get_nodes(["n1"])
        assert found == node
        assert found.ref_doc_id == "d1"
        query = VectorStoreQuery(query_str="the visa office", doc_ids=["d1"])
        assert store.query(query).nodes == [node]

    def test_nodes_of_other_kinds(self, store: GemVectorStore) -> None:
        nodes = [
            IndexNode(id_="i", text="about visas", index_id="other", metadata={"a": 1}),
            ImageNode(id_="p", text="a photo of tea", image_url="https://example.org/tea.png"),
        ]
        store.add(nodes)
        assert store.get_nodes(["i", "p"]) == nodes

    def test_documents_come_back_as_text(self, store: GemVectorStore) -> None:
        document = Document(id_="d", text="about visas", metadata={"lang": "en"})
        store.add([document])
        (found,) = store.get_nodes(["d"])
        assert (found.node_id, found.text, found.metadata) == ("d", "about visas", {"lang": "en"})

    def test_metadata_are_what_pydantic_writes_to_json(self, store: GemVectorStore) -> None:
        metadata = {"day": date(2026, 1, 2), "nan": float("nan"), "pair": (1, 2)}
        store.add([TextNode(id_="n", text="a", metadata=metadata)])
        (found,) = store.get_nodes(["n"])
        assert found.metadata == {"day": "2026-01-02", "nan": None, "pair": [1, 2]}

    def test_metadata_are_searched_as_they_are_embedded(self, store: GemVectorStore) -> None:
        told = TextNode(id_="told", text="see below", metadata={"title": "renew a visa"})
        hidden = told.model_copy(
            update={"id_": "hidden", "excluded_embed_metadata_keys": ["title"]}
        )
        store.add([told, hidden])
        assert ids(store.get_nodes(["told"])) == ["told"]
        content = told.get_content(MetadataMode.EMBED)
        assert store.client.get(["told", "hidden"])[0].text == content != "see below"
        words = VectorStoreQuery(query_str="title", mode="text_search", similarity_top_k=9)
        assert store.query(words).ids == ["told"]
        assert [node.text for node in store.get_nodes(["told", "hidden"])] == ["see below"] * 2


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


class TestPieces:
    QUERY = "passport for a child"

    @pytest.fixture
    def store(self) -> GemVectorStore:
        store = GemVectorStore()
        guide = TextNode(id_="guide", text=LONG, metadata={"lang": "en"})
        guide.excluded_embed_metadata_keys = ["lang"]
        guide.relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id="book")
        store.add([guide, *of()])
        return store

    def check(self, nodes: list[TextNode]) -> None:
        best = nodes[0]
        assert type(best) is TextNode
        assert set(best.metadata) == {"lang", "parent", "piece", "start", "end", "heading"}
        assert (best.metadata["parent"], best.metadata["heading"]) == ("guide", "Guide > Passports")
        assert best.node_id == f"guide#{best.metadata['piece']}"
        assert best.text == LONG[best.start_char_idx : best.end_char_idx]
        assert best.text.startswith("## Passports")
        assert (best.metadata["start"], best.metadata["end"]) == (
            best.start_char_idx,
            best.end_char_idx,
        )
        assert (best.source_node.node_id, best.source_node.node_type) == ("guide", "1")
        assert best.get_content(MetadataMode.EMBED) == best.text
        [short] = [node for node in nodes if node.node_id == "bank"]
        assert (short.text, short.metadata) == (TEXTS["bank"], {})
        assert len({node.node_id for node in nodes}) == len(nodes) == 10

    def test_pieces_are_found_where_asked_for(self, store: GemVectorStore) -> None:
        asked = VectorStoreQuery(query_str=self.QUERY, similarity_top_k=10)
        whole = store.query(asked).nodes[0]
        assert (whole.node_id, whole.text, whole.ref_doc_id) == ("guide", LONG, "book")
        found = store.query(asked, pieces=True)
        assert found.ids == [node.node_id for node in found.nodes]
        self.check(found.nodes)
        self.check(asyncio.run(store.aquery(asked, pieces=True)).nodes)

    def test_a_retriever_returns_pieces(self, store: GemVectorStore) -> None:
        index = VectorStoreIndex.from_vector_store(store, embed_model=store.embed_model)
        retriever = index.as_retriever(similarity_top_k=10, vector_store_kwargs={"pieces": True})
        self.check([hit.node for hit in retriever.retrieve(self.QUERY)])
        self.check([hit.node for hit in asyncio.run(retriever.aretrieve(self.QUERY))])

    def test_metadata_embedded_before_the_text_are_no_part_of_a_piece(self) -> None:
        store = GemVectorStore()
        metadata = {"title": "a long way round " * 3}
        node = TextNode(id_="guide", text=LONG, metadata=metadata)
        store.add([node])
        assert node.get_content(MetadataMode.EMBED) != LONG
        asked = VectorStoreQuery(query_str="a long way", similarity_top_k=20)
        found = store.query(asked, pieces=True).nodes
        embedded = {
            hit.as_row().id: hit.text for hit in store.client.search("way", 20, pieces=True)
        }
        assert set(embedded) == {piece.node_id for piece in found}
        assert [piece.text for piece in found if piece.start_char_idx is None] == [
            f"title: {metadata['title']}".strip()
        ]
        placed = [piece for piece in found if piece.start_char_idx is not None]
        for piece in placed:
            assert embedded[piece.node_id].endswith(piece.text)
            assert piece.text == LONG[piece.start_char_idx : piece.end_char_idx]
            assert piece.metadata["title"] == metadata["title"]
        assert min(piece.start_char_idx for piece in placed) == 0
        assert max(piece.end_char_idx for piece in placed) == len(LONG.rstrip())

    def test_own_metadata_called_like_those_of_a_piece_stay_metadata(self) -> None:
        store = GemVectorStore()
        text = f"{FILLER * 20}\n\f{FILLER * 20}"
        store.add([TextNode(id_="a", text=text, metadata={"heading": "mine", "end": "mine"})])
        asked = VectorStoreQuery(query_str="office", similarity_top_k=20)
        found = store.query(asked, pieces=True).nodes
        assert {piece.metadata["page"] for piece in found} == {1, 2}
        for piece in found:
            assert piece.metadata["heading"] == "mine"
            assert "heading" not in piece.excluded_llm_metadata_keys
            if piece.start_char_idx is not None:
                assert text[piece.start_char_idx : piece.metadata["end"]] == piece.text

    def test_a_piece_of_metadata_alone_has_no_place(self) -> None:
        store = GemVectorStore()
        store.add([TextNode(id_="a", text="a river", metadata={"title": "a bank of sand " * 90})])
        asked = VectorStoreQuery(query_str="sand", similarity_top_k=20)
        found = store.query(asked, pieces=True).nodes
        places = {piece.node_id: (piece.start_char_idx, piece.end_char_idx) for piece in found}
        assert places.pop(f"a#{len(found)}") == (0, 7)
        assert set(places.values()) == {(None, None)}
        assert all(piece.text for piece in found)


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


class TestIndex:
    def test_insert_retrieve_and_delete(self, store: GemVectorStore) -> None:
        store.clear()
        index = VectorStoreIndex.from_documents(
            [Document(id_=name, text=text) for name, text in TEXTS.items()],
            storage_context=StorageContext.from_defaults(vector_store=store),
            embed_model=store.embed_model,
        )
        hits = index.as_retriever(similarity_top_k=5).retrieve("where can I open a bank account?")
        assert hits[0].node.ref_doc_id == "bank"
        index.delete_ref_doc("bank")
        index.insert(Document(id_="river", text="how long is a day today?"))
        index.delete_nodes(ids(store.get_nodes(filters=filters(("doc_id", "==", "tea")))))
        found = {node.ref_doc_id for node in store.get_nodes()}
        assert found == {"visa", "visa2", "school", "river"}

    @pytest.mark.parametrize("use_async", [False, True])
    def test_modes_and_filters_of_a_retriever(self, store: GemVectorStore, use_async: bool) -> None:
        nodes = [TextNode(id_="new", text="tea at school", metadata={"lang": "en"})]
        index = VectorStoreIndex(
            nodes,
            use_async=use_async,
            storage_context=StorageContext.from_defaults(vector_store=store),
            embed_model=store.embed_model,
        )
        options = {"filters": filters(("lang", "==", "en")), "similarity_top_k": 9}
        for mode in ("default", "hybrid", "text_search"):
            retriever = index.as_retriever(vector_store_query_mode=mode, **options)
            assert [hit.node_id for hit in retriever.retrieve("tea")] == ["new"]
            assert [hit.node_id for hit in asyncio.run(retriever.aretrieve("tea"))] == ["new"]

    def test_a_pipeline_upserts_what_changed(self, store: GemVectorStore) -> None:
        store.clear()
        pipeline = IngestionPipeline(
            transformations=[SentenceSplitter(), store.embed_model],
            docstore=SimpleDocumentStore(),
            docstore_strategy=DocstoreStrategy.UPSERTS_AND_DELETE,
            vector_store=store,
        )
        texts = {"a": "my visa", "b": "my bank", "c": "my school"}
        documents = [Document(id_=name, text=text) for name, text in texts.items()]
        assert len(pipeline.run(documents=documents)) == 3
        changed = [documents[0], Document(id_="b", text="my tea")]
        assert len(pipeline.run(documents=changed)) == 1
        found = {node.ref_doc_id: node.text for node in store.get_nodes()}
        assert found == {"a": "my visa", "b": "my tea"}

    def test_asynchronously(self, store: GemVectorStore) -> None:
        async def main() -> None:
            nodes = [TextNode(id_=f"n{i}", text="my visa") for i in range(3)]
            assert await store.async_add(nodes) == ["n0", "n1", "n2"]
            await store.adelete("permits")
            await store.adelete_nodes(["n0"])
            await store.adelete_nodes(filters=filters(("ref_doc_id", "==", "money")))
            assert set(ids(await store.aget_nodes())) == {"n1", "n2", "school", "tea"}
            assert ids(await store.aget_nodes(["tea"])) == ["tea"]
            query = VectorStoreQuery(query_str="my visa", similarity_top_k=2)
            found = await store.aquery(query, min_score=0.5)
            assert set(found.ids) == {"n1", "n2"}
            with pytest.raises(TypeError, match="which this store does not take"):
                await store.async_add([], where=1)
            await store.aclear()
            assert await store.aget_nodes() == []

        asyncio.run(main())


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


@pytest.mark.parametrize("page", ["README.md", "../../../docs/cookbook/llama-index.md"])
def test_the_pages_run(page: str) -> None:
    run_page(Path(__file__).parents[1] / page)


def test_no_package_of_the_shared_namespace_is_closed() -> None:
    import llama_index
    import llama_index.vector_stores

    assert llama_index.__file__ is None  # namespace packages, which other distributions fill too
    assert llama_index.vector_stores.__file__ is None
