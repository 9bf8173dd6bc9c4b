"""gem-index eval, as a user runs it."""

import json
import re

import pytest

from gem_index.errors.installing import install_line

PAIRS = (
    "5\tthe river\tthe river\n3\topen a bank account\tan account at the bank\n0\ttea\ttwo ducks\n"
)
ROWS = [
    {
        "orgq_id": "Q1",
        "orgq_subject": "Visa",
        "orgq_body": "renew the visa",
        "relq_id": f"R{i}",
        "relq_subject": subject,
        "relq_body": body,
        "relevant": i % 2,
    }
    for i, (subject, body) in enumerate(
        [("tea", "tea in the cup"), ("visa", "how do I renew my visa")]
    )
]


@pytest.fixture
def pairs(tmp_path):
    path = tmp_path / "pairs.tsv"
    path.write_text(PAIRS)
    return path


@pytest.fixture
def questions(tmp_path):
    path = tmp_path / "questions.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return path


def test_sts(gem, pairs):
    found = gem("eval", "sts", pairs, "--baselines", "mean,TF-IDF", "--json").json
    assert found["task"] == "sts"
    assert found["vectors"] == "wordllama-gem"
    assert found["config"]["removed"] == 3
    assert found["pairs"] == 3
    assert set(found["baselines"]) == {"mean", "TF-IDF"}
    assert {"pearson", "spearman"} <= set(found["baselines"]["mean"])
    assert -100 <= found["pearson"] <= 100
    table = gem("eval", "sts", pairs, "--baselines", "-", "--markdown").out
    assert table.startswith("**pairs.tsv, 3 pairs**\n\n| model | Pearson |")


def test_cqa_takes_what_suits_the_vectors(gem, questions):
    found = gem(
        "eval", "cqa", questions, "--vectors", "wordllama-gem", "--baselines", "-", "--json"
    ).json
    assert (found["config"]["window"], found["config"]["removed"]) == (10, 3)
    assert (found["map"], found["mrr"]) == (100, 100)
    assert found["avg_rec"] == 100
    assert found["baselines"]["search engine"]["map"] == 50
    own = gem(
        "eval",
        "cqa",
        questions,
        "--preset",
        "sts",
        "--removal",
        "none",
        "--lexical",
        "0.5",
        "--json",
    ).json
    assert own["config"]["window"] == 7
    assert own["lexical"] == 0.5
    bad = gem("eval", "cqa", questions, "--lexical", "-1")
    assert bad.status == 2
    assert "expected a number above 0" in bad.err


def test_tune_writes_what_fit_and_build_take(gem, pairs, tmp_path):
    output = tmp_path / "best.json"
    found = gem(
        "eval",
        "tune",
        pairs,
        "-o",
        output,
        "--vectors",
        "wordllama-gem",
        "--vectors",
        "wordllama",
        "--json",
    ).json
    written = json.loads(output.read_text())
    assert set(written) == {"vectors", "config"}
    assert found["score"] >= found["steps"][0][2]
    again = gem("eval", "sts", pairs, "--config", output, "--baselines", "-", "--json").json
    assert again["pearson"] == pytest.approx(found["score"], abs=1e-6)
    texts = tmp_path / "t.txt"
    texts.write_text("open a bank account\ntea in a cup\n")
    assert gem("build", "c", texts, "--config", output, "--json").status == 0
    status = gem("status", "--json").json["collections"][0]
    assert status["vectors"] == written["vectors"]
    assert gem("fit", "m", texts, "--config", output, "--json").status == 0
    both = gem("fit", "n", texts, "--config", output, "--preset", "sts")
    assert (both.status, both.err.count("\n")) == (2, 1)
    assert "found --preset beside --config" in both.err


def test_several_encoders(gem, pairs, tmp_path):
    config = tmp_path / "two.json"
    config.write_text(
        '{"encoders": [{"vectors": "wordllama-gem", "config": {"removed": 2}},'
        ' {"vectors": "wordllama", "config": {"removal": "none"}, "weight": 0.5}]}'
    )
    found = gem("eval", "sts", pairs, "--config", config, "--baselines", "-", "--json").json
    assert found["vectors"] == ["wordllama-gem", "wordllama"]
    assert found["weights"] == [1.0, 0.5]
    for extra, problem in (
        (("--vectors", "wordllama"), "beside encoders that name their own"),
        (("--removed", "3"), "found other settings beside"),
        (("--model", "none"), "found a configuration beside a fitted model"),
    ):
        answer = gem("eval", "sts", pairs, "--config", config, *extra)
        assert (answer.status, answer.err.count("\n")) == (2, 1)
        assert problem in answer.err
    refused = gem("eval", "tune", pairs, "-o", tmp_path / "best.json", "--config", config)
    assert refused.status == 2
    assert "found 2 encoders side by side; expected one for this command" in refused.err


def test_a_place_that_cannot_be_written_after_all(gem, pairs, tmp_path, monkeypatch):
    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("gem_index.evaluate.tune.GRID", {})  # seconds, not a minute
    monkeypatch.setattr("gem_index.evaluate.tune.FACTORS", ())
    monkeypatch.setattr("gem_index.files.inputs.os.fsync", full)
    answer = gem("eval", "tune", pairs, "-o", tmp_path / "best.json")
    assert (answer.status, answer.out) == (2, "")
    assert "best.json: no space left on device; expected a writable file" in answer.err
    assert not list(tmp_path.glob("*best.json*"))


def test_missing_data_says_where_it_comes_from(gem, tmp_path):
    for arguments, message in (
        (("sts", tmp_path / "none.csv"), "stswiki"),
        (("retrieval", tmp_path), "BEIR's layout"),
    ):
        answer = gem("eval", *arguments)
        assert answer.status == 2, arguments
        assert message in answer.err
        assert answer.err.count("\n") == 1


def test_targets_are_checked_first(gem, pairs, tmp_path):
    for arguments in (("tune", pairs, "-o", tmp_path / "none" / "x.json"),):
        answer = gem("eval", *arguments)
        assert answer.status == 2
        assert answer.err.count("\n") == 1


def test_suite(gem, pairs, tmp_path):
    (tmp_path / "suite.toml").write_text(
        f'set = [{{ task = "sts", path = "{pairs}" }}]\n[[configuration]]\nname = "half"\n'
        "config = { removed = 1, share = 0.5 }\n"
    )
    plot = tmp_path / "plot.png"
    found = gem("eval", "suite", tmp_path / "suite.toml", "--json", "--plot", plot).json
    (own,) = found["configurations"]
    assert (own["name"], own["vectors"]) == ("half", "wordllama-gem")
    assert own["config"][0]["share"] == 0.5
    assert set(own["tasks"]["sts"]["sets"]) == {"pairs"}
    assert plot.stat().st_size > 1000
    shown = gem("eval", "suite", tmp_path / "suite.toml", "--markdown").out
    assert shown.startswith("**sts: Pearson's r x 100**\n\n| configuration | pairs | average |")
    for text in ("set = [{ task = 'x', path = '.' }]", "set = [{ task = 'sts', path = 'none' }]"):
        (tmp_path / "bad.toml").write_text(text)
        bad = gem("eval", "suite", tmp_path / "bad.toml")
        assert (bad.status, bad.err.count("\n")) == (2, 1)
    assert gem("build", "c", pairs, "--share", "1.5").status == 2


def test_paths_in_a_suite_are_relative_to_its_file(gem, pairs, tmp_path, monkeypatch):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    (tmp_path / "tuned.json").write_text(
        '{"vectors": "wordllama-gem", "config": {"share": 0.25}}', encoding="utf-8"
    )
    (tmp_path / "suite.toml").write_text(
        f'set = [{{ task = "sts", path = "{pairs.name}" }}]\n[[configuration]]\nname = "tuned"\n'
        'file = "tuned.json"\n'
    )
    answer = gem("eval", "suite", tmp_path / "suite.toml", "--json")
    assert answer.status == 0, answer.err
    (own,) = answer.json["configurations"]
    assert (own["name"], own["vectors"]) == ("tuned", ["wordllama-gem"])
    assert own["config"][0]["share"] == 0.25


@pytest.mark.parametrize("name", ["ablation", "examples", "sensitivity", "speed", "transfer"])
def test_a_command_of_the_papers_package_says_what_to_install(gem, name):
    answer = gem("eval", name, "x", "--json")
    assert (answer.status, answer.out) == (2, "")
    assert answer.err == (
        f"Error: eval {name} makes one of the paper's tables, and its package is not installed; expected it: "
        f"{install_line('gem-index-paper')}\n"
    )


def test_collection(gem, tmp_path):
    rows = [("visa", "How do I renew a visa?"), ("bank", "When does the bank open?")]
    path = tmp_path / "r.jsonl"
    path.write_text("".join(json.dumps({"id": i, "text": text}) + "\n" for i, text in rows))
    for name in ("faq", "again"):
        assert gem("build", name, path).status == 0
    queries = tmp_path / "expected.csv"
    queries.write_text("query,expected\nrenew my visa,visa\nis the bank open,bank\nwho wins,\n")
    shown = gem("eval", "collection", "faq, again", queries).out
    assert "2 queries" in shown
    lines = [line.split() for line in shown.splitlines() if "100.0 (100.0" in line]
    assert [line[:2] for line in lines[:2]] == [["faq", "hybrid"], ["faq", "re-ranked"]]
    assert len(lines) >= 6
    found = gem("eval", "collection", "faq", queries, "--json").json
    assert found["task"] == "collection"
    assert found["results"][0]["first"] == {"value": 100.0, "low": 100.0, "high": 100.0}
    queries.write_text("query,expected\nrenew my visa,fax\n")
    failed = gem("eval", "collection", "faq", queries)
    assert failed.status == 2
    assert "the queries expect 'fax', which the collection faq does not have" in failed.err


def test_own_pairs(gem, tmp_path):
    path = tmp_path / "own.csv"
    path.write_text(
        "first,second,label\nrenew a visa,renew my visa,1\ntea,a bank,0\na bank,the bank,1\na visa,tea,0\n"
    )
    options = ("--vectors", "wordllama-gem")
    shown = gem("eval", "pairs", path, *options).out
    assert "4 pairs" in shown
    assert re.search(r"AUC +100\.00", shown)
    assert re.search(r"best F1, threshold \d\.\d{3} +100\.00 +-", shown)
    found = gem("eval", "pairs", path, *options, "--json").json
    assert (found["task"], found["pairs"], found["f1"], found["auc"]["value"]) == (
        "pairs",
        4,
        100,
        100,
    )
    path.write_text("first,second,score\na,b,1\nc,d,2\nriver,river,5\n")
    assert "AUC" not in gem("eval", "pairs", path, *options).out
    path.write_text("first,second\na,b\n")
    failed = gem("eval", "pairs", path, *options)
    assert failed.status == 2
    assert "expected two texts and a number" in failed.err


def test_the_options_of_evaluations_reach_them(gem, pairs, questions, tmp_path):
    folder = tmp_path / "small"
    (folder / "qrels").mkdir(parents=True)
    (folder / "corpus.jsonl").write_text(
        '{"_id": "d1", "text": "tea"}\n{"_id": "d2", "text": "visa"}\n'
    )
    (folder / "queries.jsonl").write_text(
        '{"_id": "q1", "text": "tea"}\n{"_id": "q2", "text": "visa"}\n'
    )
    (folder / "qrels" / "test.tsv").write_text("q1\td1\t1\nq2\td2\t1\n")
    (folder / "qrels" / "dev.tsv").write_text("q2\td2\t1\n")
    for options, queries in (((), 2), (("--split", "dev"), 1)):
        found = gem("eval", "retrieval", folder, "--baselines", "-", *options, "--json").json
        assert (found["name"], found["queries"], found["documents"]) == ("small", queries, 2)
    line = ("eval", "cqa", questions, "--baselines", " mean, TF-IDF", "--json")
    for options, text in (((), "subject+body"), (("--text", "subject"), "subject")):
        found = gem(*line, *options).json
        assert found["text"] == text
        assert set(found["baselines"]) == {"search engine", "mean", "TF-IDF"}
    sts = ("eval", "sts", pairs, "--baselines", "-", "--json")
    assert gem(*sts, "--background").json["spearman"] <= 100
    assert gem(*sts, "--background").json["pearson"] != gem(*sts).json["pearson"]


def test_the_table_of_collections_has_the_measures_of_its_headings(gem, tmp_path):
    rows = [("visa", "How do I renew a visa?"), ("bank", "When does the bank open?")]
    path = tmp_path / "r.jsonl"
    path.write_text("".join(json.dumps({"id": i, "text": text}) + "\n" for i, text in rows))
    gem("build", "faq", path)
    queries = tmp_path / "expected.csv"
    queries.write_text("query,expected\nrenew my visa,bank\nis the bank open,bank\n")
    line = ("eval", "collection", "faq", queries)
    found = gem(*line, "--json").json["results"]
    assert len({found[0][name]["value"] for name in ("ndcg", "recall", "mrr", "first")}) == 4
    shown = gem(*line, "--markdown").out.splitlines()
    assert shown[0] == "**2 queries**"
    assert shown[2] == "| collection | setting | nDCG@10 | recall@10 | MRR@10 | first |"
    assert [row.strip("| ").split(" | ") for row in shown[4:8]] == [
        [
            each["collection"],
            each["setting"],
            "{value:.1f} ({low:.1f}…{high:.1f})".format(**each["ndcg"]),
            *(f"{each[name]['value']:.1f}" for name in ("recall", "mrr", "first")),
        ]
        for each in found
    ]


@pytest.mark.parametrize(("task", "measure"), [("cqa", "map"), ("sts", "pearson")])
def test_tuning_begins_with_what_suits_the_vectors(
    gem, pairs, questions, tmp_path, monkeypatch, task, measure
):
    monkeypatch.setattr("gem_index.evaluate.tune.GRID", {})
    monkeypatch.setattr("gem_index.evaluate.tune.FACTORS", ())
    data, flags = (questions, ["--cqa"]) if task == "cqa" else (pairs, [])
    vectors = ("--vectors", "wordllama-gem")
    output = tmp_path / "best.json"
    found = gem("eval", "tune", data, *flags, "-o", output, *vectors, "--json").json
    plain = gem("eval", task, data, *vectors, "--baselines", "-", "--json").json
    assert found["score"] == pytest.approx(plain[measure], abs=1e-6)
    assert found["steps"] == [["start", "wordllama-gem", found["score"]]]
    written = json.loads(output.read_text())
    assert {name: found[name] for name in written} == written  # the settings, not their text
    assert written["vectors"] == "wordllama-gem"
    assert plain["config"].items() >= written["config"].items()
