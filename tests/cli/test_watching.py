"""What the command watch prints; that it follows folders is in test_sources.py."""

from __future__ import annotations

import json

import pytest

from gem_index.errors import DiskError, InputError


@pytest.fixture
def watched(gem, faq, tmp_path, monkeypatch):
    """Run the command on a folder that changes twice; return its answer and how it watched."""
    asked = []
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("# A\n\ntext")

    def watch(collection, readers, *, on_report, on_error, ignore):
        asked.append((collection.name, [reader.folder for reader in readers], ignore))
        for number in (1, 2):  # the same trouble comes again after every change
            on_report(collection.upsert([(f"n{number}", "a new text")]))
            readers[0].on_problem(InputError("b.md cannot be read"))
            on_error(DiskError("the disk is full"))
        raise KeyboardInterrupt

    monkeypatch.setattr("gem_index.collection.watching.watch", watch)

    def run(*arguments):
        return gem("watch", "faq", *arguments), asked

    return run


def test_each_change_is_told_and_each_trouble_once(watched, tmp_path):
    docs = tmp_path / "docs"
    answer, asked = watched(docs)
    assert answer.status == 0
    assert answer.out == (
        "faq: 1 added, 0 updated, 0 deleted; 6 documents now.\n"
        "faq: 1 added, 0 updated, 0 deleted; 7 documents now.\n"
        "Stopped.\n"
    )
    assert answer.err == "Skipped: b.md cannot be read\nError: the disk is full\n"
    assert asked == [("faq", [str(docs)], [(tmp_path / "home").resolve()])]


def test_programs_get_json_alone(watched, tmp_path):
    answer, _ = watched(tmp_path / "docs", "--json")
    counts = [(row["added"], row["documents"]) for row in map(json.loads, answer.out.splitlines())]
    assert counts == [(1, 6), (1, 7)]


def test_an_empty_folder_is_told_before_it_is_watched(watched, tmp_path):
    (tmp_path / "docs" / "a.md").unlink()
    answer, asked = watched(tmp_path / "docs")
    assert (answer.status, asked) == (2, [])


def test_without_a_folder_those_of_the_collection_are_watched(watched, gem, tmp_path):
    gem("add", "faq", tmp_path / "docs")
    _, asked = watched()
    assert [folders for _, folders, _ in asked] == [[str(tmp_path / "docs")]]
