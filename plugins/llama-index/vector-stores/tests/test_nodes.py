"""Nodes in GemVectorStore: writing, their metadata and relationships, pieces of long nodes."""

from __future__ import annotations

import asyncio
from datetime import date

import pytest
from llama_index.core import Document, VectorStoreIndex
from llama_index.core.schema import (
    ImageNode,
    IndexNode,
    MetadataMode,
    NodeRelationship,
    RelatedNodeInfo,
    TextNode,
)
from llama_index.core.vector_stores import (
    MetadataFilters,
    VectorStoreQuery,
)
from llama_index.vector_stores.gem import GemVectorStore
from stores import TEXTS, filters, ids, of

from calls import search
from gem_index.errors import (
    DuplicateIdError,
    InputError,
)

FILLER = "The office is in the town hall, next to the library. "
LONG = f"# Guide\n\n{FILLER * 20}\n\n## Passports\n\nA child needs a passport of its own.\n\n{FILLER * 20}"


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
