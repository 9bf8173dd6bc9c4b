"""Sparse embeddings of words, in pipelines with Qdrant's hybrid retriever, and the ranker by meaning and words."""

import asyncio
import warnings

import pytest
from haystack import Document, Pipeline
from haystack.dataclasses import ByteStream
from haystack_integrations.components.embedders.gem import (
    GemDocumentEmbedder,
    GemSparseDocumentEmbedder,
    GemSparseTextEmbedder,
    GemTextEmbedder,
)
from haystack_integrations.components.rankers.gem import GemRanker
from haystack_integrations.components.retrievers.qdrant import QdrantHybridRetriever
from haystack_integrations.document_stores.qdrant import QdrantDocumentStore

from gem_index import Home, open_provider
from gem_index.errors import ConfigError

TEXTS = [
    "Error 4712 of the printer",
    "Error 4711 of the printer",
    "How do I renew a residence visa?",
    "Die Müllabfuhr kommt in München jeden Dienstag",
    "护照过期了怎么办 需要带身份证和照片去办理",
    "كيف أجدد جواز السفر قبل السفر",
    "a visa, a bank, a river " * 2000,
]
QUERY = "my printer shows error 4711"
DOCUMENTS = [Document(id=str(i), content=text) for i, text in enumerate(TEXTS)]


@pytest.fixture
def faq():
    """Short texts: a collection scores the words of a long text as a whole, and its vectors piece by piece."""
    Home().build("faq", [{"id": str(i), "text": text} for i, text in enumerate(TEXTS[:6])])
    return Home().collection("faq")


def pairs(embedding):
    return list(zip(embedding.indices, embedding.values, strict=True))


def expected(vector):
    return list(zip(vector.indices.tolist(), vector.values.tolist(), strict=True))


class TestEmbedders:
    @pytest.mark.parametrize("choice", [{}, {"words": "de"}, {"collection": "faq"}])
    def test_they_are_those_of_the_provider(self, choice, faq):
        provider = open_provider(**choice)
        found = GemSparseDocumentEmbedder(**choice).run(DOCUMENTS)["documents"]
        for document, vector in zip(found, provider.embed_sparse_documents(TEXTS), strict=True):
            assert pairs(document.sparse_embedding) == expected(vector)
        embedder = GemSparseTextEmbedder(**choice)
        for text in [*TEXTS, "?"]:
            query = embedder.run(text)["sparse_embedding"]
            assert pairs(query) == expected(provider.embed_sparse_query(text))

    def test_documents_come_back_as_copies(self):
        dense = GemDocumentEmbedder().run(DOCUMENTS)["documents"]
        both = GemSparseDocumentEmbedder().run(dense)["documents"]
        assert [each.embedding for each in both] == [each.embedding for each in dense]
        assert all(each.sparse_embedding is None for each in [*dense, *DOCUMENTS])
        assert GemSparseDocumentEmbedder().run([]) == {"documents": []}

    def test_documents_without_words_have_none(self):
        wordless = [Document(content="?"), Document(blob=ByteStream(b"\x00"))]
        found = GemSparseDocumentEmbedder().run(wordless)["documents"]
        assert [each.sparse_embedding for each in found] == [None, None]

    def test_metadata_are_embedded_where_asked_for(self):
        document = Document(content="a stamp", meta={"title": "visa", "none": None})
        embedder = GemSparseDocumentEmbedder(meta_fields_to_embed=["title", "none"])
        [embedded] = embedder.run([document])["documents"]
        [vector] = open_provider().embed_sparse_documents(["visa\na stamp"])
        assert pairs(embedded.sparse_embedding) == expected(vector)

    def test_asynchronously(self):
        embedder, query = GemSparseDocumentEmbedder(), GemSparseTextEmbedder()
        assert asyncio.run(embedder.run_async(DOCUMENTS)) == embedder.run(DOCUMENTS)
        assert asyncio.run(query.run_async(QUERY)) == query.run(QUERY)

    @pytest.mark.parametrize("kind", [GemSparseDocumentEmbedder, GemSparseTextEmbedder, GemRanker])
    def test_saved_and_loaded(self, kind):
        saved = kind(words="de").to_dict()
        assert saved["init_parameters"]["words"] == "de"
        again = kind.from_dict(saved)
        assert again.to_dict() == saved
        own = open_provider(words="de").sparse_encoder.fingerprint
        assert again.provider.sparse_encoder.fingerprint == own

    @pytest.mark.parametrize("wrong", ["a text", ["a text"], None])
    def test_the_wrong_kind_names_the_right_component(self, wrong):
        with pytest.raises(TypeError, match="for a string use GemSparseTextEmbedder"):
            GemSparseDocumentEmbedder().run(wrong)
        with pytest.raises(TypeError, match="use GemSparseDocumentEmbedder"):
            GemSparseTextEmbedder().run(DOCUMENTS)

    def test_a_wrong_language(self):
        with pytest.raises(ConfigError, match="klingon"):
            GemSparseTextEmbedder(words="klingon")


class TestQdrant:
    def test_a_hybrid_pipeline_saved_and_loaded(self, faq):
        choice = {"collection": "faq"}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # qdrant's own
            store = QdrantDocumentStore(
                ":memory:", embedding_dim=256, use_sparse_embeddings=True, recreate_index=True
            )
            documents = GemDocumentEmbedder(**choice).run([*DOCUMENTS[:6], Document(content="?")])
            documents = GemSparseDocumentEmbedder(**choice).run(documents["documents"])
            assert store.write_documents(documents["documents"]) == 7
            search = Pipeline()
            search.add_component("dense", GemTextEmbedder(**choice))
            search.add_component("sparse", GemSparseTextEmbedder(**choice))
            search.add_component("rank", GemRanker(**choice, mode="hybrid", top_k=3))
            search = Pipeline.loads(search.dumps())
            search.add_component("retrieve", QdrantHybridRetriever(store, top_k=6))
            search.connect("dense.embedding", "retrieve.query_embedding")
            search.connect("sparse.sparse_embedding", "retrieve.query_sparse_embedding")
            search.connect("retrieve.documents", "rank.documents")
            for query in (QUERY, "visa", "Müllabfuhr", "护照"):
                inputs = {"dense": {"text": query}, "sparse": {"text": query}}
                found = search.run(inputs | {"rank": {"query": query}})["rank"]["documents"]
                hits = faq.search(query, 3, correct=False)
                assert found[0].content == hits[0].text
                assert found[0].score == pytest.approx(hits[0].score, abs=5e-3)


class TestRanker:
    def test_words_count_on_request(self):
        found = GemRanker(mode="hybrid").run(QUERY, DOCUMENTS)["documents"]
        ranked = open_provider().rerank(QUERY, TEXTS, mode="hybrid")
        assert [(each.content, each.score) for each in found] == [(r.text, r.score) for r in ranked]
        assert found[0].content == TEXTS[1]
        dense = GemRanker().run(QUERY, DOCUMENTS)["documents"]
        assert dense[0].score != found[0].score
        assert GemRanker.from_dict(GemRanker(mode="hybrid").to_dict()).mode == "hybrid"

    def test_another_mode(self):
        with pytest.raises(ValueError, match="mode is 'lexical'; expected 'dense' or 'hybrid'"):
            GemRanker(mode="lexical")
