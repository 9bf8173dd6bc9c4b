"""The file of a map, drawn from given places: the page's data, the table and the messages, as a whole."""

import csv
import json
import re

import numpy as np
import pytest

from gem_index.collection.corpus import map_files
from gem_index.collection.corpus.map_files import MapDrawing, MapGroup, map_path, write_map
from gem_index.errors import InputError

PLACES = np.array([[0.123456, 0.25], [0.125, 0.75], [0.9, 0.100004]])


def drawing(texts=("my visa", "<script> & a week", "a bank")):
    return MapDrawing(
        ["a", "b", "c"],
        texts,
        PLACES,
        np.array([0, 0, 1], np.int32),
        [MapGroup(("visa", "passport", "week"), 2), MapGroup(("bank",), 1), MapGroup((), 0)],
    )


def data_of(path):
    page = path.read_text(encoding="utf-8")
    [line] = [each for each in page.splitlines() if '"colours"' in each]
    return json.loads(re.search(r"\{.*\}", line)[0])


def test_the_data_of_a_page(tmp_path):
    write_map(drawing(), tmp_path / "m.html")
    data = data_of(tmp_path / "m.html")
    assert len(set(data.pop("colours"))) == 12
    assert data == {
        "topics": [
            {"words": ["visa", "passport", "week"], "documents": 2},
            {"words": ["bank"], "documents": 1},
            {"words": [], "documents": 0},
        ],
        "labels": [["visa passport", 0.123456, 0.75], ["bank", 0.9, 0.899996]],
        "points": [
            [0.1235, 0.75, 0, "a", "my visa"],
            [0.125, 0.25, 0, "b", "<script> & a week"],
            [0.9, 0.9, 1, "c", "a bank"],
        ],
    }
    assert "<script> & a week" not in (tmp_path / "m.html").read_text()


@pytest.mark.parametrize(("most", "length"), [(6_000_000, 300), (300, 100), (90, 60)])
def test_the_texts_of_a_page_get_shorter_with_their_number(tmp_path, monkeypatch, most, length):
    monkeypatch.setattr(map_files, "_TEXTS", most)
    write_map(drawing(["x" * 1000] * 3), tmp_path / "m.html")
    assert {len(point[4]) for point in data_of(tmp_path / "m.html")["points"]} == {length}


def test_the_rows_of_a_table(tmp_path):
    write_map(drawing(), tmp_path / "m.CSV")
    with (tmp_path / "m.CSV").open(newline="") as file:
        assert list(csv.reader(file)) == [
            ["id", "x", "y", "group", "name"],
            ["a", "0.12346", "0.25", "0", "visa, passport, week"],
            ["b", "0.125", "0.75", "0", "visa, passport, week"],
            ["c", "0.9", "0.1", "1", "bank"],
        ]


def test_labels_that_would_cover_each_other_are_moved_apart():
    labels = [("visa", 0.5, 0.5), ("bank", 0.51, 0.51), ("week", 0.52, 0.5), ("far", 0.9, 0.5)]
    found = {text: (x, round(y, 4)) for text, x, y in map_files._spaced(labels)}
    assert found == {
        "visa": (0.5, 0.5),
        "week": (0.52, 0.528),
        "far": (0.9, 0.5),
        "bank": (0.51, 0.556),
    }


@pytest.mark.parametrize("name", ["m.txt", "m", "m.csv"])
def test_another_ending_is_refused(tmp_path, name):
    with pytest.raises(InputError) as refused:
        map_path(tmp_path / name)
    assert str(refused.value) == (
        f"cannot draw a map into {tmp_path / name}; expected a name that ends with .html, .png, .svg, .pdf"
    )
    for ending in (".html", ".PNG", ".svg", ".pdf"):
        assert map_path(tmp_path / f"m{ending}") == tmp_path / f"m{ending}"
    assert map_path(tmp_path / "m.csv", ".csv") == tmp_path / "m.csv"


def test_a_folder_that_does_not_exist_is_told(tmp_path):
    path = tmp_path / "none" / "m.html"
    with pytest.raises(InputError) as refused:
        write_map(drawing(), path)
    assert str(refused.value).startswith(f"cannot write {path}: ")
    assert str(refused.value).endswith("; expected a file in a folder that can be written")
