"""GemModel in MTEB: the mock run, tasks with known scores, stored results, the metadata and the command."""

from __future__ import annotations

import json
import math
import subprocess
from pathlib import Path
from typing import Any

import mteb
import numpy as np
import pytest
from datasets import Dataset, DatasetDict
from mteb.abstasks import AbsTaskRetrieval, AbsTaskSTS
from mteb.mocks import ALL_MOCK_TASK_REGISTRY
from mteb.models.model_meta import ModelMeta, ScoringFunction
from mteb_gem import GemModel
from scipy.stats import spearmanr

import calls
from gem_index import Home, open_provider
from gem_index.errors import FingerprintMismatchError
from gem_index.testing import EmbeddingProviderContract, fit_model, run_page, run_python

PAIRS = [
    ("a man plays guitar", "someone plays a guitar", 5.0),
    ("a dog runs in the snow", "a dog is running through snow", 4.5),
    ("a woman cuts an onion", "a woman is cooking", 2.5),
    ("the bank is closed", "a man eats soup", 0.0),
    ("", "a man eats soup", 0.5),
]


def about(name: str, **fields: Any) -> mteb.TaskMetadata:
    return calls.TASK.model_copy(update={"name": name, **fields})


class Similarity(AbsTaskSTS):
    metadata = about("Similarity")
    min_score = 0
    max_score = 5

    def load_data(self, **kwargs: Any) -> None:
        first, second, score = map(list, zip(*PAIRS, strict=True))
        rows = {"sentence1": first, "sentence2": second, "score": score}
        self.dataset = DatasetDict({"test": Dataset.from_dict(rows)})
        self.data_loaded = True


class Search(AbsTaskRetrieval):
    metadata = about("Search", type="Retrieval", main_score="ndcg_at_10")

    def load_data(self, **kwargs: Any) -> None:
        corpus = [
            {"id": str(i), "title": "", "text": second}
            for i, (_, second, _) in enumerate(PAIRS[:4])
        ]
        queries = [{"id": str(i), "text": first} for i, (first, _, _) in enumerate(PAIRS[:3])]
        data = {
            "corpus": Dataset.from_list(corpus),
            "queries": Dataset.from_list(queries),
            "relevant_docs": {str(i): {str(i): 1} for i in range(3)},
            "top_ranked": None,
        }
        self.dataset = {"default": {"test": data}}
        self.data_loaded = True


@pytest.fixture(scope="module")
def model() -> GemModel:
    return GemModel()


class TestGemModel(EmbeddingProviderContract):
    embed = staticmethod(calls.embed)
    embed_query = staticmethod(calls.embed_query)

    def make(self, **choice: Any) -> GemModel:
        return GemModel(**choice)

    def save(self, adapter: GemModel) -> ModelMeta:
        return adapter.mteb_model_meta

    def load(self, saved: ModelMeta) -> Any:
        return saved.load_model()


# ------------------------------------------------------------------- protocol


def test_the_mock_run_is_green(model: GemModel) -> None:
    results = mteb.mock_run(model)
    run = {name: status for name, status in results.items() if status is not None}
    assert len(run) >= 28
    assert all(isinstance(status, mteb.TaskResult) for status in run.values()), (
        results.to_markdown()
    )
    types = {ALL_MOCK_TASK_REGISTRY[name].metadata.type for name in run}
    assert types >= {
        "STS",
        "Classification",
        "Retrieval",
        "Reranking",
        "Clustering",
        "PairClassification",
    }


def test_it_is_an_encoder(model: GemModel) -> None:
    assert isinstance(model, mteb.EncoderProtocol)
    assert not isinstance(model, mteb.SearchProtocol | mteb.CrossEncoderProtocol)


def test_similarities_are_cosines(model: GemModel) -> None:
    first = calls.embed(model, [pair[0] for pair in PAIRS])
    second = calls.embed(model, [pair[1] for pair in PAIRS])
    np.testing.assert_allclose(model.similarity(first, second), first @ second.T, atol=1e-6)
    np.testing.assert_allclose(
        model.similarity_pairwise(first, second), (first * second).sum(1), atol=1e-6
    )
    assert np.isfinite(np.asarray(model.similarity(first, second))).all()


def test_another_precision_is_refused(model: GemModel) -> None:
    with pytest.raises(ValueError, match="precision is 'int8'; expected float32"):
        calls.embed(model, ["a man"], precision="int8")


# --------------------------------------------------------------------- scores


def test_a_similarity_task_gives_the_correlation(model: GemModel) -> None:
    results = mteb.evaluate(model, Similarity(), cache=None, show_progress_bar=False)
    encoder = open_provider().encoder
    expected = spearmanr(
        [encoder.similarity(first, second) for first, second, _ in PAIRS],
        [score for _, _, score in PAIRS],
    ).statistic
    assert results[0].get_score() == pytest.approx(expected)
    assert expected == pytest.approx(0.8)


def test_a_retrieval_task_finds(model: GemModel) -> None:
    results = mteb.evaluate(model, Search(), cache=None, show_progress_bar=False)
    scores = results[0].scores["test"][0]
    assert scores["recall_at_1"] == 1.0
    assert scores["ndcg_at_10"] == 1.0


# ------------------------------------------------------------ stored results


def test_results_are_stored_under_name_and_fingerprint(model: GemModel, tmp_path: Path) -> None:
    cache = mteb.ResultCache(tmp_path)
    measured = mteb.evaluate(model, Similarity(), cache=cache, show_progress_bar=False)
    folder = tmp_path / "results" / "gem-index__wordllama-gem" / model.provider.fingerprint
    assert (folder / "Similarity.json").is_file()
    stored = json.loads((folder / "model_meta.json").read_text(encoding="utf-8"))
    again = GemModel(**stored["loader_kwargs"])
    assert again.provider.fingerprint == stored["revision"] == model.provider.fingerprint

    loaded = mteb.evaluate(again, Similarity(), cache=cache, overwrite_strategy="only-cache")
    assert loaded[0].get_score() == pytest.approx(measured[0].get_score())


def test_metadata_alone_can_be_measured(tmp_path: Path) -> None:
    encoder = fit_model(tmp_path / "faq.safetensors", [pair[1] for pair in PAIRS])
    meta = GemModel(model=tmp_path / "faq.safetensors").mteb_model_meta
    assert (meta.name, meta.revision) == ("gem-index/faq.safetensors", encoder.fingerprint)
    results = mteb.evaluate(meta, Similarity(), cache=None, show_progress_bar=False)
    assert math.isfinite(results[0].get_score())
    fit_model(tmp_path / "faq.safetensors", ["a man", "a dog"])
    with pytest.raises(FingerprintMismatchError, match=r"faq\.safetensors"):
        mteb.evaluate(meta, Similarity(), cache=None, show_progress_bar=False)


def test_metadata_load_in_a_second_process(model: GemModel, tmp_path: Path) -> None:
    mteb.evaluate(model, Similarity(), cache=mteb.ResultCache(tmp_path), show_progress_bar=False)
    stored = next(tmp_path.glob("results/*/*/model_meta.json"))
    code = (
        "import sys, json, calls\n"
        "from mteb_gem import GemModel\n"
        "model = GemModel(**json.load(open(sys.argv[1]))['loader_kwargs'])\n"
        "print(json.dumps(calls.embed(model, ['a man plays guitar', '']).tolist()))\n"
    )
    done = run_python("-c", code, str(stored), import_from=Path(__file__).parent)
    expected = calls.embed(model, ["a man plays guitar", ""])
    np.testing.assert_allclose(json.loads(done.stdout), expected, atol=1e-6)


# ------------------------------------------------------------------- metadata


def test_the_metadata_of_the_bundled_vectors(model: GemModel) -> None:
    meta = model.mteb_model_meta
    assert meta.name == "gem-index/wordllama-gem"
    assert meta.revision == model.provider.fingerprint
    assert meta.embed_dim == 256
    assert meta.n_parameters == meta.n_embedding_parameters == 32_000 * 256
    assert meta.n_active_parameters == 0
    assert meta.memory_usage_mb == pytest.approx(31.2)
    assert meta.max_tokens == math.inf
    assert meta.similarity_fn_name is ScoringFunction.COSINE
    assert (meta.languages, meta.license, meta.open_weights) == (["eng-Latn"], "mit", True)
    assert meta.use_instructions is False
    assert meta.modalities == ["text"]
    assert meta.model_type == ["dense"]
    assert meta.training_datasets is None
    json.dumps(meta.to_dict())


def test_the_metadata_of_other_vectors(tmp_path: Path) -> None:
    words = tmp_path / "folder" / "mine.txt"
    words.parent.mkdir()
    words.write_text("a 1 0\nman 0 1\nplays 1 1\nguitar 1 -1\n", encoding="utf-8")
    meta = GemModel(vectors=str(words)).mteb_model_meta
    assert meta.name == "gem-index/mine.txt"
    assert (meta.languages, meta.license, meta.open_weights) == (None, None, None)
    assert meta.n_parameters == 8

    home = Home(tmp_path / "home")
    home.vectors.add("mine", words)
    both = GemModel(
        vectors="mine*0.5+wordllama", home=home, meta={"languages": ["deu-Latn"], "name": "me/both"}
    ).mteb_model_meta
    assert both.name == "me/both"
    assert both.languages == ["deu-Latn"]
    assert both.n_parameters is None
    assert both.embed_dim == 258
    weighted = GemModel(vectors=f"{words}*0.5+wordllama", home=home)
    assert weighted.mteb_model_meta.name == "gem-index/mine.txt*0.5+wordllama"


# -------------------------------------------------------------------- command


def command(*arguments: str, status: int) -> subprocess.CompletedProcess[str]:
    return run_python("-m", "mteb_gem", *arguments, status=status)


def test_the_command_runs_the_mock_tasks() -> None:
    done = command("--mock", "--config", "sts", status=0)
    assert "| MockSTSTask | text | ✓ | - |" in done.stdout


def test_the_command_says_what_was_not_measured() -> None:
    done = command("--tasks", "STS12", "SciFact", "-o", "results", status=1)
    assert done.stdout == ""
    assert "Error: STS12 was not measured: Couldn't reach 'mteb/sts12-sts'" in done.stderr
    assert "Error: SciFact was not measured: " in done.stderr
    assert done.stderr.endswith(
        "expected a connection to huggingface.co, or the data in its cache\n"
    )
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--tasks", "STS112"], "'STS112' not found. Did you mean: 'STS12'?"),
        (["--benchmark", "MTEB(eng, v3)"], "'MTEB(eng, v3)' not found. Did you mean:"),
        (["--mock", "--vectors", "nope"], "no vectors are named 'nope'"),
        (["--mock", "--config", "nope"], "the preset is 'nope'"),
        (["--mock", "--model", "nope"], "no model is named 'nope'"),
        ([], "one of the arguments --tasks --benchmark --mock is required"),
    ],
)
def test_the_command_refuses_in_one_line(arguments: list[str], problem: str) -> None:
    done = command(*arguments, status=2)
    assert problem in done.stderr.splitlines()[-1]


# ----------------------------------------------------------------------- pages


@pytest.mark.parametrize("page", ["README.md", "../../docs/cookbook/mteb.md"])
def test_the_pages_run(page: str) -> None:
    run_page(Path(__file__).parents[1] / page)
