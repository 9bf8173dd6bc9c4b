"""A collection's ids, vectors and metadata as arrays, Arrow tables and data frames; and cleaning of Python objects."""

import json
import sys

import numpy as np
import pytest

from gem_index import Document, Home
from gem_index.errors import ConfigError, FilterError, InputError
from gem_index.files.tables import pandas_frame

ROWS = [
    Document(id="a", text="Where is the bank?", metadata={"year": 2020, "mixed": 1, "id": "x", "tags": ["law", "money"]}),
    Document(id="b", text="银行在哪里?", metadata={"mixed": "one"}),
    Document(id="c", text="!?", metadata={"year": 2021}),
]  # fmt: skip


@pytest.fixture
def collection(tmp_path):
    home = Home(tmp_path / "home")
    home.build("c", ROWS)
    return home.collection("c")


def test_vectors_are_those_of_the_encoder(collection):
    ids, vectors = collection.vectors()
    assert ids == ["a", "b", "c"]
    assert vectors.dtype == np.float32
    np.testing.assert_array_equal(vectors, collection.encoder.encode([row.text for row in ROWS]))
    assert not vectors[2].any()


def test_a_filter(collection):
    ids, vectors = collection.vectors({"year": {"$gte": 2021}})
    assert (ids, vectors.shape) == (["c"], (1, 256))
    assert collection.to_arrow({"year": 2021}).num_rows == 1
    ids, vectors = collection.vectors({"year": 1999})
    assert (ids, vectors.shape, vectors.dtype) == ([], (0, 256), np.float32)
    with pytest.raises(FilterError):
        collection.vectors({"$no": 1})


def test_an_arrow_table_has_a_column_for_each_field(collection):
    table = collection.to_arrow()
    columns = table.to_pydict()
    assert table.column_names[:3] == ["id", "text", "vector"]
    assert columns["id"] == ["a", "b", "c"]
    assert columns["text"] == [row.text for row in ROWS]
    np.testing.assert_array_equal(np.array(columns["vector"], np.float32), collection.vectors()[1])
    assert columns["year"] == [2020, None, 2021]
    assert columns["tags"] == [["law", "money"], None, None]
    assert columns["metadata.id"] == ["x", None, None]
    assert columns["mixed"] == ["1", json.dumps("one"), None]
    assert collection.to_arrow({"year": 1999}).num_rows == 0


def test_a_data_frame_without_pandas(collection, monkeypatch):
    table = collection.to_arrow()
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InputError, match="a data frame needs pandas: pip install pandas"):
        pandas_frame(table)


def test_a_data_frame(collection):
    pytest.importorskip("pandas", reason='pip install ".[test-formats]"')
    frame = collection.to_pandas()
    assert list(frame["id"]) == ["a", "b", "c"]
    assert frame["year"].iloc[0] == 2020
    np.testing.assert_array_equal(np.stack(frame["vector"]), collection.vectors()[1])


HTML = "<p>Where is the <b>bank</b>?</p>"


@pytest.mark.parametrize("rows", [[{"id": "1", "text": HTML}], [("1", HTML)]])
def test_cleaning_of_objects_is_remembered(tmp_path, rows):
    home = Home(tmp_path / "home")
    home.build("c", rows, clean=["html"])
    collection = home.collection("c")
    assert collection.reading == {"clean": ["html"]}
    collection.upsert([{"id": "2", "text": HTML}, Document(id="3", text=HTML)])
    collection.upsert([{"id": "4", "text": HTML}], clean=[])
    texts = {document.id: document.text for document in collection.documents()}
    assert texts == {"1": "Where is the bank?", "2": "Where is the bank?", "3": HTML, "4": HTML}
    home.build("c", [{"id": "5", "text": HTML}])
    assert collection.get(["5"])[0].text == "Where is the bank?"


def test_cleaning_of_several_fields_and_of_texts(tmp_path):
    home = Home(tmp_path / "home")
    home.build(
        "c",
        [{"title": "<b>A</b> title", "body": HTML, "note": HTML}],
        text=["title", "body"],
        clean=["html"],
    )
    (document,) = home.collection("c").documents()
    assert document.text == "A title\n\nWhere is the bank?"
    assert document.metadata == {"note": HTML}
    home.build("d", [HTML], clean=["html"])
    assert [document.text for document in home.collection("d").documents()] == [
        "Where is the bank?"
    ]
    with pytest.raises(ConfigError, match="the cleaning is 'htm'"):
        home.build("e", [HTML], clean=["htm"])
