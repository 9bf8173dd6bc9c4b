"""A home that a user names and that does not exist."""

import pytest


@pytest.mark.parametrize(
    "command",
    [
        ("add", "faq", "FILE"),
        ("backup", "FOLDER"),
        ("calibrate", "faq"),
        ("compact",),
        ("count", "faq"),
        ("delete", "faq", "1"),
        ("drift", "faq"),
        ("drop", "faq", "--yes"),
        ("duplicates", "faq"),
        ("export", "faq", "-o", "faq.jsonl"),
        ("list", "faq"),
        ("map", "faq", "-o", "map.html"),
        ("refit", "faq"),
        ("search", "faq", "a visa"),
        ("show", "faq", "1"),
        ("similar", "faq", "1"),
        ("status",),
        ("topics", "faq"),
        ("verify",),
        ("watch", "faq", "FOLDER"),
    ],
    ids=lambda command: command[0],
)
def test_is_not_made_by_a_command_that_needs_one(gem, faq_file, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    places = {"FILE": faq_file, "FOLDER": tmp_path / "folder"}
    missing = tmp_path / "hoem"
    answer = gem("--home", missing, *(places.get(part, part) for part in command))
    assert (answer.status, answer.out) == (2, "")
    assert answer.err.startswith(
        f"Error: the home {missing} does not exist; expected the folder of a home"
    )
    assert not missing.exists()


def test_is_made_by_a_build(gem, faq_file, tmp_path):
    assert gem("--home", tmp_path / "new", "build", "faq", faq_file).status == 0
    assert (tmp_path / "new").is_dir()


def test_a_name_that_no_folder_can_have_is_told_as_such(gem, tmp_path):
    answer = gem("--home", tmp_path / ("x" * 300), "status")
    assert answer.status != 0
    assert "does not exist" not in answer.err
    assert "File name too long" in answer.err or "file name too long" in answer.err
