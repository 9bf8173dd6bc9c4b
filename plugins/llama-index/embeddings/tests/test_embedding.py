"""GemEmbedding in LlamaIndex: values, serialisation, pipelines, indexes, processes."""

from __future__ import annotations

import asyncio
import json
import pickle
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.callbacks import CallbackManager, CBEventType, LlamaDebugHandler
from llama_index.core.ingestion import IngestionCache, IngestionPipeline
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.instrumentation.events import BaseEvent
from llama_index.core.instrumentation.events.embedding import EmbeddingEndEvent
from llama_index.core.node_parser import SemanticSplitterNodeParser, SentenceSplitter
from llama_index.core.schema import Document, TextNode
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.core.storage.kvstore import SimpleKVStore
from llama_index.core.vector_stores import SimpleVectorStore
from llama_index.embeddings.gem import GemEmbedding
from llama_index.vector_stores.qdrant import QdrantVectorStore
from qdrant_client import QdrantClient

from calls import embed, embed_query
from gem_index import GemConfig, Home, open_provider
from gem_index.testing import (
    EmbeddingProviderContract,
    cosine_ranking,
    fit_model,
    run_page,
    run_python,
)

TEXTS = [
    "how do I renew a visa?",
    "where can I open a bank account?",
    "is the school open today?",
    "a man plays guitar",
]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.safetensors"
    fit_model(path, TEXTS)
    return path


class TestGemEmbedding(EmbeddingProviderContract):
    embed = staticmethod(embed)
    embed_query = staticmethod(embed_query)

    def make(self, **choice):
        return GemEmbedding(**choice)

    def save(self, adapter):
        return adapter.to_json()

    def load(self, saved):
        return GemEmbedding.from_json(saved)


class TestSerialisation:
    def test_the_fields_are_the_settings_of_the_provider(self, model: Path) -> None:
        adapter = GemEmbedding(model=model, embed_batch_size=7)
        found = adapter.to_dict()
        assert found == {
            "model_name": f"gem:{model}",
            "embed_batch_size": 7,
            "num_workers": None,
            "embeddings_cache": None,
            "vectors": None,
            "model": str(model),
            "collection": None,
            "config": None,
            "home": None,
            "fingerprint": open_provider(model=model).fingerprint,
            "words": None,
            "class_name": "GemEmbedding",
        }
        assert GemEmbedding.from_dict(found).to_dict() == found
        assert GemEmbedding.class_name() == "GemEmbedding"

    def test_a_configuration_is_kept(self) -> None:
        adapter = GemEmbedding("wordllama", config=GemConfig.cqa())
        again = GemEmbedding.from_json(adapter.to_json())
        assert again.vectors == "wordllama"
        assert (
            again.config
            == adapter.config
            == open_provider("wordllama", config="cqa").settings["config"]
        )
        expected = open_provider("wordllama", config="cqa").embed_query(TEXTS[0])
        np.testing.assert_allclose(again.get_query_embedding(TEXTS[0]), expected, atol=1e-6)

    def test_a_pickle_keeps_fields_of_the_base_class(self, model: Path) -> None:
        adapter = GemEmbedding(model=model, embed_batch_size=3, num_workers=2, model_name="mine")
        copy = pickle.loads(pickle.dumps(adapter))
        assert copy.to_dict() == adapter.to_dict()
        assert copy.model_name == "mine"

    def test_a_copy_embeds_alike(self) -> None:
        adapter = GemEmbedding()
        for copy in (adapter.model_copy(), adapter.model_copy(deep=True)):
            assert copy.get_text_embedding(TEXTS[0]) == adapter.get_text_embedding(TEXTS[0])

    def test_a_short_repr(self, model: Path) -> None:
        for adapter, named in (
            (GemEmbedding(), "vectors='wordllama-gem'"),
            (GemEmbedding(model=model), f"model={str(model)!r}"),
        ):
            expected = f"GemEmbedding({named}, fingerprint='{adapter.fingerprint[:12]}')"
            assert repr(adapter) == expected

    def test_a_field_of_the_provider_cannot_be_assigned(self) -> None:
        with pytest.raises(ValueError, match="frozen"):
            GemEmbedding().model = "other"

    def test_a_home_may_be_an_object(self, tmp_path: Path) -> None:
        home = Home(tmp_path)
        home.create_collection("faq")
        adapter = GemEmbedding(collection="faq", home=home)
        assert adapter.home == str(tmp_path)
        assert GemEmbedding.from_dict(adapter.to_dict()).collection == "faq"


class TestEmbedding:
    def test_batches_do_not_change_the_vectors(self) -> None:
        small, large = GemEmbedding(embed_batch_size=2), GemEmbedding()
        assert small.get_text_embedding_batch(TEXTS * 3) == large.get_text_embedding_batch(
            TEXTS * 3
        )

    def test_llamaindexs_progress_bar_ends_with_the_whole_count(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        model = GemEmbedding(embed_batch_size=3)
        model.get_text_embedding_batch(TEXTS)
        assert capsys.readouterr().err == ""
        model.get_text_embedding_batch(TEXTS, show_progress=True)
        assert "4/4" in capsys.readouterr().err

    def test_asynchronous_methods_give_the_same(self) -> None:
        adapter = GemEmbedding(embed_batch_size=2)
        rows = adapter.get_text_embedding_batch(TEXTS)
        assert asyncio.run(adapter.aget_text_embedding_batch(TEXTS)) == rows
        assert asyncio.run(adapter.aget_text_embedding(TEXTS[1])) == rows[1]
        assert asyncio.run(adapter.aget_query_embedding(TEXTS[1])) == rows[1]
        assert asyncio.run(adapter.aget_agg_embedding_from_queries(TEXTS[:1])) == rows[0]

    @pytest.mark.parametrize(
        "method", ["aget_query_embedding", "aget_text_embedding", "aget_text_embedding_batch"]
    )
    def test_the_event_loop_goes_on_while_it_encodes(self, method: str) -> None:
        adapter = GemEmbedding()
        text = " ".join(TEXTS) * 20_000
        began, ticks = time.perf_counter(), []

        async def tick() -> None:
            while True:
                await asyncio.sleep(0.01)
                ticks.append(time.perf_counter())

        async def main() -> None:
            ticking = asyncio.create_task(tick())
            await getattr(adapter, method)([text] if method.endswith("batch") else text)
            ticking.cancel()

        adapter.get_query_embedding("compiles the kernels")
        asyncio.run(main())
        took = time.perf_counter() - began
        assert len(ticks) >= 3, took

    def test_similarity_with_zeros_is_zero(self) -> None:
        adapter = GemEmbedding()
        rows = adapter.get_text_embedding_batch([TEXTS[0], "?!", TEXTS[1]])
        assert adapter.similarity(rows[0], rows[1]) == 0.0
        assert adapter.similarity(rows[0], rows[0]) == pytest.approx(1, abs=1e-6)
        assert adapter.similarity(rows[0], rows[2]) == pytest.approx(
            np.dot(rows[0], rows[2]), abs=1e-6
        )
        assert adapter.similarity(rows[0], rows[1], mode="euclidean") == pytest.approx(-1, abs=1e-6)

    def test_the_semantic_splitter_meets_a_sentence_without_words(self) -> None:
        text = "Cats sleep all day. *** Cats also sleep at night. Interest rates rose again. Banks lend less money."
        splitter = SemanticSplitterNodeParser(
            embed_model=GemEmbedding(), buffer_size=0, breakpoint_percentile_threshold=60
        )
        nodes = splitter.get_nodes_from_documents([Document(text=text)])
        assert "".join(node.text for node in nodes).replace(" ", "") == text.replace(" ", "")
        assert len(nodes) > 1

    def test_callbacks_and_events_are_told(self) -> None:
        seen: list[BaseEvent] = []

        class Handler(BaseEventHandler):
            def handle(self, event: BaseEvent, **kwargs: object) -> None:
                seen.append(event)

        debug, handler = LlamaDebugHandler(print_trace_on_end=False), Handler()
        get_dispatcher().add_event_handler(handler)
        try:
            adapter = GemEmbedding(callback_manager=CallbackManager([debug]))
            row = adapter.get_query_embedding(TEXTS[0])
        finally:
            get_dispatcher().event_handlers.remove(handler)
        assert len(debug.get_event_pairs(CBEventType.EMBEDDING)) == 1
        (end,) = (event for event in seen if isinstance(event, EmbeddingEndEvent))
        assert end.embeddings == [row]

    def test_an_embeddings_cache_is_used(self) -> None:
        cache = SimpleKVStore()
        adapter = GemEmbedding(embeddings_cache=cache)
        rows = adapter.get_text_embedding_batch(TEXTS)
        assert sorted(cache.get_all("embeddings")) == sorted(TEXTS)
        assert adapter.get_text_embedding_batch(TEXTS) == rows

    def test_threads_may_embed_while_others_do(self) -> None:
        adapter, found = GemEmbedding(), {}
        threads = [
            threading.Thread(
                target=lambda i=i: found.__setitem__(i, adapter.get_text_embedding(TEXTS[i]))
            )
            for i in range(len(TEXTS))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [found[i] for i in range(len(TEXTS))] == [
            adapter.get_text_embedding(t) for t in TEXTS
        ]


def documents() -> list[Document]:
    return [Document(id_=f"d{i}", text=text) for i, text in enumerate(TEXTS)]


def pipeline(adapter: GemEmbedding, **parts: object) -> IngestionPipeline:
    return IngestionPipeline(transformations=[SentenceSplitter(), adapter], **parts)


class TestPipeline:
    def test_documents_seen_before_are_left_out_after_reloading(self, tmp_path: Path) -> None:
        adapter = GemEmbedding()
        first = pipeline(adapter, docstore=SimpleDocumentStore(), vector_store=SimpleVectorStore())
        nodes = first.run(documents=documents())
        np.testing.assert_allclose(
            [node.embedding for node in nodes], open_provider().embed_documents(TEXTS), atol=1e-6
        )
        first.persist(str(tmp_path / "pipeline"))

        again = pipeline(
            GemEmbedding.from_dict(adapter.to_dict()),
            docstore=SimpleDocumentStore(),
            vector_store=SimpleVectorStore(),
        )
        again.load(str(tmp_path / "pipeline"))
        assert again.run(documents=documents()) == []
        changed = again.run(
            documents=[*documents()[:3], Document(id_="d3", text="a woman plays the flute")]
        )
        assert [node.text for node in changed] == ["a woman plays the flute"]

    def test_the_cache_is_used_by_the_same_fit_alone(self, tmp_path: Path, model: Path) -> None:
        first = pipeline(GemEmbedding())
        rows = [node.embedding for node in first.run(documents=documents())]
        first.cache.persist(str(tmp_path / "cache.json"))
        cache = IngestionCache.from_persist_path(str(tmp_path / "cache.json"))
        entries = len(cache.cache.get_all(cache.collection))

        same = pipeline(GemEmbedding.from_json(GemEmbedding().to_json()), cache=cache)
        assert [node.embedding for node in same.run(documents=documents())] == rows
        assert len(cache.cache.get_all(cache.collection)) == entries  # nothing was embedded

        for corpus in (TEXTS, TEXTS[:3]):  # two fits of one name
            fit_model(model, corpus)
            entries = len(cache.cache.get_all(cache.collection))
            nodes = pipeline(GemEmbedding(model=model), cache=cache).run(documents=documents())
            assert len(cache.cache.get_all(cache.collection)) == entries + 1
            np.testing.assert_allclose(
                [node.embedding for node in nodes],
                open_provider(model=model).embed_documents(TEXTS),
                atol=1e-6,
            )

    def test_asynchronously(self) -> None:
        nodes = asyncio.run(pipeline(GemEmbedding()).arun(documents=documents()))
        np.testing.assert_allclose(
            [node.embedding for node in nodes], open_provider().embed_documents(TEXTS), atol=1e-6
        )

    def test_worker_processes(self) -> None:
        # No splitter: llama-index-core 0.14.25 never returns if a SentenceSplitter is sent to a worker.
        embedding = IngestionPipeline(transformations=[GemEmbedding()])
        nodes = embedding.run(documents=documents(), num_workers=2)
        np.testing.assert_allclose(
            [node.embedding for node in nodes], open_provider().embed_documents(TEXTS), atol=1e-6
        )


class TestIndex:
    def test_scores_are_the_cosines(self) -> None:
        nodes = [TextNode(id_=str(i), text=text) for i, text in enumerate(TEXTS)]
        index = VectorStoreIndex(nodes, embed_model=GemEmbedding())
        hits = index.as_retriever(similarity_top_k=4).retrieve("renewing my visa")
        assert [(int(hit.node.id_), hit.score) for hit in hits] == cosine_ranking(
            "renewing my visa", TEXTS
        )

    def test_asynchronous_retrieval(self) -> None:
        nodes = [TextNode(id_=str(i), text=text) for i, text in enumerate(TEXTS)]
        index = VectorStoreIndex(nodes, embed_model=GemEmbedding(), use_async=True)
        retriever = index.as_retriever(similarity_top_k=1)
        hits = asyncio.run(retriever.aretrieve("renewing my visa"))
        assert [(hit.node.id_, hit.score) for hit in hits] == [
            (hit.node.id_, hit.score) for hit in retriever.retrieve("renewing my visa")
        ]
        assert hits[0].node.id_ == "0"

    def test_nodes_without_words_are_left_out_as_the_readme_says(self) -> None:
        nodes = GemEmbedding()(
            [TextNode(id_=str(i), text=text) for i, text in enumerate(["***", *TEXTS])]
        )
        kept = [node for node in nodes if any(node.embedding)]
        assert [node.id_ for node in kept] == ["1", "2", "3", "4"]
        hits = (
            VectorStoreIndex(kept, embed_model=GemEmbedding())
            .as_retriever(similarity_top_k=5)
            .retrieve("visa")
        )
        assert np.isfinite([hit.score for hit in hits]).all()

    def test_a_stored_index_in_a_second_process(self, tmp_path: Path, model: Path) -> None:
        adapter = GemEmbedding(model=model)
        nodes = [TextNode(id_=str(i), text=text) for i, text in enumerate(TEXTS)]
        index = VectorStoreIndex(
            nodes, embed_model=adapter, storage_context=StorageContext.from_defaults()
        )
        index.storage_context.persist(str(tmp_path / "index"))
        (tmp_path / "index" / "gem.json").write_text(adapter.to_json())
        hits = index.as_retriever(similarity_top_k=3).retrieve("open a bank")

        found = run_python("-c", SECOND, str(tmp_path / "index"))
        assert json.loads(found.stdout) == [
            [hit.node.id_, pytest.approx(hit.score, abs=1e-6)] for hit in hits
        ]

        fit_model(model, TEXTS[:2])
        refused = run_python("-c", SECOND, str(tmp_path / "index"), status=1)
        assert "FingerprintMismatchError" in refused.stderr
        assert "model.safetensors was made with the encoder" in refused.stderr


SECOND = """
import json, pathlib, sys
from llama_index.core import StorageContext, load_index_from_storage
from llama_index.embeddings.gem import GemEmbedding
folder = pathlib.Path(sys.argv[1])
adapter = GemEmbedding.from_json((folder / "gem.json").read_text())
index = load_index_from_storage(StorageContext.from_defaults(persist_dir=str(folder)), embed_model=adapter)
hits = index.as_retriever(similarity_top_k=3).retrieve("open a bank")
print(json.dumps([[hit.node.id_, hit.score] for hit in hits]))
"""


@pytest.mark.filterwarnings("ignore:Payload indexes have no effect in the local Qdrant")
def test_the_readme_runs() -> None:
    run_page(Path(__file__).parents[1] / "README.md")


def test_no_package_of_the_shared_namespace_is_closed() -> None:
    import llama_index
    import llama_index.embeddings

    assert llama_index.__file__ is None  # namespace packages, which other distributions fill too
    assert llama_index.embeddings.__file__ is None


class TestQdrant:
    """The hybrid mode of LlamaIndex's store for Qdrant."""

    TEXTS = (
        "Error 4712 of the printer",
        "Error 4711 of the printer",
        "How do I renew a residence visa?",
        "Die Müllabfuhr kommt in München jeden Dienstag",
        "护照过期了怎么办 需要带身份证和照片去办理",
        "كيف أجدد جواز السفر قبل السفر",
        "?",
        "a visa, a bank, a river " * 2000,
    )

    @pytest.mark.parametrize("choice", [{}, {"words": "de"}])
    def test_sparse_vectors_are_those_of_the_provider(self, choice: dict[str, str]) -> None:
        model, provider = GemEmbedding(**choice), open_provider(**choice)
        texts = list(self.TEXTS)
        vectors = provider.embed_sparse_documents(texts)
        expected = [v.indices.tolist() for v in vectors], [v.values.tolist() for v in vectors]
        assert model.sparse_documents(texts) == expected
        vectors = [provider.embed_sparse_query(text) for text in texts]
        expected = [v.indices.tolist() for v in vectors], [v.values.tolist() for v in vectors]
        assert model.sparse_queries(texts) == expected
        assert model.sparse_documents([]) == ([], [])

    def test_saved_and_loaded(self) -> None:
        model = GemEmbedding(words="de")
        for again in (GemEmbedding.from_dict(model.to_dict()), pickle.loads(pickle.dumps(model))):
            assert again.words == "de"
            assert again.sparse_queries(["Müll"]) == model.sparse_queries(["Müll"])

    @pytest.mark.filterwarnings("ignore:Payload indexes have no effect in the local Qdrant")
    def test_words_decide_in_the_hybrid_mode(self) -> None:
        model = GemEmbedding()
        store = QdrantVectorStore(
            "faq",
            client=QdrantClient(location=":memory:"),
            enable_hybrid=True,
            sparse_doc_fn=model.sparse_documents,
            sparse_query_fn=model.sparse_queries,
        )
        index = VectorStoreIndex(
            [TextNode(text=text) for text in self.TEXTS],
            storage_context=StorageContext.from_defaults(vector_store=store),
            embed_model=model,
        )
        retriever = index.as_retriever(
            vector_store_query_mode="hybrid", similarity_top_k=2, sparse_top_k=6
        )
        for query, place in (("my printer shows error 4711", 1), ("护照", 4), ("Müllabfuhr", 3)):
            assert retriever.retrieve(query)[0].text == self.TEXTS[place]
