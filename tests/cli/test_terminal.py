"""One default at every command, pipes between commands, output that fits, examples, completion."""

import io
import json
import os
import re
import shlex
import subprocess
import sys

import pytest

from command_tree import ALL
from gem_index import Home, open_provider
from gem_index_cli.examples import EXAMPLES
from gem_index_cli.result_output import _shortened

CODE = "from gem_index_cli.main import main; main()"


class TestOneDefault:
    def test_every_command_that_names_nothing_means_the_same_encoder(self, gem, faq, tmp_path):
        texts = ("How do I renew my residence visa?", "What papers do I need to extend a visa?")
        provider = open_provider()
        expected = provider.encoder.similarity(*texts)
        explained = gem("explain", texts[0], "--json").json
        assert explained["fingerprint"] == provider.fingerprint
        assert max(word["alpha_u"] for word in explained["words"]) > 0.1
        assert gem("similarity", *texts, "--json").json["score"] == pytest.approx(expected)
        source = tmp_path / "in.jsonl"
        source.write_text(json.dumps({"query": texts[0], "candidates": [texts[1]]}) + "\n")
        (ranked,) = gem("rerank", source, "--json").lines
        assert ranked["results"][0]["score"] == pytest.approx(expected)
        encoded = gem("encode", faq, "-o", tmp_path / "x.npy", "--json").json
        assert encoded["fingerprint"] == provider.fingerprint
        gem("fit", "m", faq)
        (model,) = gem("models", "list", "--json").json
        (collection,) = gem("status", "--json").json["collections"]
        assert model["vectors"] == collection["vectors"] == "wordllama-gem"
        assert model["config"] == json.loads(provider.encoder.config.to_json())
        assert collection["preset"] == provider.encoder.config.preset_name
        (tmp_path / "pairs.csv").write_text("4.0\ta visa\tvisas\n1.0\ta bank\ttea\n")
        found = gem("eval", "sts", tmp_path / "pairs.csv", "--baselines", "-", "--json").json
        assert found["vectors"] == "wordllama-gem"
        assert found["config"] == model["config"]

    def test_a_single_setting_changes_what_suits_the_vectors(self, gem, faq, tmp_path):
        gem("fit", "m", faq, "--window", 3)
        gem("build", "c", faq, "--window", 3)
        (model,) = gem("models", "list", "--json").json
        assert (model["config"]["window"], model["config"]["removed"]) == (3, 3)
        own = Home(tmp_path / "home").collection("c").encoder.config
        assert (own.window, own.n_removed, own.prior) == (3, 3, 10_000)
        assert gem("build", "c", faq, "--window", 3).status == 0
        assert gem("build", "c", faq, "--window", 4).status == 2

    @pytest.mark.parametrize(("options", "prior"), [((), 10_000), (("--prior", 0), 0)])
    def test_a_prior_of_zero_stays_zero(self, gem, faq, tmp_path, options, prior):
        for preset in ((), ("--preset", "cqa")):
            gem("build", "c", faq, *preset, *options)
            assert Home(tmp_path / "home").collection("c").encoder.config.prior == prior
            gem("drop", "c", "--yes")


class TestPipes:
    @pytest.mark.parametrize("form", ["--json", "--jsonl"])
    def test_what_search_prints_is_re_ranked(self, gem, faq, tmp_path, form):
        query = "renewing a visa"
        found = gem("search", "faq", query, "-k", 4, "--mode", "hybrid", form)
        (tmp_path / "hits").write_text(found.out)
        (answer,) = gem("rerank", tmp_path / "hits", "--collection", "faq", "--json").lines
        assert answer["query"] == query
        dense = gem("search", "faq", query, "--json").json
        assert [hit["id"] for hit in answer["results"]][:2] == [hit["id"] for hit in dense][:2]
        scores = [hit["score"] for hit in answer["results"]]
        assert scores == sorted(scores, reverse=True)
        (other,) = gem("rerank", tmp_path / "hits", "--query", "a loan", "--json").lines
        assert other["query"] == "a loan"
        assert gem("rerank", tmp_path / "hits").out.startswith(query)

    def test_several_searches_are_several_questions(self, gem, faq, tmp_path):
        lines = "".join(
            gem("search", "faq", query, "-k", 2, "--jsonl").out for query in ("a visa", "a bank")
        )
        (tmp_path / "hits").write_text(lines)
        answers = gem("rerank", tmp_path / "hits", "--json").lines
        assert [(a["query"], len(a["results"])) for a in answers] == [("a visa", 2), ("a bank", 2)]

    def test_a_search_without_hits_is_not_wrong_input(self, gem, faq, monkeypatch):
        for form in ("--json", "--jsonl"):
            found = gem("search", "faq", "visa", "--min-score", 0.999, form).out
            for options, out in (((), "Nothing was found.\n"), (("--json",), "")):
                stdin = io.TextIOWrapper(io.BufferedReader(io.BytesIO(found.encode())))
                monkeypatch.setattr(sys, "stdin", stdin)
                answer = gem("rerank", *options)
                assert (answer.status, answer.out) == (0, out)

    def test_input_that_names_no_query_is_refused_by_line(self, gem, tmp_path):
        (tmp_path / "in").write_text('{"text": "a visa"}\n')
        answer = gem("rerank", tmp_path / "in")
        assert answer.status == 2
        assert "in line 1: found {'text': 'a visa'}; expected" in answer.err
        assert gem("rerank", tmp_path / "in", "--query", "visa").status == 0
        for wrong in (
            {"candidates": ["a visa"], "query": 5},
            {"candidates": "a visa", "query": "a"},
        ):
            (tmp_path / "in").write_text(json.dumps(wrong))
            answer = gem("rerank", tmp_path / "in")
            assert answer.status == 2
            assert f"in line 1: found {wrong}; expected" in answer.err

    def test_a_search_re_ranks_by_itself(self, gem, faq):
        query = "which bank account"
        by_words = gem("search", "faq", query, "--mode", "lexical", "--json").json
        found = gem("search", "faq", query, "--mode", "lexical", "--rerank", "-k", 1, "--json").json
        both = {  # texts of up to twenty words have no passages
            hit["id"]: hit["score"] for hit in gem("search", "faq", query, "--json").json
        }
        best = max((hit["id"] for hit in by_words), key=both.get)
        assert [(hit["id"], hit["score"]) for hit in found] == [(best, pytest.approx(both[best]))]
        assert found[0]["metadata"]["topic"] == "bank"

    def test_lines_of_json(self, gem, faq):
        assert gem("status", "--jsonl").lines[0]["name"] == "faq"
        gem("fit", "m", faq)
        assert [line["name"] for line in gem("models", "list", "--jsonl").lines] == ["m"]
        names = [line["name"] for line in gem("vectors", "list", "--jsonl").lines]
        assert "wordllama" in names


class TestOutput:
    def test_an_empty_result_says_so(self, gem, faq):
        assert gem("search", "faq", "visa", "--min-score", 0.999).out == "Nothing was found.\n"
        assert gem("search", "faq", "visa", "--min-score", 0.999, "--json").json == []

    def test_ids_are_whole_and_lines_fit(self, gem, tmp_path, monkeypatch):
        monkeypatch.setenv("COLUMNS", "80")
        rows = [{"id": f"{'x' * 100}{i}", "text": "how do I renew a visa " * 20} for i in range(3)]
        rows += [
            {"id": f"short {i}", "text": "Geld und Visum, \u6771\u4eac\u3067 " * 20}
            for i in range(3)
        ]
        path = tmp_path / "rows.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        gem("build", "c", path)
        from rich.cells import cell_len

        shown = gem("search", "c", "visa \u6771\u4eac", "-k", 6).out
        for row in rows:
            assert row["id"] in shown
        assert all(cell_len(line) <= 80 for line in shown.splitlines() if "xxx" not in line)

    def test_tables_fit_and_names_are_whole(self, gem, faq, monkeypatch):
        monkeypatch.setenv("COLUMNS", "80")
        name = "a-collection-of-questions-with-a-long-name-of-58-characters"
        gem("build", name, faq)
        gem("fit", name, faq)
        for command in (
            ("status",),
            ("models", "list"),
            ("vectors", "list"),
            ("vectors", "catalogue"),
        ):
            shown = gem(*command).out
            assert all(len(line) <= 80 for line in shown.splitlines()), command
            if command[0] != "vectors":
                assert name in shown
        for heading in ("documents", "vectors", "language", "fitted", "tail", "size"):
            assert heading in gem("status").out
        shown = [
            line for line in gem("demo").out.splitlines() if "Everything is stored in" not in line
        ]
        assert all(len(line) <= 80 for line in shown)

    def test_names_that_leave_no_room_make_lists(self, gem, faq, monkeypatch):
        monkeypatch.setenv("COLUMNS", "80")
        name = "n" * 64
        gem("build", name, faq)
        gem("fit", name, faq)
        for command in (("status",), ("models", "list")):
            shown = gem(*command).out
            assert all(len(line) <= 80 for line in shown.splitlines()), command
            assert f"{name}\n" in shown
            assert "  vectors: wordllama-gem\n" in shown

    def test_control_characters_do_not_reach_the_terminal(self, gem, tmp_path):
        row = {"id": "x\n\x1b[31my\r", "text": "hi\x1b]0;title\x07 there"}
        (tmp_path / "x.jsonl").write_text(json.dumps(row) + "\n")
        gem("build", "c", tmp_path / "x.jsonl")
        shown = gem("search", "c", "hi").out
        assert shown.count("\n") == 1
        assert shown.rstrip("\n").isprintable()
        assert r"x\n\x1b[31my\r" in shown
        assert gem("search", "c", "hi", "--json").json[0]["id"] == row["id"]
        assert gem("delete", "c", "a\x1bb").out == "0 deleted.\nNot there: a\\x1bb\n"

    def test_deleting_only_missing_ids_is_an_error(self, gem, faq):
        answer = gem("delete", "faq", "nothing", "none")
        assert (answer.status, answer.out) == (1, "0 deleted.\nNot there: nothing, none\n")
        answer = gem("delete", "faq", "none", "--json")
        assert (answer.status, answer.json) == (1, {"deleted": 0, "missing": ["none"]})
        assert gem("delete", "faq", "none", "v1").status == 0

    def test_a_terminal_that_cannot_show_a_character(self, gem, faq, tmp_path):
        (tmp_path / "x.jsonl").write_text('{"id": "1", "text": "Visum \u6771"}\n')
        gem("build", "c", tmp_path / "x.jsonl")
        answer = subprocess.run(
            [sys.executable, "-c", CODE, "--home", tmp_path / "home", "search", "c", "visum"],
            capture_output=True, text=True, check=False,
            env=os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
        )  # fmt: skip
        assert answer.returncode == 0
        assert "Visum \\u6771" in answer.stdout


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a short  text\nof two lines", "a short text of two lines"),
        ("x" * 26, "x" * 26),
        ("x" * 27, "x" * 25 + "\u2026"),
        ("\u6771" * 13, "\u6771" * 13),
        ("\u6771" * 14, "\u6771" * 12 + "\u2026"),  # each takes two columns
        ("word " * 100, "word word word word word\u2026"),
        (" " * 200 + "x", "\u2026"),
    ],
)
def test_a_text_is_cut_to_the_columns_there_are(text, shown):
    assert _shortened(text, 26) == shown


class TestHelp:
    def test_every_command_has_examples_that_parse(self):
        assert set(EXAMPLES) == {" ".join(path) for path in ALL}
        for path, lines in EXAMPLES.items():
            for line in lines:
                for command in line.split(" | "):
                    words = shlex.split(command)
                    assert words[0] == "gem-index"
                    name = " ".join(words[1:3]) if " ".join(words[1:3]) in EXAMPLES else words[1]
                    ALL[tuple(name.split())].make_context(
                        "gem-index", words[1 + len(name.split()) :]
                    )
                assert f"gem-index {path}" in line

    @pytest.mark.parametrize("path", EXAMPLES)
    def test_they_end_its_help(self, gem, path):
        shown = " ".join(gem(*path.split(), "--help").out.split())
        assert "Examples:" in shown
        assert " ".join(EXAMPLES[path][0].split()) in shown

    def test_completion(self, gem):
        answer = subprocess.run(
            [sys.executable, "-c", CODE, "--show-completion", "bash"],
            capture_output=True, text=True, check=False,
            env=os.environ | {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"},
        )  # fmt: skip
        assert answer.returncode == 0
        assert "complete" in answer.stdout
        answer = subprocess.run(
            [sys.executable, "-c", CODE],
            capture_output=True, text=True, check=False,
            env=os.environ | {"_GEM_INDEX_COMPLETE": "complete_bash", "COMP_WORDS": "gem-index sea", "COMP_CWORD": "1"},
        )  # fmt: skip
        assert answer.stdout.split() == ["search"]


@pytest.mark.parametrize("mode", ["hybrid", "dense"])
def test_the_numbers_of_why_add_up_to_the_score(gem, faq, mode):
    """A word that comes again is named once."""
    lines = gem(
        "search", "faq", "visa, visa: renew my visa", "--why", "--mode", mode, "-k", 2
    ).out.splitlines()
    for shown, why in zip(lines[::2], lines[1::2], strict=True):
        score = float(shown.split()[1])
        numbers = [float(number) for number in re.findall(r"(?<= )-?[0-9][.][0-9]{3}", why)]
        if "meaning" in why:
            meaning, *pairs, words = numbers
            assert meaning + words == pytest.approx(score, abs=0.0016)
        else:
            meaning, pairs = score, numbers
        assert sum(pairs) == pytest.approx(meaning, abs=0.0031)
        assert why.count("visa ~ visa") <= 1
    assert "visa ~ visa" in lines[1]
