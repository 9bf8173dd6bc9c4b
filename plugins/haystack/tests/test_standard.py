"""Haystack's own tests of document stores, and the contracts of embedding providers and re-rankers."""

import pytest
from haystack import Document
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.testing.document_store import (
    CountDocumentsByFilterTest,
    DocumentStoreBaseExtendedTests,
    DocumentStoreBaseTests,
)
from haystack.testing.document_store_async import (
    CountDocumentsAsyncTest,
    DeleteDocumentsAsyncTest,
    FilterDocumentsAsyncTest,
    WriteDocumentsAsyncTest,
)
from haystack_integrations.components.embedders.gem import GemDocumentEmbedder, GemTextEmbedder
from haystack_integrations.components.rankers.gem import GemRanker
from haystack_integrations.document_stores.gem import GemDocumentStore

import calls
from gem_index.testing import EmbeddingProviderContract, RerankerContract


class TestDocumentStore(DocumentStoreBaseTests):
    @pytest.fixture
    def document_store(self, tmp_path):
        return GemDocumentStore("standard", home=tmp_path / "home")

    def test_write_documents(self, document_store):
        """Without a policy a second writing fails, as in Haystack's own store."""
        documents = [Document(id="1", content="a visa"), Document(id="2", content="a bank")]
        assert document_store.write_documents(documents) == 2
        with pytest.raises(DuplicateDocumentError, match="'2' is stored already"):
            document_store.write_documents(documents[1:])
        assert document_store.filter_documents() == documents


class TestDocumentStoreExtended(
    TestDocumentStore, DocumentStoreBaseExtendedTests, CountDocumentsByFilterTest
):
    pass


class TestDocumentStoreAsync(
    CountDocumentsAsyncTest,
    DeleteDocumentsAsyncTest,
    FilterDocumentsAsyncTest,
    WriteDocumentsAsyncTest,
):
    @pytest.fixture
    def document_store(self, tmp_path):
        return GemDocumentStore("standard", home=tmp_path / "home")

    async def test_write_documents_async(self, document_store):
        documents = [Document(id="1", content="a visa")]
        assert await document_store.write_documents_async(documents) == 1
        with pytest.raises(DuplicateDocumentError):
            await document_store.write_documents_async(documents)


class TestTextEmbedder(EmbeddingProviderContract):
    embed = staticmethod(calls.embed_texts)
    embed_query = staticmethod(calls.embed_text)
    many = 1000  # one at a time
    lazy = True

    def make(self, **choice):
        return GemTextEmbedder(**choice)

    def save(self, embedder):
        return embedder.to_dict()

    def load(self, saved):
        return GemTextEmbedder.from_dict(saved)


class TestDocumentEmbedder(EmbeddingProviderContract):
    embed = staticmethod(calls.embed_documents)
    embed_query = staticmethod(calls.embed_one_document)
    lazy = True

    def make(self, **choice):
        return GemDocumentEmbedder(**choice)

    def save(self, embedder):
        return embedder.to_dict()

    def load(self, saved):
        return GemDocumentEmbedder.from_dict(saved)


class TestRanker(RerankerContract):
    rank = staticmethod(calls.rank)
    lazy = True

    def make(self, **choice):
        return GemRanker(**choice, top_k=None)

    def save(self, ranker):
        return ranker.to_dict()

    def load(self, saved):
        return GemRanker.from_dict(saved)
