"""Tables and documents as they are printed on terminals of several widths."""

from __future__ import annotations

import pytest

from gem_index import Document
from gem_index_cli.output import print_document, print_table


@pytest.fixture
def table(capsys, monkeypatch):
    """Return the lines of a table on a terminal of some columns."""

    def lines(width, *arguments):
        monkeypatch.setenv("COLUMNS", str(width))
        capsys.readouterr()
        print_table(*arguments)
        return capsys.readouterr().out.splitlines()

    return lines


HEADINGS = ("name", ">first", ">second")
ROWS = [("a", 1, "x" * 20), ("b", 22, "y")]


def test_a_table_is_divided_only_if_it_does_not_fit(table):
    whole = table(200, HEADINGS, ROWS, "Title")
    width = max(map(len, whole))
    assert whole[0].strip() == "Title"
    assert [line.split() for line in whole if "a " in line or "b " in line] == [
        ["a", "1", "x" * 20],
        ["b", "22", "y"],
    ]
    assert [line.rstrip() for line in table(width, HEADINGS, ROWS, "Title")] == [
        line.rstrip() for line in whole
    ]
    divided = table(width - 1, HEADINGS, ROWS, "Title")
    assert sum("Title" in line for line in divided) == 1
    assert [line.split() for line in divided if "name" in line] == [
        ["name", "first"],
        ["name", "second"],
    ]


def test_a_column_that_does_not_fit_beside_the_names_makes_lists(table):
    rows = [("n" * 30, 1, "x" * 40), ("m", "2\x07", "y")]
    assert table(50, HEADINGS, rows) == [
        "n" * 30,
        "  first: 1",
        f"  second: {'x' * 40}",
        "m",
        r"  first: 2\x07",
        "  second: y",
    ]


def test_a_document_is_its_id_its_fields_and_its_text(capsys):
    print_document(
        Document(id="a\x07", text="one\ttwo\nthree\x1b", metadata={"n": ["é"], "m": None})
    )
    assert capsys.readouterr().out.splitlines() == [
        r"a\x07",
        '  n: ["é"]',
        "  m: null",
        "",
        "one     two",
        r"three\x1b",
    ]
