"""Suites of known results, whole: their JSON, tables, progress and picture; and what a suite's file may hold."""

from __future__ import annotations

import json
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from gem_index.errors import ConfigError, InputError
from gem_index.evaluate import plots
from gem_index.evaluate.metrics import bootstrap
from gem_index.evaluate.suite import evaluate_suite
from gem_index.evaluate.suite_file import Candidate, read_suite
from gem_index.evaluate.suite_sets import FORM, Result

ITEMS = 12


def result(name, task, configuration):
    """A measurement of which the values depend on its set, its task and its configuration."""
    seed = sum(map(ord, f"{name} {task} {configuration}"))
    values = np.random.default_rng(seed).uniform(40, 60, ITEMS)
    return Result(ITEMS, lambda samples: values[samples].mean(axis=1))


class KnownSet(SimpleNamespace):
    """A data set of a suite with known results."""

    @contextmanager
    def words(self):
        yield "words"

    def by_words(self, words):
        assert words == "words"
        return {task: result(self.name, task, "BM25") for task in self.tasks if task == "search"}

    def measure(self, make, words):
        assert words == "words"
        name = make if isinstance(make, str) else f"mean of {make().vectors.fingerprint}"
        return {task: result(self.name, task, name) for task in self.tasks}


def configured(name, vectors, described):
    return Candidate(name, name, SimpleNamespace(fingerprint=vectors, dimension=3), described)


SETS = (
    KnownSet(name="one", tasks=("sts",)),
    KnownSet(name="two", tasks=("sts",)),
    KnownSet(name="three", tasks=("sts",)),
    KnownSet(name="four", tasks=("retrieval", "search")),
)
AGAINST = {"sts": "mean", "retrieval": "mean", "search": "BM25"}


def expected_of(candidate):
    """Return what a configuration's JSON holds for each task."""
    tasks = {}
    for task, against in AGAINST.items():
        sets, draws = {}, []
        for each in SETS:
            if task in each.tasks:
                ours = result(each.name, task, candidate.name)
                other = f"mean of {candidate.vectors.fingerprint}" if against == "mean" else against
                theirs = result(each.name, task, other)
                drawn = bootstrap(lambda s, a=ours, b=theirs: a.on(s) - b.on(s), ITEMS)
                low, high = np.percentile(drawn, (2.5, 97.5))
                draws.append(drawn)
                sets[each.name] = {
                    "score": ours.score,
                    against: theirs.score,
                    "gain": ours.score - theirs.score,
                    "low": low,
                    "high": high,
                }
        low, high = np.percentile(np.mean(draws, axis=0), (2.5, 97.5))
        rows = sets.values()
        tasks[task] = {
            "score": pytest.approx(np.mean([row["score"] for row in rows])),
            "against": against,
            "gain": pytest.approx(np.mean([row["gain"] for row in rows])),
            "low": low,
            "high": high,
            "lost": sum(row["gain"] < 0 for row in rows),
            "lost_significantly": sum(row["high"] < 0 for row in rows),
            "sets": sets,
        }
    return {"name": candidate.name, **candidate.described, "tasks": tasks}


def best_of(configurations, task, left):
    def average(each):
        sets = each["tasks"][task]["sets"]
        return np.mean([row["score"] for name, row in sets.items() if name != left])

    return max(configurations, key=average)["name"]


@pytest.fixture
def found():
    return [
        configured("default", "v1", {"vectors": "wordllama", "config": [{"window": 7}]}),
        configured("other", "v2", {"vectors": "few"}),
        configured("third", "v1", {"vectors": "wordllama"}),
    ]


class TestReports:
    def test_json_and_progress(self, found):
        told = []
        report = evaluate_suite(SETS, found, lambda *each: told.append(each))
        configurations = [expected_of(each) for each in found]
        assert report.json == {
            "task": "suite",
            "configurations": configurations,
            "left_out": {
                "sts": {
                    left: best_of(configurations, "sts", left) for left in ("one", "two", "three")
                }
            },
        }
        assert any(each["tasks"]["sts"]["lost"] for each in configurations)
        assert told == [("suite", done, 12) for done in range(1, 13)]

    @pytest.mark.parametrize("alike", [True, False])
    def test_tables(self, found, alike):
        shown = [found[0], found[2]] if alike else found
        report = evaluate_suite(SETS, shown)
        assert [table.title for table in report.tables] == [
            "sts: Pearson's r x 100",
            "retrieval: nDCG@10, by meaning x 100",
            "search: nDCG@10, default search x 100",
        ]
        for table, (task, against) in zip(report.tables, AGAINST.items(), strict=True):
            names = [each.name for each in SETS if task in each.tasks]
            assert table.headings == (
                "configuration",
                *(f">{name}" for name in names),
                ">average",
                f">gain over {against} (95 %)",
                ">lost (significantly)",
            )
            rows = []
            for each in report.json["configurations"]:
                of = each["tasks"][task]
                rows.append(
                    (
                        each["name"],
                        *(of["sets"][name]["score"] for name in names),
                        of["score"],
                        f"{of['gain']:+.2f} ({of['low']:+.2f} … {of['high']:+.2f})",
                        f"{of['lost']} ({of['lost_significantly']})",
                    )
                )
            if alike:  # the mean of other vectors would be another row
                own = [of["sets"][name][against] for name in names]
                rows.append((against, *own, pytest.approx(np.mean(own)), None, None))
            assert list(table.rows) == rows

    def test_the_picture_has_a_panel_for_each_task(self, found, monkeypatch, tmp_path):
        kept = []
        monkeypatch.setattr(plots, "save_figure", lambda *given: kept.append(given))
        report = evaluate_suite(SETS, found)
        plots.plot_suite(report.json, tmp_path / "x.png")
        [(figure, path)] = kept
        assert path == tmp_path / "x.png"
        assert len(figure.axes) == 3
        for panel, (task, against) in zip(figure.axes, AGAINST.items(), strict=True):
            names = [each.name for each in SETS if task in each.tasks]
            assert panel.get_xlabel() == f"{task}: gain over {against}"
            assert [tick.get_text() for tick in panel.get_yticklabels()] == [*names, "average"]
            assert panel.get_yticks().tolist() == [-row for row in range(len(names) + 1)]
            for place, (drawn, of) in enumerate(
                zip(panel.containers, report.json["configurations"], strict=True)
            ):
                assert drawn.get_label() == of["name"]
                points = [*of["tasks"][task]["sets"].values(), of["tasks"][task]]
                marks, _, [bars] = drawn.lines
                np.testing.assert_allclose(
                    marks.get_xdata(orig=False), [each["gain"] for each in points]
                )
                heights = [-row - 0.7 * (place - 1) / 3 for row in range(len(points))]
                np.testing.assert_allclose(marks.get_ydata(orig=False), heights)
                segments = [segment[:, 0].tolist() for segment in bars.get_segments()]
                np.testing.assert_allclose(
                    segments, [(each["low"], each["high"]) for each in points]
                )
        legend = figure.axes[0].get_legend()
        assert [text.get_text() for text in legend.get_texts()] == ["default", "other", "third"]


@pytest.fixture
def write(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("pairs.tsv").write_text("1\ta\tb\n2\tc\td\n")
    questions = [
        ("q1", "one", [("c1", "visa 4711", "renew it", 1), ("c2", "", "two ducks", 0)]),
        ("q2", "two", [("c3", "tea", "", 0)]),
        ("q3", "three", [("c4", "bank", "open", 0), ("c2", "", "two ducks", 1)]),
    ]
    rows = [
        {
            "orgq_id": name, "orgq_subject": f"subject {text}", "orgq_body": "body" if name == "q1" else "",
            "relq_id": candidate, "relq_subject": subject, "relq_body": body, "relevant": relevant,
        }
        for name, text, candidates in questions
        for candidate, subject, body, relevant in candidates
    ]  # fmt: skip
    Path("cqa.jsonl").write_text("".join(json.dumps(each) + "\n" for each in rows))
    Path("beir/qrels").mkdir(parents=True)
    Path("beir/corpus.jsonl").write_text(
        '{"_id": "d1", "text": "tea"}\n{"_id": "d2", "text": "visa"}\n'
    )
    Path("beir/queries.jsonl").write_text('{"_id": "q1", "text": "cup of tea"}\n')
    Path("beir/qrels/test.tsv").write_text("q1\td1\t1\n")

    def written(text):
        Path("suite.toml").write_text(text)
        return Path("suite.toml")

    return written


class TestFiles:
    def test_what_is_read(self, write, tmp_path, monkeypatch):
        monkeypatch.setenv("HOME", str(tmp_path))
        text = """
        set = [
            { task = "sts", path = "pairs.tsv" },
            { task = "cqa", path = "~/cqa.jsonl", name = "questions" },
            { task = "retrieval", path = "cqa.jsonl" },
            { task = "lookup", path = "cqa.jsonl" },
            { task = "retrieval", path = "beir" },
        ]
        """
        suite = read_suite(write(text))
        assert [(each.name, each.task) for each in suite.sets] == [
            ("pairs", "sts"),
            ("questions", "cqa"),
            ("cqa", "retrieval"),
            ("cqa", "lookup"),
            ("beir", "retrieval"),
        ]
        assert suite.configurations == ({"name": "default"},)
        questions, collection, _, beir = (each.data for each in suite.sets[1:])
        assert [(each.id, each.relevant) for each in questions] == [
            ("q1", (True, False)),
            ("q2", (False,)),
            ("q3", (False, True)),
        ]
        assert collection.documents == {
            "c1": "visa 4711\n\nrenew it",
            "c2": "two ducks",
            "c3": "tea",
            "c4": "bank\n\nopen",
        }
        # a question without a relevant candidate is no query
        assert collection.queries == {"q1": "subject one\n\nbody", "q3": "subject three"}
        assert collection.relevance == {"q1": {"c1": 1}, "q3": {"c2": 1}}
        assert (beir.name, dict(beir.queries)) == ("beir", {"q1": "cup of tea"})
        assert [each.texts for each in suite.sets] == [
            [],
            [],
            list(collection.documents.values()),
            list(collection.documents.values()),
            ["tea", "visa"],
        ]
        entry = {"name": "mine", "vectors": "few", "config": {"window": 3}}
        toml = 'name = "mine"\nvectors = "few"\nconfig = { window = 3 }\n'
        assert read_suite(write(f"{text}[[configuration]]\n{toml}")).configurations == (entry,)

    @pytest.mark.parametrize(
        ("text", "error", "told"),
        [
            ('title = 1\nset = []\n', ConfigError, f"suite.toml holds ['set', 'title']; {FORM}"),
            ("set = []", ConfigError, f"suite.toml holds no set; {FORM}"),
            ("set = [1]", ConfigError, f"suite.toml holds set = [1]; {FORM}"),
            (
                'set = [{ task = "sts", path = "pairs.tsv" }, 1]', ConfigError,
                "suite.toml holds set = [{'path': 'pairs.tsv', 'task': 'sts'}, 1]; " + FORM,
            ),
            ("SET\nconfiguration = 3", ConfigError, f"suite.toml holds configuration = 3; {FORM}"),
            ("SET\nconfiguration = [{ name = 3 }]", ConfigError, "suite.toml holds the configuration {'name': 3}; " + FORM),
            (
                'SET\nconfiguration = [{ name = "x", index = "flat" }]', ConfigError,
                "suite.toml holds the configuration {'index': 'flat', 'name': 'x'}; " + FORM,
            ),
            (
                'SET\nconfiguration = [{ name = "x" }, { name = "y" }, { name = "x" }]', ConfigError,
                "suite.toml holds two of the configuration 'x'; expected each name once",
            ),
            (
                'set = [{ task = "sts", path = "pairs.tsv" }, { task = "sts", path = "pairs.tsv" }]', ConfigError,
                "suite.toml holds two of the set 'sts: pairs'; expected each name once",
            ),
            (
                'set = [{ task = "search", path = "cqa.jsonl" }]', ConfigError,
                "suite.toml gives the set 'cqa' the task 'search'; expected sts, cqa, retrieval, lookup",
            ),
            (
                'set = [{ task = "sts", path = "none.tsv" }]', InputError,
                "suite.toml names none.tsv, which does not exist; expected a file or folder",
            ),
            (
                'set = [{ task = "cqa", path = "beir" }]', InputError,
                "suite.toml names the folder beir for the task cqa; expected one file per set",
            ),
            (
                'set = [{ task = "sts", path = 3 }]', ConfigError,
                "suite.toml holds the set {'path': 3, 'task': 'sts'}; " + FORM,
            ),
        ],
    )  # fmt: skip
    def test_what_is_refused(self, write, text, error, told):
        path = write(text.replace("SET", 'set = [{ task = "sts", path = "pairs.tsv" }]'))
        with pytest.raises(InputError) as refused:
            read_suite(path)
        assert (type(refused.value), str(refused.value)) == (error, told)

    def test_what_is_no_toml(self, write):
        for path, error in ((write("set = ["), ConfigError), (Path("none.toml"), InputError)):
            with pytest.raises(InputError) as refused:
                read_suite(path)
            assert type(refused.value) is error
            assert str(refused.value).startswith(f"cannot read {path}: ")
            assert str(refused.value).endswith(f"; expected TOML in UTF-8: {FORM}")

    def test_data_that_cannot_be_measured(self, write):
        rows = [json.loads(line) for line in Path("cqa.jsonl").read_text().splitlines()]
        Path("none.jsonl").write_text(
            "\n".join(json.dumps(each | {"relevant": 0}) for each in rows)
        )
        Path("same.jsonl").write_text(
            "\n".join(json.dumps(each | {"relq_subject": "", "relq_body": "same"}) for each in rows)
        )
        for text, told in (
            ('{ task = "retrieval", path = "none.jsonl" }', "none.jsonl holds no relevant candidate; expected some"),
            (
                '{ task = "lookup", path = "same.jsonl" }',
                "same.jsonl holds no word that occurs in only one of its texts; expected some to look up",
            ),
        ):  # fmt: skip
            with pytest.raises(InputError) as refused:
                read_suite(write(f"set = [{text}]"))
            assert str(refused.value) == told
