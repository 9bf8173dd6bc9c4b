"""The commands, as a user runs them where the package is installed, and the lines of the page."""

import re
import shlex
from itertools import product
from pathlib import Path

import pytest
from gem_index_paper.commands import EXAMPLES
from typer.main import get_command

from gem_index_cli.main import make_app

PAGE = Path(__file__).resolve().parents[3] / "docs" / "paper.md"
PAIRS = (
    "5\tthe river\tthe river\n3\topen a bank account\tan account at the bank\n0\ttea\ttwo ducks\n"
)


@pytest.fixture
def pairs(tmp_path):
    path = tmp_path / "pairs.tsv"
    path.write_text(PAIRS)
    return path


def test_sweeps_examples_and_speed(gem, pairs, tmp_path):
    ablation = gem("eval", "ablation", pairs, "--json").json
    assert len(ablation["rows"]) == 7
    plot = tmp_path / "plot.png"
    points = gem("eval", "sensitivity", pairs, "--plot", plot, "--json").json["points"]
    assert gem("eval", "sensitivity", pairs, "--json").json["points"] == points
    assert {point["setting"] for point in points} == {"window", "components", "removed", "power"}
    assert plot.read_bytes()[:4] == b"\x89PNG"
    assert len(gem("eval", "examples", "--corpus", pairs, "--json").json["robustness"]) == 4
    speed = gem("eval", "speed", pairs, "--json").json
    assert speed["sentences"] == 6
    assert speed["batch"]["seconds"] > 0


def test_transfer(gem, subj):
    found = gem("eval", "transfer", subj, "--tasks", "SUBJ", "--baselines", "mean", "--json").json
    assert found["config"]["removal"] == "none"
    assert found["results"]["SUBJ"] == {"dev": 100, "test": 100}
    assert found["baselines"] == {"mean": {"SUBJ": {"dev": 100, "test": 100}}}
    table = gem("eval", "transfer", subj, "--tasks", "SUBJ", "--markdown").out
    assert "| GEM | 100.0 |" in table
    assert "| GEM + L.F.P. (paper) | 93.8 |" in table
    own = gem("eval", "transfer", subj, "--tasks", "SUBJ", "--preset", "sts", "--json").json
    assert own["config"].get("removal", "sdr") == "sdr"
    refused = gem("eval", "transfer", subj, "--tasks", "SUBJ", "--baselines", "TF-IDF")
    assert refused.status == 2
    assert "TF-IDF makes no vectors; expected mean, SIF, uSIF or p-mean" in refused.err


def test_ablation_with_a_supervised_task(gem, pairs, subj):
    rows = gem("eval", "ablation", pairs, "--senteval", subj, "--json").json["rows"]
    assert [row["subj"] for row in rows if row.get("subj") is not None] == [100, 100, 100]


def test_a_fitted_encoder_is_not_ablated(gem, pairs):
    for command, named in product(("ablation", "sensitivity"), ("--model", "--collection")):
        answer = gem("eval", command, pairs, named, "m")
        assert (answer.status, answer.err.count("\n")) == (2, 1)
        assert "found --model or --collection; expected --vectors: this command fits" in answer.err


def test_tables_keep_their_first_column_however_many_follow(gem, pairs):
    out = gem("eval", "ablation", pairs).out
    assert "GEM weights + SDR" in out
    assert "alpha_n, alpha_s, alpha_u + SDR" in out


def test_several_encoders_are_refused(gem, pairs, tmp_path):
    config = tmp_path / "two.json"
    config.write_text('{"encoders": [{"vectors": "wordllama-gem"}, {"vectors": "wordllama"}]}')
    answer = gem("eval", "speed", pairs, "--config", config)
    assert (answer.status, answer.err.count("\n")) == (2, 1)
    assert "found 2 encoders side by side; expected one for this command" in answer.err


def test_missing_data_says_where_it_comes_from(gem, tmp_path):
    answer = gem("eval", "transfer", tmp_path, "--tasks", "MR")
    assert (answer.status, answer.err.count("\n")) == (2, 1)
    assert "SentEval" in answer.err


def test_targets_are_checked_first(gem, pairs, tmp_path):
    for plot in (tmp_path, tmp_path / "plot.foo"):
        answer = gem("eval", "sensitivity", pairs, "--plot", plot)
        assert (answer.status, answer.err.count("\n")) == (2, 1)


def group():
    return get_command(make_app(["evaluate"])).commands["eval"]


@pytest.mark.parametrize("name", [command.__name__ for command in EXAMPLES])
def test_every_command_has_help_and_an_example(name):
    command = group().commands[name]
    assert command.help
    assert f"gem-index eval {name}" in command.epilog
    assert all(getattr(parameter, "help", None) for parameter in command.params[:-1])


def lines():
    return re.findall(r"gem-index eval [^`\n]+", PAGE.read_text())


def test_the_page_has_every_command():
    assert {shlex.split(line)[2] for line in lines()} >= {c.__name__ for c in EXAMPLES}


@pytest.mark.parametrize("line", [*lines(), *EXAMPLES.values()])
def test_the_lines_of_the_page_parse(line):
    name, *arguments = shlex.split(line)[2:]
    group().commands[name].make_context(name, arguments)
