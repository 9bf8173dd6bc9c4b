"""Suites: every figure compared with the tasks' own evaluations, and errors that are raised before any work."""

import json

import numpy as np
import pytest

from gem_index.errors import ConfigError, InputError
from gem_index.evaluate import suite as module
from gem_index.evaluate.baselines import MeanEncoder
from gem_index.evaluate.lookups import CARRIERS, make_lookups
from gem_index.evaluate.plots import plot_suite
from gem_index.evaluate.suite import evaluate_suite
from gem_index.evaluate.suite_configurations import candidate_of
from gem_index.evaluate.suite_file import read_suite

PAIRS = [
    (4.5, "renew a visa", "renewing my visa"),
    (4.0, "open a bank account", "where can I open an account"),
    (0.5, "two ducks in the river", "the school is closed"),
    (1.0, "my phone battery", "a cup of tea"),
    (3.0, "is the school open today", "the school is closed today"),
]
CANDIDATES = [
    ("visa fees", "how do I renew my visa 4711", 1),
    ("bank", "where can I open a bank account", 0),
    ("ducks", "two ducks swim in the river", 0),
]


def cqa_rows(questions, candidates):
    """Return the records of questions that each have the same candidates, in the form of SemEval's CQA."""
    return [
        {
            "orgq_id": f"q{q}", "orgq_subject": subject, "orgq_body": "",
            "relq_id": f"q{q}-{number}", "relq_subject": name, "relq_body": f"{body} 4{q}{number}",
            "relevant": relevant,
        }
        for q, subject in enumerate(questions, 1)
        for number, (name, body, relevant) in enumerate(candidates)
    ]  # fmt: skip


@pytest.fixture
def data(tmp_path):
    lines = [f"{score}\t{a}\t{b}" for score, a, b in PAIRS]
    (tmp_path / "pairs.tsv").write_text("\n".join(lines))
    rows = cqa_rows(("renewing a visa", "a visa for my wife"), CANDIDATES)
    (tmp_path / "cqa.jsonl").write_text("\n".join(map(json.dumps, rows)))
    sick = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment"
    row = rows[0] | {"relq_subject": "", "relq_body": "same"}
    same = [row, row | {"relq_id": "other"}]
    (tmp_path / "same.jsonl").write_text("\n".join(map(json.dumps, same)))
    (tmp_path / "none.jsonl").write_text(json.dumps(rows[0] | {"relevant": 0}))
    lines = [sick, *(f"{i}\t{a}\t{b}\t{s}\tNEUTRAL" for i, (s, a, b) in enumerate(PAIRS))]
    (tmp_path / "SICK.txt").write_text("\n".join(lines))
    return tmp_path


def suite(folder, text):
    (folder / "suite.toml").write_text(text)
    return folder / "suite.toml"


ALL = """
set = [
  { task = "sts", path = "pairs.tsv" },
  { task = "sts", path = "SICK.txt" },
  { task = "cqa", path = "cqa.jsonl" },
  { task = "retrieval", path = "cqa.jsonl", name = "as a collection" },
  { task = "lookup", path = "cqa.jsonl" },
]
[[configuration]]
name = "default"
[[configuration]]
name = "paper"
preset = "sts"
"""


def evaluated(folder, text=ALL):
    asked = read_suite(suite(folder, text))
    found = [candidate_of(entry, folder, None) for entry in asked.configurations]
    return asked, found, evaluate_suite(asked.sets, found)


def test_every_task_of_every_configuration(data):
    _, found, result = evaluated(data)
    first, second = result.json["configurations"]
    assert (first["name"], second["name"]) == ("default", "paper")
    assert first["config"][0]["prior"] == 10_000  # as build makes it
    assert list(first["tasks"]) == ["sts", "cqa", "retrieval", "search", "lookup"]
    sts = first["tasks"]["sts"]["sets"]
    assert sts["pairs"]["score"] == pytest.approx(sts["SICK"]["score"])  # the same pairs
    encoder = (
        found[0].make().fit([text for _, a, _ in PAIRS for text in (a,)] + [b for *_, b in PAIRS])
    )
    cosines = [encoder.similarity(a, b) for _, a, b in PAIRS]
    expected = 100 * np.corrcoef([score for score, *_ in PAIRS], cosines)[0, 1]
    assert sts["pairs"]["score"] == pytest.approx(expected, abs=1e-3)
    assert first["tasks"]["cqa"]["sets"]["cqa"]["score"] == 100
    assert first["tasks"]["search"]["against"] == "BM25"
    for task in first["tasks"].values():
        for row in task["sets"].values():
            assert row["gain"] == pytest.approx(row["score"] - row[task["against"]])
            assert row["low"] <= row["high"]
        scores = [row["score"] for row in task["sets"].values()]
        assert task["score"] == pytest.approx(np.mean(scores))
        assert task["lost"] == sum(row["gain"] < 0 for row in task["sets"].values())
    left_out = result.json["left_out"]["sts"]
    better = max((first, second), key=lambda each: each["tasks"]["sts"]["sets"]["SICK"]["score"])
    assert left_out["pairs"] == better["name"]
    titles = [table.title for table in result.tables]
    assert titles[0] == "sts: Pearson's r x 100"
    assert [row[0] for row in result.tables[0].rows] == ["default", "paper", "mean"]


def test_each_configuration_is_compared_with_the_mean_of_its_own_vectors_and_with_bm25(data):
    texts = (
        ("fees", "the price to travel to another country 4711", 1),
        ("bank", "renewing a renewing bank account a visa", 0),  # has more of the words
    )
    rows = cqa_rows(("renewing passports cost", "renewing a visa"), texts)
    (data / "words.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (data / "few.txt").write_text("visa 1 0\nrenewing 1 0.1\ncountry 0.1 1\ntravel 0 1\n")
    text = """
    set = [{ task = "retrieval", path = "words.jsonl" }, { task = "sts", path = "pairs.tsv" }]
    configuration = [{ name = "default" }, { name = "few", vectors = "FEW" }]
    """
    asked, found, result = evaluated(data, text.replace("FEW", str(data / "few.txt")))
    reports = []
    for candidate, made in zip(found, result.json["configurations"], strict=True):
        told, expected = {}, {}
        for each in asked.sets:
            with each.words() as words:
                ours = each.measure(candidate.make, words)
                means = each.measure(lambda own=candidate.vectors: MeanEncoder(own), words)
                theirs = means | each.by_words(words)
                assert not words or means["search"].score != theirs["search"].score
            for task, of_sets in made["tasks"].items():
                if task in ours:
                    row = of_sets["sets"][each.name]
                    told[task, "score"] = row["score"]
                    told[task, "baseline"] = row[of_sets["against"]]
                    expected[task, "score"] = ours[task].score
                    expected[task, "baseline"] = theirs[task].score
        assert told == pytest.approx(expected)
        reports.append(told)
    first, second = reports
    assert first["search", "baseline"] == second["search", "baseline"]
    assert first["sts", "baseline"] != second["sts", "baseline"]


def test_the_gains_of_a_task_are_averaged_over_sets_sample_by_sample(data, monkeypatch):
    asked, found, _ = evaluated(data)
    draws = []
    once = module.bootstrap
    monkeypatch.setattr(module, "bootstrap", lambda *given: draws.append(once(*given)) or draws[-1])
    result = evaluate_suite(asked.sets[:2], found[:1]).json["configurations"][0]["tasks"]["sts"]
    low, high = np.percentile(np.mean(draws, axis=0), (2.5, 97.5))
    assert (result["low"], result["high"]) == pytest.approx((low, high))


def test_is_drawn(data, tmp_path):
    plot_suite(evaluated(data)[2].json, tmp_path / "suite.png")
    assert (tmp_path / "suite.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(InputError, match="cannot write"):
        plot_suite(evaluated(data)[2].json, tmp_path / "suite.nothing")


def test_several_encoders_from_a_file(data):
    entry = {"vectors": "wordllama-gem", "config": {"removed": 2}}
    (data / "two.json").write_text(json.dumps({"encoders": [entry, entry | {"weight": 0.5}]}))
    text = 'set = [{ task = "sts", path = "pairs.tsv" }]\nconfiguration = [{ name = "two", file = "two.json" }]'
    _, found, result = evaluated(data, text)
    assert found[0].make().dimension == 512
    assert result.json["configurations"][0]["vectors"] == ["wordllama-gem"] * 2


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("set = 3", ConfigError, r"holds set = 3; expected \[\[set\]\]"),
        ("", ConfigError, "holds no set"),
        ("set = [", ConfigError, "cannot read .*expected TOML"),
        ("sets = []", ConfigError, r"holds \['sets'\]"),
        ('set = [{ task = "sst", path = "pairs.tsv" }]', ConfigError, "the task 'sst'; expected sts, cqa"),
        ('set = [{ task = "sts", path = "." }]', InputError, "for the task sts; expected one file per set"),
        ('set = [{ task = "sts", path = "none.tsv" }]', InputError, "none.tsv, which does not exist"),
        ('set = [{ task = "sts", path = "pairs.tsv", k = 1 }]', ConfigError, "holds the set"),
        ('set = [{ task = "cqa", path = "pairs.tsv" }]', InputError, "pairs.tsv"),
        ('set = [{ task = "lookup", path = "same.jsonl" }]', InputError, "no word that occurs in only one of its texts"),
        ('set = [{ task = "retrieval", path = "none.jsonl" }]', InputError, "no relevant candidate"),
        (
            'set = [{ task = "sts", path = "pairs.tsv" }, { task = "sts", path = "pairs.tsv" }]',
            ConfigError, "two of the set 'sts: pairs'",
        ),
        (
            'set = [{ task = "sts", path = "pairs.tsv" }]\nconfiguration = [{ vectors = "a" }]',
            ConfigError, "holds the configuration",
        ),
    ],
)  # fmt: skip
def test_an_invalid_suite_is_refused_before_any_work(data, text, error, message):
    with pytest.raises(error, match=message):
        read_suite(suite(data, text))


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"preset": "sts", "config": {}}, "holds preset and config; expected one"),
        ({"file": "a.json", "vectors": "b"}, "expected no other key with file"),
        ({"config": {"share": 2}}, "share is 2; expected a number from 0 to 1"),
    ],
)
def test_a_configuration_that_is_none_is_refused(data, entry, message):
    with pytest.raises(ConfigError, match=message):
        candidate_of({"name": "x"} | entry, data, None)


def test_look_ups_are_words_and_numbers_of_one_text():
    texts = ["ticket 4711 is open", "ticket 4712 is closed again", "all is open"]
    lookups = make_lookups(texts)
    assert len(lookups) == len(CARRIERS) * len({"4711", "4712", "closed", "again"})
    bare = {lookup.query: lookup.document for lookup in lookups if " " not in lookup.query}
    assert bare == {"4711": 0, "4712": 1, "closed": 1, "again": 1}
    assert make_lookups(texts) == lookups
    assert len(make_lookups(texts, each=1)) == 2 * len(CARRIERS)


def test_words_to_look_up_have_four_letters_and_numbers_two_digits():
    texts = ["tea 7 12 visa ab1 größe", "tea seven 4711 ducks", "the visas, a bank and a bank"]
    bare = {each.query: each.document for each in make_lookups(texts) if " " not in each.query}
    assert bare == {"12": 0, "größe": 0, "4711": 1, "seven": 1, "ducks": 1, "bank": 2}
    assert len(make_lookups(texts)) == 6 * len(CARRIERS)  # a word with accents has two terms
    for most, count in ((1, 2), (2, 4), (25, 6)):
        found = {each.query for each in make_lookups(texts, most) if " " not in each.query}
        assert len(found) == count
