"""What the reader of a folder says in whole, and what its documents have of their files."""

import errno
import os
import time

import pytest

from gem_index.converting import ConversionError, ConverterPool
from gem_index.errors import (
    Action,
    ConfigError,
    InputError,
    MissingExtraError,
    UnreadableFileError,
)
from gem_index.readers import FolderReader
from told import told


@pytest.fixture
def folder(tmp_path):
    root = tmp_path / "notes"
    (root / "law").mkdir(parents=True)
    (root / "Parcels.MD").write_text("# How to send\n\nA parcel.")
    (root / "law" / "visa.txt").write_text("How do I renew a visa?")
    return root


def paths(folder, **options):
    return [found.path for found in FolderReader(folder, **options).files()]


@pytest.mark.parametrize("zone", ["XYZ-12", "UTC"])
def test_a_document_has_the_title_time_and_kind_of_its_file(folder, monkeypatch, zone):
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        for path in ("Parcels.MD", "law/visa.txt"):
            os.utime(folder / path, ns=(0, 1_700_000_000_999_999_999))
        found = {each.id: each.metadata for each in FolderReader(folder)}
    finally:
        monkeypatch.undo()
        time.tzset()
    modified = "2023-11-14T22:13:20+00:00"
    assert found == {
        "Parcels.MD": {"path": "Parcels.MD", "title": "How to send", "modified": modified, "type": "md"},
        "law/visa.txt": {"path": "law/visa.txt", "title": "visa", "modified": modified, "type": "txt"},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("options", "which"),
    [
        ({}, "of a known kind"),
        ({"glob": ["*.pdf"]}, "that matches the patterns"),
        ({"exclude": ["*.pdf"]}, "that matches the patterns"),
    ],
)
def test_no_file(tmp_path, options, which):
    assert told(InputError, lambda: paths(tmp_path, **options)) == (
        f"{tmp_path} holds no file {which}; expected at least one"
    )


def test_files_of_records_alone(tmp_path):
    names = ["a.jsonl", "b.csv", "c.tsv", "d.json", "e.parquet", "f.xlsx", "g.csv.gz"]
    for name in names:
        (tmp_path / name).write_text("x")
    reader = FolderReader(tmp_path)
    for _ in range(2):
        assert told(InputError, lambda: list(reader)) == (
            f"{tmp_path} holds no document, but 7 files of records, such as a.jsonl; expected documents: name the files of "
            "records themselves as inputs"
        )
    assert reader.records == names
    (tmp_path / "z.md").write_text("a text")
    assert [each.id for each in reader] == ["z.md"]
    assert reader.records == names


def test_a_pattern_that_is_none(folder):
    assert told(ConfigError, lambda: paths(folder, glob=["*.md", "!"])) == (
        "glob is '!'; expected a pattern as in .gitignore, such as '*.md'"
    )


def test_what_is_left_out(folder):
    for name in ("law/.hidden/a.md", "law/home/gem-index.sqlite3", "law/home/a.md", "law/.b.md"):
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("a text")
    assert paths(folder) == ["Parcels.MD", "law/visa.txt"]
    assert paths(folder / "law/home") == ["a.md"]
    assert paths(folder, glob=["*.md", "*.MD"]) == ["Parcels.MD", "law/.b.md"]


def test_choices_that_were_given_are_kept_before_those_of_the_last_time(folder):
    reader = FolderReader(folder, glob=["*.txt"])
    reader.adopt({"glob": ["*.md"], "exclude": ["law"], "gitignore": True, "encoding": "cp1252"})
    assert reader.choices == {
        "glob": ["*.txt"], "exclude": ["law"], "gitignore": True, "encoding": "cp1252",
    }  # fmt: skip


def test_a_missing_library_is_told_with_its_advice(folder, monkeypatch):
    def missing(self, path, kind, encoding):
        raise MissingExtraError("reading PDF", "documents")

    monkeypatch.setattr(ConverterPool, "pages", missing)
    problems = []
    assert list(FolderReader(folder, on_problem=problems.append)) == []
    assert [each.advice.action for each in problems] == [Action.INSTALL] * 2
    assert str(problems[0]).startswith(
        f"{folder}/Parcels.MD was not read: reading PDF needs the optional extra 'documents'"
    )


def test_an_archive_is_read_completely_or_not_at_all(folder, monkeypatch):
    (folder / "a.mbox").write_text("From a Mon Oct  5 10:00:00 2026\nSubject: s\n\ntext\n\n" * 3)
    pages = ConverterPool.pages

    def failing(self, path, kind, encoding):
        for number, page in enumerate(pages(self, path, kind, encoding)):
            if path.name == "a.mbox" and number == 2:
                raise ConversionError("it broke")
            yield page

    monkeypatch.setattr(ConverterPool, "pages", failing)
    problems = []
    reader = FolderReader(folder, on_problem=problems.append)
    assert [each.id for each in reader] == ["Parcels.MD", "law/visa.txt"]
    assert [str(each) for each in problems] == [f"{folder}/a.mbox was not read: it broke"]
    assert (reader.skipped, reader.empty) == (1, [])
    with pytest.raises(UnreadableFileError, match=r"a\.mbox was not read: it broke$"):
        list(FolderReader(folder))


def test_documents_come_in_the_order_of_the_files_around_an_archive(folder):
    (folder / "a.md").write_text("first")
    (folder / "b.mbox").write_text("From a Mon Oct  5 10:00:00 2026\nMessage-ID: <1>\n\ntext\n\n")
    (folder / "c.md").write_text(" \n")
    reader = FolderReader(folder)
    assert [each.id for each in reader] == ["Parcels.MD", "a.md", "b.mbox#1", "law/visa.txt"]
    assert reader.empty == ["c.md"]


def test_a_file_that_cannot_be_looked_at_is_told_and_unseen(folder, monkeypatch):
    class Entry:
        name = "law"

        def stat(self, *, follow_symlinks):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    scandir = os.scandir
    monkeypatch.setattr(
        os,
        "scandir",
        lambda path: [Entry() if each.name == "law" else each for each in scandir(path)],
    )
    problems = []
    reader = FolderReader(folder, on_problem=problems.append)
    assert [each.path for each in reader.files()] == ["Parcels.MD"]
    assert [str(each) for each in problems] == [f"{folder}/law was not read: permission denied"]
    assert (reader.unseen, reader.skipped) == (["law"], 1)
