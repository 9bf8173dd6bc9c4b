"""GemRerank in LlamaIndex: values, serialisation, query engines, processes."""

from __future__ import annotations

import asyncio
import json
import os
import pickle
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
from calls import nodes_of, ranking
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

from gem_index import Document, GemIndexError, Home, open_provider
from gem_index.testing import run_page

ROOT = Path(__file__).resolve().parents[4]
QUERY = "renewing my visa"
TEXTS = [
    "where can I open a bank account?",
    "how do I renew a visa?",
    "is the school open today?",
    "visa fees at the bank",
    "a man plays guitar",
]
WORDLESS = ["", " \n\t", "?!... --"]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.safetensors"
    fit(path, TEXTS)
    return path


def fit(path: Path, corpus: list[str]) -> None:
    open_provider(config={"removed": 1, "components": 3}).encoder.fit(corpus).save(path)


def expected(query: str, texts: list[str], **choice: object) -> list[tuple[int, float]]:
    provider = open_provider(**choice)
    scores = provider.embed_documents(texts) @ provider.embed_query(query)
    order = np.argsort(-scores, kind="stable")
    return [(int(i), pytest.approx(float(scores[i]), abs=1e-6)) for i in order]


class TestScores:
    def test_unfitted_it_ranks_by_the_cosines(self) -> None:
        found = ranking(GemRerank(top_n=5), QUERY, TEXTS)
        assert found == expected(QUERY, TEXTS)
        assert found[0][0] == 1

    def test_a_model_file(self, model: Path) -> None:
        found = ranking(GemRerank(model=model, top_n=5), QUERY, TEXTS)
        assert found == expected(QUERY, TEXTS, model=model)
        unfitted = dict(ranking(GemRerank(top_n=5), QUERY, TEXTS))
        assert max(abs(score - unfitted[i]) for i, score in found) > 1e-3

    def test_a_collection(self, tmp_path: Path) -> None:
        Home(tmp_path).build("faq", [Document(id=str(i), text=t) for i, t in enumerate(TEXTS)])
        found = ranking(GemRerank(collection="faq", home=tmp_path, top_n=5), QUERY, TEXTS)
        assert found == expected(QUERY, TEXTS, collection="faq", home=tmp_path)

    def test_top_n(self) -> None:
        assert ranking(GemRerank(), QUERY, TEXTS) == ranking(GemRerank(top_n=99), QUERY, TEXTS)[:2]
        with pytest.raises(ValueError, match="greater than 0"):
            GemRerank(top_n=0)

    def test_together_as_one_by_one(self) -> None:
        adapter = GemRerank(top_n=9)
        together = dict(ranking(adapter, QUERY, TEXTS + WORDLESS))
        alone = [ranking(adapter, QUERY, [text])[0][1] for text in TEXTS + WORDLESS]
        np.testing.assert_allclose([together[i] for i in range(8)], alone, atol=1e-6)

    def test_a_node_without_words_scores_zero(self) -> None:
        found = dict(ranking(GemRerank(top_n=9), QUERY, WORDLESS + TEXTS))
        assert [found[i] for i in range(3)] == [0.0, 0.0, 0.0]
        assert found[4] > 0.5

    def test_equal_scores_keep_the_order(self) -> None:
        assert ranking(GemRerank(top_n=3), "?!", TEXTS) == [(0, 0.0), (1, 0.0), (2, 0.0)]
        found = ranking(GemRerank(top_n=4), QUERY, [TEXTS[1]] * 3 + [TEXTS[0]])
        assert [i for i, _ in found] == [0, 1, 2, 3]

    def test_odd_and_long_texts(self) -> None:
        odd = [
            "東京は日本の首都です",
            "مرحبا بالعالم",
            "café naïve ß",
            "😀 smile",
            "nul \x00 inside",
        ]
        long = " ".join(TEXTS) * 8000
        found = ranking(GemRerank(top_n=9), "café in Tokyo", [*odd, long])
        assert len(found) == 6
        assert found == expected("café in Tokyo", [*odd, long])

    def test_ten_thousand_nodes(self) -> None:
        texts = [f"{TEXTS[i % 5]} number {i}" for i in range(10_000)]
        found = ranking(GemRerank(top_n=10), QUERY, texts)
        assert found == expected(QUERY, texts)[:10]

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
            expected(QUERY, TEXTS, config={"removed": 5})[:3]
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

    def test_another_fit_is_refused(self, model: Path) -> None:
        adapter = GemRerank(model=model)
        as_json, pickled = adapter.to_json(), pickle.dumps(adapter)
        fit(model, TEXTS[:3])
        for load, saved in ((GemRerank.from_json, as_json), (pickle.loads, pickled)):
            with pytest.raises(
                GemIndexError, match=r"model\.safetensors was made with the encoder"
            ):
                load(saved)

    def test_other_vectors_are_refused(self, tmp_path: Path) -> None:
        home = Home(tmp_path / "home")
        for seed in (1, 2):
            rows = np.random.default_rng(seed).standard_normal((2, 4))
            lines = [
                " ".join([word, *map(str, row.round(4))])
                for word, row in zip(("visa", "bank"), rows, strict=True)
            ]
            (tmp_path / f"{seed}.txt").write_text("\n".join(lines) + "\n")
        home.add_vectors("mine", tmp_path / "1.txt")
        saved = GemRerank("mine", config="transfer", home=home).to_dict()
        assert ranking(GemRerank.from_dict(saved), "visa", ["bank", "visa"])[0][0] == 1
        home.remove_vectors("mine")
        home.add_vectors("mine", tmp_path / "2.txt")
        with pytest.raises(GemIndexError, match="mine was made with the encoder"):
            GemRerank.from_dict(saved)

    def test_a_short_repr(self) -> None:
        adapter = GemRerank(top_n=7)
        named = f"vectors='wordllama-gem', top_n=7, fingerprint='{adapter.fingerprint[:12]}'"
        assert repr(adapter) == f"GemRerank({named})"

    def test_a_field_of_the_provider_cannot_be_assigned(self) -> None:
        adapter = GemRerank()
        with pytest.raises(ValueError, match="frozen"):
            adapter.vectors = "other"


class TestThreadsAndProcesses:
    def test_threads_share_it(self) -> None:
        adapter = GemRerank(top_n=5)
        alone = ranking(adapter, QUERY, TEXTS)
        with ThreadPoolExecutor(8) as pool:
            for found in pool.map(lambda _: ranking(adapter, QUERY, TEXTS), range(32)):
                assert found == alone

    @pytest.mark.parametrize("method", ["spawn", "fork"])
    def test_child_processes_rank_alike(self, method: str) -> None:
        adapter, texts = GemRerank(top_n=5), TEXTS * 500
        here = ranking(adapter, QUERY, texts)
        with ProcessPoolExecutor(1, mp_context=get_context(method)) as pool:
            assert pool.submit(ranking, adapter, QUERY, texts).result(timeout=120) == here

    def test_a_second_process_loads_what_was_saved(self, tmp_path: Path, model: Path) -> None:
        adapter = GemRerank(model=model, top_n=3)
        (tmp_path / "gem.json").write_text(adapter.to_json())
        found = second_process(tmp_path)
        assert found.returncode == 0, found.stderr
        assert json.loads(found.stdout) == [list(x) for x in ranking(adapter, QUERY, TEXTS)]
        fit(model, TEXTS[:3])
        refused = second_process(tmp_path)
        assert refused.returncode == 1
        assert "FingerprintMismatchError" in refused.stderr


SECOND = """
import json, pathlib, sys
from calls import ranking
from llama_index.postprocessor.gem import GemRerank
adapter = GemRerank.from_json(pathlib.Path("gem.json").read_text())
print(json.dumps(ranking(adapter, sys.argv[1], json.loads(sys.argv[2]))))
"""


def second_process(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", SECOND, QUERY, json.dumps(TEXTS)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=folder,
        env=os.environ | {"HF_HUB_OFFLINE": "1", "PYTHONPATH": str(Path(__file__).parent)},
    )


def test_the_readme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GEM_INDEX_HOME", str(tmp_path / "home"))
    run_page(ROOT / "plugins/llama-index/postprocessor/README.md")


def test_no_package_of_the_shared_namespace_is_closed() -> None:
    import llama_index
    import llama_index.postprocessor

    assert llama_index.__file__ is None  # namespace packages, which other distributions fill too
    assert llama_index.postprocessor.__file__ is None
