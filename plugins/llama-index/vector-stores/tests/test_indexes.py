"""GemVectorStore under LlamaIndex indexes, retrievers and pipelines; the pages of the documentation."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from llama_index.core import Document, StorageContext, VectorStoreIndex
from llama_index.core.ingestion import DocstoreStrategy, IngestionPipeline
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.schema import (
    TextNode,
)
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.core.vector_stores import (
    VectorStoreQuery,
)
from llama_index.vector_stores.gem import GemVectorStore
from stores import TEXTS, filters, ids

from gem_index.testing import run_page


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


@pytest.mark.parametrize("page", ["README.md", "../../../docs/cookbook/llama-index.md"])
def test_the_pages_run(page: str) -> None:
    run_page(Path(__file__).parents[1] / page)


def test_no_package_of_the_shared_namespace_is_closed() -> None:
    import llama_index
    import llama_index.vector_stores

    assert llama_index.__file__ is None  # namespace packages, which other distributions fill too
    assert llama_index.vector_stores.__file__ is None
