"""Notes on what reading found and changed."""

from collections import Counter

import pytest

from gem_index.errors import Action
from gem_index.readers.findings import Findings


def notes(findings, types=(), clean=()):
    return [str(note) for note in findings.notes(dict(types), clean, "last")]


def test_every_note_is_one_line_in_this_order():
    findings = Findings(
        texts=2000, cleaned=1500, markup=9, repeated=1200,
        misfits=Counter({"a": 1, "b": 1300}), encodings={"x.csv": "cp1252"},
    )  # fmt: skip
    for note in ("a header", "a tab", "a header"):
        findings.note_form("y.csv", note)
    assert notes(findings, {"year": "number"}, ["html", "urls"]) == [
        "x.csv is read as cp1252; this encoding was detected.",
        "y.csv: a header; a tab.",
        "types of columns: 'year' number; the others are text.",
        "values that do not fit the type of their column stay text: 'b' 1,300, 'a' 1.",
        "cleaning (html, urls) changed 1,500 of 2,000 texts.",
        "1,200 records have the same id as another record; the last record of each id is used.",
    ]
    [note] = Findings(texts=2000, markup=9).notes({}, [], "stop")
    assert note.advice is not None
    assert note.advice.action is Action.CLEAN
    uncleaned = "9 of 2,000 texts look like HTML and are used as they are"
    assert notes(Findings(texts=2000, markup=9))[0].startswith(uncleaned)
    assert notes(Findings(texts=1)) == notes(Findings(), clean=["html"]) == []


@pytest.mark.parametrize(
    ("count", "more"), [(8, ""), (9, " and 1 more"), (1010, " and 1,002 more")]
)
def test_a_note_names_eight_columns_and_counts_the_others(count, more):
    types = {f"c{number}": "number" for number in range(count)}
    shown = ", ".join(f"'c{number}' number" for number in range(8))
    assert notes(Findings(), types) == [f"types of columns: {shown}{more}; the others are text."]
