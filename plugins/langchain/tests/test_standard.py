"""LangChain's own standard tests, all of them, and the contracts of embedding providers and re-rankers."""

import pytest
from langchain_core.load import dumps, loads
from langchain_gem import GemEmbeddings, GemReranker, GemRetriever, GemVectorStore
from langchain_tests.integration_tests import (
    EmbeddingsIntegrationTests,
    RetrieversIntegrationTests,
    VectorStoreIntegrationTests,
)
from langchain_tests.unit_tests import EmbeddingsUnitTests

import calls
from gem_index import Document, Home
from gem_index.testing import EmbeddingProviderContract, RerankerContract

FAQ = [
    "how do I renew a visa?",
    "where can I open a bank account?",
    "is the school open today?",
    "how long does tea keep?",
]


class TestEmbeddingsUnit(EmbeddingsUnitTests):
    @property
    def embeddings_class(self):
        return GemEmbeddings

    @property
    def embedding_model_params(self):
        return {"vectors": "wordllama", "config": "cqa"}


class TestEmbeddingsIntegration(EmbeddingsIntegrationTests):
    @property
    def embeddings_class(self):
        return GemEmbeddings


class TestVectorStore(VectorStoreIntegrationTests):
    @pytest.fixture
    def vectorstore(self, tmp_path):
        return GemVectorStore("standard", home=tmp_path / "home")


class TestVectorStoreOfGivenEmbeddings(VectorStoreIntegrationTests):
    @pytest.fixture
    def vectorstore(self, tmp_path):
        return GemVectorStore("standard", self.get_embeddings(), home=tmp_path / "home")

    @staticmethod
    def get_embeddings():
        """Ours: the collection embeds its texts itself."""
        return GemEmbeddings(vectors="wordllama", config="cqa")


class TestRetriever(RetrieversIntegrationTests):
    @pytest.fixture(autouse=True)
    def _faq(self, own_home):
        Home().build("faq", (Document(id=str(i), text=text) for i, text in enumerate(FAQ)))

    @property
    def retriever_constructor(self):
        return GemRetriever

    @property
    def retriever_constructor_params(self):
        return {"collection": "faq"}

    @property
    def retriever_query_example(self):
        return "renewing my visa"


class TestRetrieverOfAStore(TestRetriever):
    """The result of as_retriever; the standard tests take a class and pass it k."""

    @property
    def retriever_constructor(self):
        def make(k=4, **params):
            return GemVectorStore("faq").as_retriever(search_kwargs={"k": k})

        return make


class TestProvider(EmbeddingProviderContract):
    def make(self, **choice):
        return GemEmbeddings(**choice)

    def save(self, embeddings):
        return dumps(embeddings)

    def load(self, saved):
        return loads(saved, allowed_objects=[GemEmbeddings], valid_namespaces=["langchain_gem"])


class TestProviderAsFields(TestProvider):
    """Saved as pydantic models are."""

    def save(self, embeddings):
        return embeddings.model_dump_json()

    def load(self, saved):
        return GemEmbeddings.model_validate_json(saved)


class TestReranker(RerankerContract):
    rank = staticmethod(calls.rank)

    def make(self, **choice):
        return GemReranker(**choice, top_n=None)

    def save(self, reranker):
        return reranker.model_dump_json()

    def load(self, saved):
        return GemReranker.model_validate_json(saved)
