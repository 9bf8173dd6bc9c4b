"""Sparse vectors of words in the hybrid modes of Qdrant and Milvus, and the re-ranker by meaning and words."""

import asyncio
import warnings

import pytest
from langchain_core.documents import Document
from langchain_core.load import dumps, loads
from langchain_gem import GemEmbeddings, GemReranker, milvus, qdrant
from langchain_milvus import Milvus
from langchain_qdrant import QdrantVectorStore, RetrievalMode
from pydantic import ValidationError

from gem_index import Home, open_provider
from gem_index.errors import ConfigError

TEXTS = [
    "Error 4712 of the printer",
    "Error 4711 of the printer",
    "How do I renew a residence visa?",
    "Die Müllabfuhr kommt in München jeden Dienstag",
    "护照过期了怎么办 需要带身份证和照片去办理",
    "كيف أجدد جواز السفر قبل السفر",
    "?",
    "a visa, a bank, a river " * 2000,
]
QUERY = "my printer shows error 4711"
both = pytest.mark.parametrize("module", [qdrant, milvus], ids=["qdrant", "milvus"])


def pairs(vector):
    if isinstance(vector, dict):
        return {index: value for index, value in vector.items() if index < 2**31}
    return dict(zip(vector.indices, vector.values, strict=True))


def expected(vector):
    return dict(zip(vector.indices.tolist(), vector.values.tolist(), strict=True))


@pytest.fixture
def faq(own_home):
    Home().build("faq", [{"id": str(i), "text": text} for i, text in enumerate(TEXTS)])
    return Home().collection("faq")


class TestVectors:
    @both
    @pytest.mark.parametrize("choice", [{}, {"words": "de"}, {"collection": "faq"}])
    def test_they_are_those_of_the_provider(self, module, choice, faq):
        sparse, provider = module.GemSparseEmbeddings(**choice), open_provider(**choice)
        texts = [*TEXTS, TEXTS[0]]
        found = sparse.embed_documents(texts)
        for one, other in zip(found, provider.embed_sparse_documents(texts), strict=True):
            assert pairs(one) == expected(other)
        for text in texts:
            assert pairs(sparse.embed_query(text)) == expected(provider.embed_sparse_query(text))
        assert asyncio.run(sparse.aembed_documents(texts)) == found
        assert asyncio.run(sparse.aembed_query(QUERY)) == sparse.embed_query(QUERY)
        assert sparse.embed_documents([]) == []

    @both
    def test_saved_and_loaded(self, module):
        sparse = module.GemSparseEmbeddings(words="de")
        saved = dumps(sparse)
        again = loads(
            saved,
            allowed_objects=[module.GemSparseEmbeddings],
            valid_namespaces=["langchain_gem"],
        )
        assert again.model_dump() == sparse.model_dump()
        assert again.embed_documents(TEXTS) == sparse.embed_documents(TEXTS)

    @both
    def test_a_wrong_language(self, module):
        with pytest.raises(ConfigError, match="klingon"):
            module.GemSparseEmbeddings(words="klingon")

    def test_no_empty_vector_in_milvus(self):
        sparse = milvus.GemSparseEmbeddings()
        [document], query = sparse.embed_documents(["?"]), sparse.embed_query("?")
        assert document
        assert query
        assert not set(document) & set(query)


class TestQdrant:
    @pytest.fixture
    def store(self):
        return QdrantVectorStore.from_texts(
            TEXTS,
            GemEmbeddings(),
            sparse_embedding=qdrant.GemSparseEmbeddings(),
            location=":memory:",
            collection_name="faq",
            retrieval_mode=RetrievalMode.HYBRID,
        )

    def test_words_decide(self, store):
        assert store.similarity_search(QUERY, k=1)[0].page_content == TEXTS[1]
        assert len(store.similarity_search("?", k=3)) == 3

    def test_the_sparse_mode_alone(self):
        store = QdrantVectorStore.from_texts(
            TEXTS,
            sparse_embedding=qdrant.GemSparseEmbeddings(),
            location=":memory:",
            collection_name="faq",
            retrieval_mode=RetrievalMode.SPARSE,
        )
        [(best, score)] = store.similarity_search_with_score("4711", k=1)
        query, document = map(
            pairs,
            (
                qdrant.GemSparseEmbeddings().embed_query("4711"),
                qdrant.GemSparseEmbeddings().embed_documents([TEXTS[1]])[0],
            ),
        )
        assert best.page_content == TEXTS[1]
        assert score == pytest.approx(sum(v * document[i] for i, v in query.items()), abs=1e-5)

    def test_re_ranked_they_have_the_scores_of_a_search(self, faq):
        store = QdrantVectorStore.from_texts(
            TEXTS,
            GemEmbeddings(collection="faq"),
            sparse_embedding=qdrant.GemSparseEmbeddings(collection="faq"),
            location=":memory:",
            collection_name="faq",
            retrieval_mode=RetrievalMode.HYBRID,
        )
        reranker = GemReranker(collection="faq", mode="hybrid")
        found = reranker.compress_documents(store.similarity_search(QUERY, k=6), QUERY)
        hits = faq.search(QUERY, 3, correct=False)
        assert [each.page_content for each in found] == [hit.text for hit in hits]
        for each, hit in zip(found, hits, strict=True):
            assert each.metadata["relevance_score"] == pytest.approx(hit.score, abs=5e-3)


class TestMilvus:
    def test_words_decide(self, tmp_path):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # langchain-milvus' own
            store = Milvus.from_texts(
                TEXTS,
                [GemEmbeddings(), milvus.GemSparseEmbeddings()],
                vector_field=["dense", "words"],
                connection_args={"uri": str(tmp_path / "faq.db")},
                collection_name="faq",
                index_params=[
                    {"index_type": "FLAT", "metric_type": "IP"},
                    {"index_type": "SPARSE_INVERTED_INDEX", "metric_type": "IP"},
                ],
                search_params=[{"metric_type": "IP"}, {"metric_type": "IP"}],
                auto_id=True,
            )
            assert store.similarity_search(QUERY, k=1)[0].page_content == TEXTS[1]
            assert len(store.similarity_search("?", k=3)) == 3
            store.client.close()


class TestReranker:
    def test_words_count_on_request(self):
        dense, hybrid = GemReranker(top_n=None), GemReranker(top_n=None, mode="hybrid")
        texts = [text for text in TEXTS if text != "?"]
        candidates = [Document(page_content=text) for text in texts]
        found = hybrid.compress_documents(candidates, QUERY)
        scores = {each.page_content: each.metadata["relevance_score"] for each in found}
        ranked = open_provider().rerank(QUERY, texts, mode="hybrid")
        assert scores == {each.text: each.score for each in ranked}
        assert found[0].page_content == TEXTS[1]
        cosines = dense.compress_documents(candidates, QUERY)
        assert cosines[0].metadata["relevance_score"] != found[0].metadata["relevance_score"]

    def test_saved_with_its_mode(self):
        reranker = GemReranker(mode="hybrid", words="de")
        again = GemReranker.model_validate_json(reranker.model_dump_json())
        assert (again.mode, again.words) == ("hybrid", "de")

    def test_another_mode(self):
        with pytest.raises(ValidationError, match="'dense' or 'hybrid'"):
            GemReranker(mode="lexical")
