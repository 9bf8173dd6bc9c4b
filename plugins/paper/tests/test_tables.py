"""The ablation, the figure and the examples, on small test files and on the paper's data."""

import json

import pytest
from gem_index_paper.examples import evaluate_examples
from gem_index_paper.plots import plot_sensitivity
from gem_index_paper.sweeps import evaluate_ablation, evaluate_sensitivity

from gem_index import GemConfig, GemEncoder, open_vectors
from gem_index.errors import InputError
from gem_index.evaluate.candidates import candidates
from gem_index.evaluate.data import read_sts
from gem_index.evaluate.sts import evaluate_sts

PAIRS = [
    (5.0, "the bank of the river", "the bank of the river"),
    (4.0, "open a bank account", "open an account at the bank"),
    (2.5, "two ducks in the river", "the river and two cups"),
    (1.0, "renew my visa", "tea in a cup"),
    (0.0, "the phone plan", "two ducks swim"),
]


@pytest.fixture
def pairs(tmp_path):
    path = tmp_path / "pairs.txt"
    path.write_text("".join(f"{score}\t{a}\t{b}\n" for score, a, b in PAIRS))
    return str(path)


@pytest.fixture
def vectors(vectors_folder):
    return open_vectors(str(vectors_folder))


def of(vectors, *names, **config):
    return candidates(lambda: GemEncoder(vectors, GemConfig(**config)), vectors, names)


class TestSweeps:
    def test_ablation_changes_what_it_says(self, pairs, vectors):
        parts = read_sts([pairs])
        asked = []
        config = GemConfig(n_removed=3, n_components=8)
        found = evaluate_ablation(parts, vectors, config, lambda c: asked.append(c) or 50.0)
        scores = {row["name"]: row["pearson"]["pairs.txt"] for row in found.json["rows"]}
        assert scores["GEM weights + SDR"] == scores["alpha_n, alpha_s, alpha_u + SDR"]
        assert len(set(scores.values())) == 6
        mean = evaluate_sts(parts, of(vectors, "mean")).json["baselines"]["mean"]["pearson"]
        assert scores["mean of the word vectors"] == pytest.approx(mean, abs=1e-4)
        assert [(c.alphas, c.removal) for c in asked] == [
            ("n", "none"),
            ("ns", "none"),
            ("nsu", "none"),
        ]

    def test_sensitivity_leaves_out_invalid_configurations(self, pairs, vectors):
        config = GemConfig(n_removed=20, n_components=30)
        points = evaluate_sensitivity(read_sts([pairs]), vectors, config).json["points"]
        values = {
            name: [p["value"] for p in points if p["setting"] == name]
            for name in ("components", "removed")
        }
        assert min(values["components"]) == 20
        assert max(values["removed"]) == 30

    def test_sensitivity_passes_through_the_configuration(self, pairs, vectors, tmp_path):
        found = evaluate_sensitivity(read_sts([pairs]), vectors, GemConfig())
        points = found.json["points"]
        own = [
            p["pearson"]["pairs.txt"]
            for p in points
            if {p["setting"]: p["value"]}.items() <= json.loads(GemConfig().to_json()).items()
        ]
        assert len(own) == 4
        assert len(set(own)) == 1
        plot_sensitivity(found.json, tmp_path / "plot.png", "x")
        assert (tmp_path / "plot.png").read_bytes()[:4] == b"\x89PNG"
        with pytest.raises(InputError, match="cannot write"):
            plot_sensitivity(found.json, tmp_path / "none" / "plot.png", "x")


def test_examples_name_the_papers_words(vectors):
    found = evaluate_examples(GemEncoder(vectors)).json
    for example in found["weights"]:
        assert set(example["weights"]) == set(example["paper"])
    assert [e["paper"] for e in found["robustness"]] == [0.954, 0.998, 0.981, 0.984]


def test_the_papers_experiment_gives_the_reference_numbers(shared):
    expected = json.loads((shared / "golden/stsb_pearson.json").read_text())["googlenews-300d dev"]
    vectors = open_vectors(str(shared / "vectors/googlenews-300d"))
    parts = read_sts([str(shared / "data/stsbenchmark/sts-dev.csv")])
    found = evaluate_ablation(parts, vectors, GemConfig()).json["rows"]
    scores = {row["name"]: row["pearson"]["sts-dev.csv"] for row in found}
    for ours, theirs in (
        ("mean of the word vectors", "mean"),
        ("GEM weights", "weights only"),
        ("GEM weights + SIR", "weights + SIR(17)"),
        ("GEM weights + SDR", "GEM (weights + SDR)"),
    ):
        assert scores[ours] == pytest.approx(expected[theirs], abs=0.01), ours
