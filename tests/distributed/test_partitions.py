"""What workers read, part by part, is what one reader reads."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, replace
from itertools import pairwise
from pathlib import Path

import fsspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem_index.distributed.partitions import PartReport, Reading
from gem_index.distributed.planning import plan
from gem_index.documents import text_id
from gem_index.errors import Action, Advice, ConfigError, InputError, RecordError
from gem_index.readers import DocumentReader


def rows_of(partitions):
    return [row for part in partitions for row in part.rows(None, PartReport())]


@pytest.mark.parametrize("size", [1024, 2000, 5000, 1 << 24])
def test_partitions_hold_the_rows_of_one_reader(inputs, size):
    reader = DocumentReader(inputs)
    partitions = plan(reader, partition_bytes=size)
    assert [part.number for part in partitions] == list(range(len(partitions)))
    assert rows_of(partitions) == list(DocumentReader(inputs).rows())
    texts = [text for part in partitions for text in part.texts(None, PartReport())]
    assert texts == list(DocumentReader(inputs).texts())
    documents = [found for part in partitions for found in part.documents(None, PartReport())]
    assert documents == list(DocumentReader(inputs))
    if size == 1024:
        assert len(partitions) > 20
        # of Parquet and of lines, several each; the others whole
        assert sum(part.file.name.endswith(".parquet") for part in partitions) > 1
        assert sum(part.file.name.endswith((".gz", ".csv")) for part in partitions) == 2
    if size == 1 << 24:
        assert len(partitions) == len(inputs)


@given(
    lines=st.lists(st.text(alphabet="ab ü\r", max_size=700), min_size=1, max_size=12),
    end=st.sampled_from(["", "\n", "\n\n"]),
)
def test_lines_are_cut_anywhere(tmp_path_factory, lines, end):
    path = tmp_path_factory.mktemp("lines") / "x.txt"
    path.write_bytes(("\n".join(lines) + end).encode())
    if not path.stat().st_size:
        return
    partitions = plan(DocumentReader([str(path)]), partition_bytes=1024)
    assert rows_of(partitions) == list(DocumentReader([str(path)]).rows())
    edges = [(part.part.begin, part.part.end) for part in partitions]
    assert all(a[1] == b[0] for a, b in pairwise(edges))


def test_a_line_longer_than_partitions_is_in_one(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text('{"text": "short"}\n{"text": "' + "long " * 2000 + '"}\n{"text": "last"}\n')
    partitions = plan(DocumentReader([str(path)]), partition_bytes=1024)
    assert [len(rows_of([part])) for part in partitions] == [2, 1]
    assert [row[0] for row in rows_of(partitions)] == [
        text_id(text) for text in ("short", "long " * 2000, "last")
    ]


def test_other_encodings_are_read_whole(tmp_path):
    path = tmp_path / "x.txt"
    path.write_text("bänk\n" * 2000, encoding="utf-16")
    reader = DocumentReader([str(path)], encoding="utf-16")
    (part,) = plan(reader, partition_bytes=1024)
    assert len(rows_of([part])) == 2000


def test_patterns_and_urls(tmp_path, inputs, monkeypatch):
    folder = Path(inputs[0]).parent
    monkeypatch.chdir(folder)
    names = [f"{folder}/*.jsonl", f"{folder}/a.txt", f"{folder}/*.txt", "a.txt", "*.jsonl"]
    partitions = plan(DocumentReader(names))
    assert [Path(part.file.name).name for part in partitions] == ["b.jsonl", "a.txt"]
    memory = fsspec.filesystem("memory")
    for path in inputs:
        memory.put_file(path, f"/corpus/{Path(path).name}")
    try:
        partitions = plan(DocumentReader(["memory://corpus/*"]), partition_bytes=1024)
        assert rows_of(partitions) == list(DocumentReader(inputs).rows())
        memory.pipe_file("/corpus/a.txt", b"changed")
        with pytest.raises(InputError, match=r"a\.txt changed while it was read"):
            rows_of(partitions)
    finally:
        memory.rm("/corpus", recursive=True)


def test_bad_rows_are_named_or_skipped(tmp_path):
    path = tmp_path / "x.jsonl"
    good = ['{"text": "tea"}'] * 200
    good[150] = '{"text": 5}'
    good[160] = '{"body": "tea"}'
    path.write_text("\n".join(good))
    reader = DocumentReader([str(path)])
    with pytest.raises(RecordError, match=r"x\.jsonl line 151: the field 'text' is 5"):
        rows_of(plan(reader, partition_bytes=1024))
    report = PartReport()
    partitions = plan(reader, partition_bytes=1024, skip=True)
    assert len([row for part in partitions for row in part.rows(None, report)]) == 198
    assert report.skipped == 2
    read = PartReport(**json.loads(json.dumps(asdict(report))))  # as it is kept beside a part
    errors = read.skipped_records()
    assert [(error.source, error.line) for error in errors] == [(str(path), 151), (str(path), 161)]
    assert errors[0].advice is None
    assert errors[1].advice == Advice(Action.NAME_FIELD, {"field": "text"})
    assert errors[1].problem.endswith(str(errors[1].advice))


def test_a_partition_of_bad_rows_alone_is_skipped(tmp_path):
    path = tmp_path / "x.jsonl"
    lines = [f'{{"id": "{number}", "text": "tea"}}' for number in range(200)]
    lines[50:150] = ['{"id": "bad", "text": 5}'] * 100
    path.write_text("\n".join(lines))
    partitions = plan(DocumentReader([str(path)]), partition_bytes=1024, skip=True)
    reports = [PartReport() for _ in partitions]
    documents = [
        document.id
        for part, report in zip(partitions, reports, strict=True)
        for document in part.documents(None, report)
    ]
    assert documents == [str(number) for number in (*range(50), *range(150, 200))]
    assert sum(report.skipped for report in reports) == 100
    assert any(report.skipped and not report.rows for report in reports)


def test_a_changed_file_is_refused(inputs):
    partitions = plan(DocumentReader(inputs))
    os.utime(inputs[0], (1, 1))
    with pytest.raises(InputError, match=r"a\.txt changed while it was read"):
        rows_of(partitions)
    replaced = replace(partitions[1].file, size=3)
    with pytest.raises(InputError, match="changed"), replaced.opened():
        pass


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["missing.jsonl"], "cannot read .*missing.jsonl: no such file or directory; expected"),
        (["missing*.jsonl"], r"found no file like .*missing\*\.jsonl; expected at least one"),
        (["empty.txt"], r"empty\.txt is empty; expected at least one text"),
        (["folder"], r"is a folder; expected files of records, such as .*folder/\*\.jsonl"),
        (["x.unknown"], "not of a known format"),
        (["-"], "the input is '-'; expected files that every worker can read"),
        (["nosuch://x/y.jsonl"], "nosuch://x/y.jsonl cannot be opened: .*fsspec"),
        ([], "found no input; expected at least one file"),
    ],
)
def test_bad_inputs(tmp_path, monkeypatch, names, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.txt").touch()
    (tmp_path / "x.unknown").write_text("tea")
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match=message) as caught:
        plan(DocumentReader(names))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"duplicates": "last"}, "duplicates is 'last'; expected 'stop' on a cluster"),
        ({"types": "auto"}, "types of columns are 'auto'; expected text"),
        ({"types": {"a": "number", "*": "auto"}}, "types of columns are 'auto'"),
    ],
)
def test_options_that_need_all_records(inputs, arguments, message):
    with pytest.raises(ConfigError, match=message):
        plan(DocumentReader(inputs, **arguments))
    with pytest.raises(
        ConfigError, match="partition_bytes is 7; expected a whole number of at least 1024"
    ):
        plan(DocumentReader(inputs), partition_bytes=7)


def test_damaged_parquet(tmp_path):
    path = tmp_path / "x.parquet"
    path.write_bytes(b"PAR1" + b"x" * 5000)
    with pytest.raises(InputError, match=r"x\.parquet is not Parquet"):
        plan(DocumentReader([str(path)]), partition_bytes=1024)


def test_each_part_gets_the_options_of_the_reader():
    reader = DocumentReader(
        ["a.csv"], format="csv", id_field="key", text_fields=("title", "body*2"), max_record_bytes=99,
        encoding="latin-1", types={"year": "number"}, clean=("html",), header=False,
        column_names=("key", "title", "body", "year"), delimiter=";", quote="'", table="first",
    )  # fmt: skip
    assert Reading.of(reader, skip=True) == Reading(
        {
            "format": "csv",
            "id_field": "key",
            "text_fields": ("title", "body*2"),
            "max_record_bytes": 99,
            "encoding": "latin-1",
            "types": {"year": "number"},
            "clean": ("html",),
            "header": False,
            "column_names": ["key", "title", "body", "year"],
            "delimiter": ";",
            "quote": "'",
            "table": "first",
        },
        True,
    )


def test_a_table_has_the_form_that_was_told(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("7;'a bank; open'\n8;'tea'\n")
    reader = DocumentReader(
        [str(path)], header=False, column_names=("id", "text"), delimiter=";", quote="'"
    )
    [part] = plan(reader)
    assert list(part.rows(None, PartReport())) == [("7", "a bank; open"), ("8", "tea")]
    assert list(part.documents(None, PartReport())) == list(reader)
