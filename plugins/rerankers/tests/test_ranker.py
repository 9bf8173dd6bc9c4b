"""GemRanker in rerankers: values, documents, saved settings, threads, processes."""

from __future__ import annotations

import asyncio
import json
import pickle
import time
from pathlib import Path

import pytest
from rerankers import Document, Reranker
from rerankers.models.ranker import BaseRanker
from rerankers.results import RankedResults
from rerankers_gem import GemRanker

from calls import ranking
from gem_index import open_provider
from gem_index.errors import InputError
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


class TestGemRanker(RerankerContract):
    """The contract; saved as settings."""

    rank = staticmethod(ranking)

    def make(self, **choice):
        return GemRanker(**choice)

    def save(self, adapter):
        return json.dumps(adapter.settings)

    def load(self, saved):
        return GemRanker(**json.loads(saved))


class TestScores:
    def test_a_configuration(self) -> None:
        found = ranking(GemRanker("wordllama", config="cqa"), QUERY, TEXTS)
        assert found == cosine_ranking(QUERY, TEXTS, vectors="wordllama", config="cqa")

    def test_a_text_alone_scores_as_among_others(self) -> None:
        ranker, texts = GemRanker(), [*TEXTS, "?!... --"]
        assert list(enumerate(ranker.score(QUERY, text) for text in texts)) == sorted(
            cosine_ranking(QUERY, texts)
        )
        assert ranker.score(QUERY, "") == ranker.score("", QUERY) == 0.0


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

    def test_a_second_process_loads_what_was_saved(self, tmp_path: Path, model: Path) -> None:
        ranker = GemRanker(model=model)
        (tmp_path / "gem.json").write_text(json.dumps(ranker.settings))
        found = run_python("-c", SECOND, QUERY, json.dumps(TEXTS))
        assert json.loads(found.stdout) == [list(x) for x in ranking(ranker, QUERY, TEXTS)]
        fit_model(model, TEXTS[:3])
        refused = run_python("-c", SECOND, QUERY, json.dumps(TEXTS), status=1)
        assert "FingerprintMismatchError" in refused.stderr


SECOND = """
import json, pathlib, sys
from rerankers_gem import GemRanker
ranker = GemRanker(**json.loads(pathlib.Path("gem.json").read_text()))
results = ranker.rank(sys.argv[1], json.loads(sys.argv[2]))
print(json.dumps([[result.doc_id, result.score] for result in results]))
"""


@pytest.mark.parametrize("page", ["README.md", "../../docs/cookbook/rerankers.md"])
def test_the_pages_run(page: str) -> None:
    run_page(Path(__file__).parents[1] / page)


class TestWords:
    TEXTS = (
        "Error 4712 of the printer",
        "Error 4711 of the printer",
        "护照过期了怎么办",
        "Müllabfuhr",
        "?",
    )
    QUERY = "my printer shows error 4711"

    def test_words_count_on_request(self) -> None:
        ranker = GemRanker(mode="hybrid", words="de")
        found = ranker.rank(self.QUERY, self.TEXTS)
        expected = open_provider(words="de").rerank(self.QUERY, self.TEXTS, mode="hybrid")
        assert [(each.doc_id, each.score) for each in found] == [
            (each.index, each.score) for each in expected
        ]
        assert found[0].text == self.TEXTS[1]
        assert ranker.score(self.QUERY, self.TEXTS[1]) == found[0].score
        assert ranker.score(self.QUERY, "?") == 0
        assert GemRanker().rank(self.QUERY, self.TEXTS)[0].score != found[0].score

    def test_saved_with_its_mode(self) -> None:
        ranker = GemRanker(mode="hybrid", words="de")
        for again in (GemRanker(**ranker.settings), pickle.loads(pickle.dumps(ranker))):
            assert (again.mode, again.settings) == ("hybrid", ranker.settings)
        named = Reranker("wordllama-gem", model_type="GemRanker", verbose=0, mode="hybrid")
        assert named.mode == "hybrid"
        assert "mode" not in GemRanker().settings

    def test_another_mode(self) -> None:
        with pytest.raises(InputError, match="expected dense or hybrid"):
            GemRanker(mode="lexical")
