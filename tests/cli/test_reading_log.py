"""Skipped records as they are shown and reported, and the small values that commands print."""

from __future__ import annotations

import json
from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from gem_index import Chunking
from gem_index.errors import Action, Advice, ConfigError, InputError, Message, RecordError
from gem_index_cli.advice import command_with_fields, without_password
from gem_index_cli.cluster import ClusterOptions
from gem_index_cli.input_options import InputOptions
from gem_index_cli.output import in_units, json_line, visible
from gem_index_cli.parameters import names_of
from gem_index_cli.pieces import PieceOptions
from gem_index_cli.problems import ReadingLog
from gem_index_cli.unknown_words import SampledTexts, tell_unknown_words


@pytest.fixture
def told(capsys):
    """Return the lines on standard error since the last call."""
    return lambda: capsys.readouterr().err.splitlines()


class TestSkipped:
    def test_five_of_each_kind_are_shown_and_all_are_reported(self, tmp_path, told):
        log = ReadingLog(tmp_path / "bad.jsonl")
        problems = [f"the field 'text{n}' is {n},000; expected a string" for n in range(8)]
        for line, problem in enumerate(problems):
            log.skip(RecordError("a.jsonl", line, problem))
        log.skip(
            RecordError(
                "b.jsonl", 9, Message("no field", Advice(Action.NAME_FIELD, {"field": "text"}))
            )
        )
        log.skip(InputError("x.pdf cannot be read"))
        advised = "no field: name the field that holds the text with --text-field"
        assert told() == [
            *(f"Skipped: a.jsonl line {n}: {problems[n]}" for n in range(5)),
            f"Skipped: b.jsonl line 9: {advised}",
            "Skipped: x.pdf cannot be read",
        ]
        assert len((tmp_path / "bad.jsonl").read_text().splitlines()) == 10  # watch never ends it
        log.end()
        assert told() == [
            f"Skipped: … and 3 more like it: {problems[0]}",
            f"Note: 10 bad records are reported in {tmp_path}/bad.jsonl.",
        ]
        assert log.skipped == 10
        rows = [json.loads(line) for line in (tmp_path / "bad.jsonl").read_text().splitlines()]
        assert rows == [
            *(
                {"source": "a.jsonl", "line": line, "problem": problem}
                for line, problem in enumerate(problems)
            ),
            {"source": "b.jsonl", "line": 9, "problem": advised},
            {"source": None, "line": None, "problem": "x.pdf cannot be read"},
        ]
        log.skip(RecordError("a.jsonl", 1, "read a second time"))
        log.note([Message("a second note")])
        log.end()
        assert (told(), log.skipped) == ([], 10)

    def test_fifty_kinds_are_told_apart(self, told):
        log = ReadingLog(None)
        for n in range(60):
            log.skip(RecordError("a", 1, f"problem {chr(97 + n // 26)}{chr(97 + n % 26)}"))
        shown = told()
        assert len(shown) == 55
        assert shown[-1] == "Skipped: a line 1: problem cc"
        for _ in range(5):
            log.skip(RecordError("a", 1, "problem aa"))
        assert len(told()) == 4  # a kind that is known
        log.end()
        assert told() == [
            "Skipped: … and 1 more like it: problem aa",
            "Skipped: … and 5 more like it: problem by",
        ]

    def test_five_are_not_too_many(self, told):
        log = ReadingLog(None)
        for line in range(5):
            log.skip(RecordError("a", line, "bad"))
        assert len(told()) == 5
        log.end()
        assert told() == []

    def test_notes(self, told):
        log = ReadingLog(None)
        log.note([Message("the encoding is latin-1"), Message("x is HTML", Advice(Action.CLEAN))])
        assert told() == [
            "Note: the encoding is latin-1",
            "Note: x is HTML: strip them to their text with --clean auto",
        ]

    def test_a_report_that_cannot_be_written(self, tmp_path):
        with pytest.raises(InputError) as refused:
            ReadingLog(tmp_path / "none" / "bad.jsonl")
        assert str(refused.value) == (
            f"cannot write {tmp_path}/none/bad.jsonl: no such file or directory; expected a file for the report"
        )

    @pytest.mark.parametrize("skipped", [2, 3])
    def test_on_a_cluster_it_is_told_if_some_are_not_listed(self, told, skipped):
        options = InputOptions(on_error="skip")
        ClusterOptions.tell(
            options, [RecordError("a", 1, "bad"), RecordError("a", 2, "bad")], skipped
        )
        assert told() == [
            "Skipped: a line 1: bad",
            "Skipped: a line 2: bad",
            *(
                ["Skipped: 3 bad records, of which those of each part beyond 100 are not listed."]
                if skipped == 3
                else []
            ),
        ]
        assert ClusterOptions.partitions(options).errors == "skip"
        assert ClusterOptions.partitions(InputOptions()).errors == "raise"


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("postgresql://me:secret@host/db", "postgresql://me:***@host/db"),
        ("https://host/x?Password=p&sslkey=k&x=1", "https://host/x?Password=***&sslkey=***&x=1"),
        ("https://host/x?a=1&token=t&key=k#y", "https://host/x?a=1&token=***&key=***"),
        ("https://host:80/x?tokens=5", "https://host:80/x?tokens=5"),
        ("a:b@c", "a:b@c"),
    ],
)
def test_passwords_are_not_shown(given, shown):
    assert without_password(given) == shown


@pytest.mark.parametrize(
    ("id_field", "text_fields", "added"),
    [
        (None, ("body",), "--text-field body"),
        ("key", ("a b", "c"), "--id-field key --text-field 'a b' --text-field c"),
    ],
)
def test_a_command_is_told_with_other_fields(id_field, text_fields, added):
    given = [
        "build",
        "faq",
        "--text-field",
        "x",
        "--id-field=y",
        "sql:postgresql://me:p@host",
        "--json",
    ]
    error = SimpleNamespace(id_field=id_field, text_fields=text_fields)
    assert command_with_fields(given, error) == (
        f"gem-index build faq 'sql:postgresql://me:***@host' --json {added}"
    )


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1 kB"),
        (999_499, "999 kB"),
        (999_500, "1 MB"),
        (2_600_000_000, "3 GB"),
        (5_000_000_000_000, "5000 GB"),
    ],
)
def test_bytes_have_units(count, shown):
    assert in_units(count) == shown


@dataclass
class Value:
    name: str
    numbers: tuple[int, ...] = (1, 2)


def test_values_are_a_line_of_json():
    assert json_line(Value("é")) == '{"name": "é", "numbers": [1, 2]}\n'
    assert json_line([Value("a"), 5, None]) == '[{"name": "a", "numbers": [1, 2]}, 5, null]\n'
    with pytest.raises(ValueError, match="not JSON compliant"):
        json_line(float("nan"))
    assert visible("a\x07b\té\x1b[31m") == r"a\x07b\té\x1b[31m"
    assert (names_of(" a, b ,c"), names_of(None), names_of("")) == (["a", "b", "c"], [], [])


@pytest.mark.parametrize(
    ("options", "chunking"),
    [
        ({}, None),
        ({"chunk": "none"}, Chunking(None)),
        ({"chunk": "auto", "overlap": 7}, Chunking("auto", 7)),
        ({"chunk": "20", "overlap": 5, "headings": True}, Chunking(20, 5, True)),
    ],
)
def test_options_of_pieces(options, chunking):
    assert PieceOptions(**options).chunking() == chunking
    for lacking in ({"overlap": 0}, {"headings": True}):
        with pytest.raises(ConfigError) as refused:
            PieceOptions(**lacking).chunking()
        assert str(refused.value) == (
            "found --overlap or --headings without --chunk; expected all of them"
        )


def test_few_known_words_are_told(told):
    for known in (None, 0.5, 1.0):
        tell_unknown_words(known)
    assert told() == []
    tell_unknown_words(0.494)
    [line] = told()
    assert line == (
        "Note: the word vectors know 49% of the words of a sample; the texts may be in another language or script, or the "
        "vectors keyed otherwise. gem-index vectors catalogue lists vectors of other languages."
    )
    for items in ([str(n) for n in range(400)], [(str(-n), str(n)) for n in range(400)]):
        sampled = SampledTexts(items)
        assert list(sampled) == items
        assert sampled.first == [str(n) for n in range(300)]
