"""Options of push, pull, embed and targets: what reaches the library, and what is told of its report."""

from __future__ import annotations

import json
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import gem_index.targets
from gem_index.collection import Collection
from gem_index.collection.push import embedding
from gem_index.collection.push.sending import PushOptions
from gem_index.results import PushReport
from gem_index.targets.registry import TargetInfo
from gem_index.text.chunking import Chunking

URL = "parquet://x"
REPORT = PushReport("faq", URL, 1, 2, 3, 4, 10, "f", 0.5, True)
COUNTS = f"{URL}: 10 documents; added 1, updated 2, deleted 3, unchanged 4.\n"
DENSE = "The table has dense vectors only: push it with --full to add sparse vectors of words.\n"
DUE = (
    "The table has twice as many texts as its word statistics: push it with --full to renew them.\n"
)
OPTIONS = [
    ((), {}),
    (("--batch", 7), {"batch": 7}),
    (("--no-texts",), {"texts": False}),
    (("--drop-unsupported",), {"drop_unsupported": True}),
    (("--dense-only",), {"words": False}),
]


class Pushes:
    """What reaches a push, which returns one report."""

    def __init__(self):
        self.report = REPORT
        self.given = []

    def push(self, collection, url, *, progress, **options):
        assert callable(progress)
        self.given.append((collection.name, url, options))
        return self.report


@pytest.fixture
def pushes(faq, monkeypatch):
    found = Pushes()
    monkeypatch.setattr(
        Collection, "push", lambda self, *url, **options: found.push(self, *url, **options)
    )
    return found


@pytest.mark.parametrize(
    ("options", "changed"),
    [*OPTIONS, (("--full",), {"full": True}), (("--dry-run",), {"dry_run": True})],
)
def test_each_option_reaches_the_push(gem, pushes, options, changed):
    assert gem("push", "faq", URL, *options).status == 0
    usual = {
        "full": False,
        "dry_run": False,
        "batch": 1000,
        "texts": True,
        "drop_unsupported": False,
    }
    assert pushes.given == [("faq", URL, {**usual, "words": True, **changed})]


@pytest.mark.parametrize(
    ("changed", "options", "told"),
    [
        ({}, (), COUNTS),
        ({}, ("--dry-run",), COUNTS.replace("added", "would be added")),
        ({"words": None}, (), COUNTS),
        ({"words": False}, (), COUNTS + DENSE),
        ({"words": False}, ("--dense-only",), COUNTS),
        ({"words_due": True}, (), COUNTS + DUE),
        ({"words": False, "words_due": True}, (), COUNTS + DENSE + DUE),
        (
            {"documents": 0, "unchanged": 0, "added": 0},
            (),
            f"{URL}: 0 documents; added 0, updated 2, deleted 3, unchanged 0.\n",
        ),
        (
            {"documents": None, "unchanged": None},
            (),
            f"{URL}: added 1, updated 2, deleted 3.\n",
        ),
    ],
)
def test_what_people_are_told_of_a_push(gem, pushes, changed, options, told):
    pushes.report = replace(REPORT, **changed)
    answer = gem("push", "faq", URL, *options)
    assert (answer.status, answer.out, answer.err) == (0, told, "")


def test_programs_get_the_report_alone(gem, pushes):
    pushes.report = replace(REPORT, words=False, words_due=True)
    assert gem("push", "faq", URL, "--json").json == {
        "collection": "faq",
        "target": URL,
        "added": 1,
        "updated": 2,
        "deleted": 3,
        "unchanged": 4,
        "documents": 10,
        "fingerprint": "f",
        "seconds": 0.5,
        "words": False,
        "words_due": True,
    }


@pytest.mark.parametrize(
    ("options", "changed"),
    [*OPTIONS, (("--chunk", 20, "--overlap", 5), {"chunking": Chunking(20, 5)})],
)
def test_each_option_reaches_an_embedding(gem, faq_file, monkeypatch, options, changed):
    given = []

    def embed_into(url, encoder, readers, asked, progress, *, chunking, words):
        given.append((url, asked, chunking))
        return REPORT

    monkeypatch.setattr(embedding, "embed_into", embed_into)
    answer = gem("embed", faq_file, "--to", URL, *options)
    assert (answer.out, answer.err) == (COUNTS, "")
    chunking = changed.pop("chunking", None)
    usual = {"batch": 1000, "texts": True, "drop_unsupported": False, "words": True}
    [(url, asked, cut)] = given
    assert (url, asked) == (URL, PushOptions(**{**usual, **changed}))
    assert cut == chunking or (chunking is None and cut in (None, Chunking("auto")))


def test_bad_records_of_an_embedding_are_counted_at_the_end(gem, tmp_path):
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"id": "1", "text": "renew a visa"}\n' + '{"text": 7}\n' * 9)
    url = f"parquet://{tmp_path}/out"
    report = tmp_path / "r.jsonl"
    made = gem("embed", bad, "--to", url, "--on-error", "skip", "--report", report)
    told = made.err.splitlines()
    assert [line.partition(":")[0] for line in told] == ["Skipped"] * 6 + ["Note"]
    assert told[5].startswith("Skipped: … and 4 more like it: ")
    assert told[6] == f"Note: 9 bad records are reported in {report}."
    rows = [json.loads(line) for line in report.read_text().splitlines()]
    assert [row["line"] for row in rows] == list(range(2, 11))


def test_bad_rows_of_a_pull_are_counted_at_the_end_and_vectors_come_from_the_configuration(
    gem, tmp_path
):
    folder = tmp_path / "theirs"
    folder.mkdir()
    rows = [{"id": f"{i}", "text": None if i else "renew a visa"} for i in range(10)]
    pq.write_table(pa.Table.from_pylist(rows), folder / "a.parquet")
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"vectors": "wordllama", "config": {"prior": 2.0}}))
    url, report = f"parquet://{folder}", tmp_path / "r.jsonl"
    made = gem(
        "pull", url, "faq", "--on-error", "skip", "--report", report, "--config", config, "--json"
    )
    assert (made.status, made.json["added"], made.json["skipped"]) == (0, 1, 9)
    assert made.err.endswith(f"Note: 9 bad records are reported in {report}.\n")
    [status] = gem("status", "faq", "--json").json["collections"]
    assert (status["vectors"], status["prior"]) == ("wordllama", 2.0)


def test_a_database_has_its_version_or_the_command_that_installs_it(gem, monkeypatch):
    infos = [
        TargetInfo("one", True, "1.2", "pip install one", "exact", "any JSON", "one step", "one"),
        TargetInfo(
            "two", False, "0.1", "pip install two", "HNSW", "flat values", "one step", "many"
        ),
    ]
    monkeypatch.setattr(gem_index.targets, "list_targets", lambda: infos)
    head, _, *rows = [line.split() for line in gem("targets").out.splitlines() if line.strip()]
    assert head == ["scheme", "search", "metadata", "replaced", "in", "installed"]
    assert rows == [
        ["one", "exact", "any", "JSON", "one", "step", "1.2"],
        ["two", "HNSW", "flat", "values", "one", "step", "pip", "install", "two"],
    ]
