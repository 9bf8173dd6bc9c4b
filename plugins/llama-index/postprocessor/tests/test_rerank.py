"""GemRerank in LlamaIndex: values, serialisation, query engines, processes."""

from __future__ import annotations

import asyncio
import json
import pickle
from pathlib import Path

import pytest
from llama_index.core import VectorStoreIndex
from llama_index.core.callbacks import CallbackManager, CBEventType, EventPayload, LlamaDebugHandler
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.instrumentation.events import BaseEvent
from llama_index.core.instrumentation.events.rerank import ReRankEndEvent, ReRankStartEvent
from llama_index.core.llms import MockLLM
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.embeddings.gem import GemEmbedding
from llama_index.postprocessor.gem import GemRerank
from pydantic import ValidationError

from calls import nodes_of, ranking
from gem_index import open_provider
from gem_index.testing import RerankerContract, cosine_ranking, fit_model, run_page, run_python

QUERY = "renewing my visa"
TEXTS = [
    "where can I open a bank account?",
    "how do I renew a visa?",
    "is the school open today?",
    "visa fees at the bank",
    "a man plays guitar",
]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.safetensors"
    fit_model(path, TEXTS)
    return path


class TestGemRerank(RerankerContract):
    rank = staticmethod(ranking)

    def make(self, **choice):
        return GemRerank(**choice, top_n=self.many)

    def save(self, adapter):
        return adapter.to_json()

    def load(self, saved):
        return GemRerank.from_json(saved)


class TestScores:
    def test_top_n(self) -> None:
        assert ranking(GemRerank(), QUERY, TEXTS) == ranking(GemRerank(top_n=99), QUERY, TEXTS)[:2]
        with pytest.raises(ValueError, match="greater than 0"):
            GemRerank(top_n=0)

    def test_ten_thousand_nodes(self) -> None:
        texts = [f"{TEXTS[i % 5]} number {i}" for i in range(10_000)]
        found = ranking(GemRerank(top_n=10), QUERY, texts)
        assert found == cosine_ranking(QUERY, texts)[:10]

    def test_metadata_counts_as_it_is_embedded(self) -> None:
        plain, told = (
            TextNode(text="see below", metadata=m) for m in ({}, {"title": "renew a visa"})
        )
        hidden = TextNode(
            text="see below",
            metadata={"title": "renew a visa"},
            excluded_embed_metadata_keys=["title"],
        )
        nodes = [NodeWithScore(node=node) for node in (plain, hidden, told)]
        best, second, third = GemRerank(top_n=3).postprocess_nodes(nodes, query_str=QUERY)
        assert best.node is told
        assert second.score == third.score < best.score


class TestInterface:
    def test_no_nodes(self) -> None:
        assert GemRerank().postprocess_nodes([], query_str=QUERY) == []

    def test_no_query_is_refused(self) -> None:
        for nodes in ([], nodes_of(TEXTS)):
            with pytest.raises(ValueError, match="found no query; expected one"):
                GemRerank().postprocess_nodes(nodes)

    def test_the_nodes_given_are_not_changed(self) -> None:
        nodes = [NodeWithScore(node=TextNode(text=text), score=0.25) for text in TEXTS]
        hits = GemRerank(top_n=5).postprocess_nodes(nodes, QueryBundle(QUERY))
        assert [node.score for node in nodes] == [0.25] * 5
        assert [node.node.text for node in nodes] == TEXTS
        assert hits[0].node is nodes[1].node

    def test_asynchronously(self) -> None:
        adapter, nodes = GemRerank(top_n=5), nodes_of(TEXTS)
        assert asyncio.run(adapter.apostprocess_nodes(nodes, query_str=QUERY)) == (
            adapter.postprocess_nodes(nodes, query_str=QUERY)
        )

    def test_callbacks_and_events_are_told(self, model: Path) -> None:
        seen: list[BaseEvent] = []

        class Handler(BaseEventHandler):
            def handle(self, event: BaseEvent, **kwargs: object) -> None:
                seen.append(event)

        debug, handler = LlamaDebugHandler(print_trace_on_end=False), Handler()
        get_dispatcher().add_event_handler(handler)
        try:
            adapter = GemRerank(model=model, callback_manager=CallbackManager([debug]))
            hits = adapter.postprocess_nodes(nodes_of(TEXTS), query_str=QUERY)
        finally:
            get_dispatcher().event_handlers.remove(handler)
        ((start, end),) = debug.get_event_pairs(CBEventType.RERANKING)
        assert start.payload[EventPayload.QUERY_STR] == QUERY
        assert start.payload[EventPayload.MODEL_NAME] == f"gem:{model}"
        assert end.payload[EventPayload.NODES] == hits
        (began,) = (event for event in seen if isinstance(event, ReRankStartEvent))
        assert (began.top_n, began.model_name, len(began.nodes)) == (2, f"gem:{model}", 5)
        (ended,) = (event for event in seen if isinstance(event, ReRankEndEvent))
        assert ended.nodes == hits

    def test_in_a_query_engine(self) -> None:
        nodes = [TextNode(id_=str(i), text=text) for i, text in enumerate(TEXTS)]
        index = VectorStoreIndex(nodes, embed_model=GemEmbedding())
        engine = index.as_query_engine(
            llm=MockLLM(),
            similarity_top_k=5,
            node_postprocessors=[GemRerank(config={"removed": 5}, top_n=3)],
        )
        hits = engine.query(QUERY).source_nodes
        assert [(int(hit.node.node_id), hit.score) for hit in hits] == (
            cosine_ranking(QUERY, TEXTS, config={"removed": 5})[:3]
        )
        hits = asyncio.run(engine.aquery(QUERY)).source_nodes
        assert hits[0].node.node_id == "1"


class TestSerialisation:
    def test_the_fields_are_the_settings_of_the_provider(self, model: Path) -> None:
        adapter = GemRerank(model=model, top_n=7)
        found = adapter.to_dict()
        assert found == {
            "vectors": None,
            "model": str(model),
            "collection": None,
            "config": None,
            "home": None,
            "fingerprint": open_provider(model=model).fingerprint,
            "words": None,
            "mode": "dense",
            "top_n": 7,
            "class_name": "GemRerank",
        }
        assert GemRerank.from_dict(found).to_dict() == found

    @pytest.mark.parametrize("fitted", [True, False])
    def test_a_copy_ranks_alike(self, model: Path, fitted: bool) -> None:
        adapter = GemRerank(model=model, top_n=5) if fitted else GemRerank(top_n=5)
        for copy in (
            GemRerank.from_json(adapter.to_json()),
            pickle.loads(pickle.dumps(adapter)),
            adapter.model_copy(deep=True),
        ):
            assert copy.to_dict() == adapter.to_dict()
            assert ranking(copy, QUERY, TEXTS) == ranking(adapter, QUERY, TEXTS)

    def test_a_short_repr(self) -> None:
        adapter = GemRerank(top_n=7)
        named = f"vectors='wordllama-gem', top_n=7, fingerprint='{adapter.fingerprint[:12]}'"
        assert repr(adapter) == f"GemRerank({named})"

    def test_a_field_of_the_provider_cannot_be_assigned(self) -> None:
        adapter = GemRerank()
        with pytest.raises(ValueError, match="frozen"):
            adapter.vectors = "other"

    def test_a_second_process_loads_what_was_saved(self, tmp_path: Path, model: Path) -> None:
        adapter = GemRerank(model=model, top_n=3)
        (tmp_path / "gem.json").write_text(adapter.to_json())
        script = ["-c", SECOND, QUERY, json.dumps(TEXTS)]
        found = run_python(*script, import_from=Path(__file__).parent)
        assert json.loads(found.stdout) == [list(x) for x in ranking(adapter, QUERY, TEXTS)]
        fit_model(model, TEXTS[:3])
        refused = run_python(*script, import_from=Path(__file__).parent, status=1)
        assert "FingerprintMismatchError" in refused.stderr


SECOND = """
import json, pathlib, sys
from calls import ranking
from llama_index.postprocessor.gem import GemRerank
adapter = GemRerank.from_json(pathlib.Path("gem.json").read_text())
print(json.dumps(ranking(adapter, sys.argv[1], json.loads(sys.argv[2]))))
"""


def test_the_readme_runs() -> None:
    run_page(Path(__file__).parents[1] / "README.md")


def test_no_package_of_the_shared_namespace_is_closed() -> None:
    import llama_index
    import llama_index.postprocessor

    assert llama_index.__file__ is None  # namespace packages, which other distributions fill too
    assert llama_index.postprocessor.__file__ is None


def test_words_count_on_request() -> None:
    texts = ["Error 4712 of the printer", "Error 4711 of the printer", "a visa", "?"]
    nodes = [NodeWithScore(node=TextNode(text=text)) for text in texts]
    query = "my printer shows error 4711"
    reranker = GemRerank(mode="hybrid", words="en", top_n=4)
    found = reranker.postprocess_nodes(nodes, query_str=query)
    ranked = open_provider().rerank(query, texts, mode="hybrid")
    assert [(each.text, each.score) for each in found] == [(r.text, r.score) for r in ranked]
    assert found[0].text == texts[1]
    again = GemRerank.from_dict(reranker.to_dict())
    assert (again.mode, again.words) == ("hybrid", "en")
    assert pickle.loads(pickle.dumps(reranker)).mode == "hybrid"
    assert GemRerank(top_n=1).postprocess_nodes(nodes, query_str=query)[0].score != found[0].score
    with pytest.raises(ValidationError, match="'dense' or 'hybrid'"):
        GemRerank(mode="lexical")
