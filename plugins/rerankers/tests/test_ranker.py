"""GemRanker in rerankers: values, documents, saved settings, threads, processes."""

from __future__ import annotations

import asyncio
import json
import os
import pickle
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
from calls import ranking
from rerankers import Document, Reranker
from rerankers.models.ranker import BaseRanker
from rerankers.results import RankedResults
from rerankers_gem import GemRanker

import gem_index
from gem_index import GemIndexError, Home, open_provider
from gem_index.testing import run_page

ROOT = Path(__file__).resolve().parents[3]
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
        found = ranking(GemRanker(), QUERY, TEXTS)
        assert found == expected(QUERY, TEXTS)
        assert found[0][0] == 1

    def test_a_model_file(self, model: Path) -> None:
        found = ranking(GemRanker(model=model), QUERY, TEXTS)
        assert found == expected(QUERY, TEXTS, model=model)
        unfitted = dict(ranking(GemRanker(), QUERY, TEXTS))
        assert max(abs(score - unfitted[i]) for i, score in found) > 1e-3

    def test_a_collection(self, tmp_path: Path) -> None:
        documents = [gem_index.Document(id=str(i), text=text) for i, text in enumerate(TEXTS)]
        Home(tmp_path).build("faq", documents)
        found = ranking(GemRanker(collection="faq", home=tmp_path), QUERY, TEXTS)
        assert found == expected(QUERY, TEXTS, collection="faq", home=tmp_path)

    def test_a_configuration(self) -> None:
        found = ranking(GemRanker("wordllama", config="cqa"), QUERY, TEXTS)
        assert found == expected(QUERY, TEXTS, vectors="wordllama", config="cqa")

    def test_together_as_one_by_one(self) -> None:
        ranker = GemRanker()
        together = dict(ranking(ranker, QUERY, TEXTS + WORDLESS))
        alone = [ranker.score(QUERY, text) for text in TEXTS + WORDLESS]
        np.testing.assert_allclose([together[i] for i in range(8)], alone, atol=1e-6)

    def test_texts_without_words_score_zero(self) -> None:
        ranker = GemRanker()
        found = dict(ranking(ranker, QUERY, WORDLESS + TEXTS))
        assert [found[i] for i in range(3)] == [0.0, 0.0, 0.0]
        assert found[4] > 0.5
        assert ranker.score(QUERY, "") == ranker.score("", QUERY) == 0.0
        assert ranking(ranker, "?!", TEXTS) == [(i, 0.0) for i in range(5)]

    def test_equal_scores_keep_the_order(self) -> None:
        found = ranking(GemRanker(), QUERY, [TEXTS[0]] + [TEXTS[1]] * 3)
        assert [i for i, _ in found] == [1, 2, 3, 0]

    def test_odd_and_long_texts(self) -> None:
        odd = [
            "東京は日本の首都です",
            "مرحبا بالعالم",
            "café naïve ß",
            "😀 smile",
            "nul \x00 inside",
        ]
        long = " ".join(TEXTS) * 8000
        found = ranking(GemRanker(), "café in Tokyo", [*odd, long])
        assert found == expected("café in Tokyo", [*odd, long])

    def test_ten_thousand_candidates(self) -> None:
        texts = [f"{TEXTS[i % 5]} number {i}" for i in range(10_000)]
        found = ranking(GemRanker(), QUERY, texts)
        assert len({i for i, _ in found}) == 10_000
        # Two texts whose cosines agree but for the last bits may change places; the scores may not.
        truth = dict(expected(QUERY, texts))
        assert all(truth[i] == score for i, score in found)
        assert all(a >= b for (_, a), (_, b) in pairwise(found))


class TestResults:
    def test_results_are_ranked_from_one(self) -> None:
        results = GemRanker().rank(QUERY, TEXTS)
        assert isinstance(results, RankedResults)
        assert results.has_scores
        assert results.query == QUERY
        assert [result.rank for result in results] == [1, 2, 3, 4, 5]
        assert results.results_count() == 5
        assert [r.doc_id for r in results.top_k(2)] == [r.doc_id for r in results][:2]
        assert results.get_score_by_docid(1) == results[0].score

    def test_ids_and_metadata_go_with_their_texts(self) -> None:
        results = GemRanker().rank(
            QUERY, TEXTS, doc_ids=list("abcde"), metadata=[{"n": i} for i in range(5)]
        )
        assert (results[0].doc_id, results[0].text, results[0].metadata) == (
            "b",
            TEXTS[1],
            {"n": 1},
        )
        assert results[0].n == 1

    def test_documents_keep_what_they_have(self) -> None:
        documents = [
            Document(text=text, doc_id=f"id{i}", metadata={"n": i}) for i, text in enumerate(TEXTS)
        ]
        results = GemRanker().rank(QUERY, documents)
        assert (results[0].doc_id, results[0].n) == ("id1", 1)

    def test_documents_given_are_not_changed(self) -> None:
        documents = [Document(text=text, doc_id="old") for text in TEXTS]
        results = GemRanker().rank(QUERY, documents, list("abcde"), [{"n": i} for i in range(5)])
        assert (results[0].doc_id, results[0].metadata) == ("b", {"n": 1})
        assert [(d.doc_id, d.metadata) for d in documents] == [("old", {})] * 5

    def test_documents_without_ids_and_texts_mixed(self) -> None:
        results = GemRanker().rank(QUERY, [TEXTS[0], Document(text=TEXTS[1])])
        assert [(r.doc_id, r.text) for r in results] == [(1, TEXTS[1]), (0, TEXTS[0])]

    @pytest.mark.parametrize("one", [TEXTS[1], Document(text=TEXTS[1])])
    def test_one_document(self, one: str | Document) -> None:
        (result,) = GemRanker().rank(QUERY, one)
        assert result.doc_id == 0
        assert result.score == pytest.approx(GemRanker().score(QUERY, TEXTS[1]), abs=1e-6)

    def test_no_documents(self) -> None:
        results = GemRanker().rank(QUERY, [])
        assert results.results_count() == 0
        assert results.top_k(3) == []

    def test_wrong_input_is_refused(self) -> None:
        ranker = GemRanker()
        with pytest.raises(
            ValueError, match="found 2 doc_ids for 5 documents; expected one for each"
        ):
            ranker.rank(QUERY, TEXTS, doc_ids=[1, 2])
        with pytest.raises(ValueError, match="found 0 metadata for 5 documents"):
            ranker.rank(QUERY, TEXTS, metadata=[])
        image = Document(document_type="image", base64="AA==")
        with pytest.raises(
            TypeError, match="document 1 is of type 'image' with the text None; expected"
        ):
            ranker.rank(QUERY, [TEXTS[0], image])
        with pytest.raises(
            TypeError, match="document 0 is of type 'text' with the text 5; expected"
        ):
            ranker.rank(QUERY, [5])

    def test_asynchronously(self) -> None:
        ranker = GemRanker()

        async def main() -> tuple[RankedResults, int]:
            ticks = 0
            ranked = asyncio.create_task(
                ranker.rank_async(
                    QUERY, [" ".join(TEXTS) * 20_000, TEXTS[1]], metadata=[{"n": 0}, {"n": 1}]
                )
            )
            while not ranked.done():
                await asyncio.sleep(0.01)
                ticks += 1
            return ranked.result(), ticks

        ranker.score("compiles", "the kernels")
        began = time.perf_counter()
        results, ticks = asyncio.run(main())
        assert [result.n for result in results] == [1, 0]
        assert ticks >= 3, time.perf_counter() - began  # the event loop went on


class TestReranker:
    def test_the_librarys_own_function_finds_it(self, model: Path) -> None:
        ranker = Reranker("wordllama-gem", model_type="GemRanker", verbose=0)
        assert type(ranker) is GemRanker
        assert isinstance(ranker, BaseRanker)
        assert ranker.settings == GemRanker().settings
        fitted = Reranker("wordllama-gem", model_type="GemRanker", verbose=0, model=model)
        assert fitted.settings["fingerprint"] == open_provider(model=model).fingerprint

    def test_it_prints_nothing_of_its_own(self, capsys: pytest.CaptureFixture[str]) -> None:
        GemRanker().rank(QUERY, [Document(text=text) for text in TEXTS])
        assert capsys.readouterr().out == ""


class TestSettings:
    @pytest.mark.parametrize("fitted", [True, False])
    def test_a_copy_ranks_alike(self, model: Path, fitted: bool) -> None:
        ranker = GemRanker(model=model) if fitted else GemRanker(config="sts")
        saved = json.dumps(ranker.settings)
        for copy in (GemRanker(**json.loads(saved)), pickle.loads(pickle.dumps(ranker))):
            assert copy.settings == ranker.settings
            assert ranking(copy, QUERY, TEXTS) == ranking(ranker, QUERY, TEXTS)

    def test_another_fit_is_refused(self, model: Path) -> None:
        ranker = GemRanker(model=model)
        settings, pickled = ranker.settings, pickle.dumps(ranker)
        fit(model, TEXTS[:3])
        with pytest.raises(GemIndexError, match=r"model\.safetensors was made with the encoder"):
            GemRanker(**settings)
        with pytest.raises(GemIndexError, match=r"model\.safetensors was made with the encoder"):
            pickle.loads(pickled)

    def test_other_vectors_are_refused(self, tmp_path: Path) -> None:
        home = Home(tmp_path / "home")
        for seed in (1, 2):
            rows = np.random.default_rng(seed).standard_normal((2, 4)).round(4)
            lines = [
                " ".join([word, *map(str, row)])
                for word, row in zip(("visa", "bank"), rows, strict=True)
            ]
            (tmp_path / f"{seed}.txt").write_text("\n".join(lines) + "\n")
        home.add_vectors("mine", tmp_path / "1.txt")
        settings = GemRanker("mine", config="transfer", home=home).settings
        assert ranking(GemRanker(**settings), "visa", ["bank", "visa"])[0][0] == 1
        home.remove_vectors("mine")
        home.add_vectors("mine", tmp_path / "2.txt")
        with pytest.raises(GemIndexError, match="mine was made with the encoder"):
            GemRanker(**settings)

    def test_an_unknown_name_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(GemIndexError, match="no model is named 'mine'"):
            GemRanker(model="mine", home=Home(tmp_path))


class TestThreadsAndProcesses:
    def test_threads_share_it(self) -> None:
        ranker = GemRanker()
        alone = ranking(GemRanker(), QUERY, TEXTS)
        with ThreadPoolExecutor(8) as pool:
            for found in pool.map(lambda _: ranking(ranker, QUERY, TEXTS), range(32)):
                assert found == alone

    @pytest.mark.parametrize("method", ["spawn", "fork"])
    def test_child_processes_rank_alike(self, method: str) -> None:
        ranker, texts = GemRanker(), TEXTS * 500
        here = ranking(ranker, QUERY, texts)
        with ProcessPoolExecutor(1, mp_context=get_context(method)) as pool:
            assert pool.submit(ranking, ranker, QUERY, texts).result(timeout=120) == here

    def test_a_second_process_loads_what_was_saved(self, tmp_path: Path, model: Path) -> None:
        ranker = GemRanker(model=model)
        (tmp_path / "gem.json").write_text(json.dumps(ranker.settings))
        found = second_process(tmp_path)
        assert found.returncode == 0, found.stderr
        assert json.loads(found.stdout) == [list(x) for x in ranking(ranker, QUERY, TEXTS)]
        fit(model, TEXTS[:3])
        refused = second_process(tmp_path)
        assert refused.returncode == 1
        assert "FingerprintMismatchError" in refused.stderr


SECOND = """
import json, pathlib, sys
from rerankers_gem import GemRanker
ranker = GemRanker(**json.loads(pathlib.Path("gem.json").read_text()))
results = ranker.rank(sys.argv[1], json.loads(sys.argv[2]))
print(json.dumps([[result.doc_id, result.score] for result in results]))
"""


def second_process(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", SECOND, QUERY, json.dumps(TEXTS)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=folder,
        env=os.environ | {"HF_HUB_OFFLINE": "1"},
    )


@pytest.mark.parametrize("page", ["plugins/rerankers/README.md", "docs/cookbook/rerankers.md"])
def test_the_pages(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GEM_INDEX_HOME", str(tmp_path / "home"))
    run_page(ROOT / page)
