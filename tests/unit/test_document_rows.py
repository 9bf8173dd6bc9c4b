"""Rows of a table of documents: their columns, and the values of fields by the names that filters have."""

import numpy as np

from gem_index import Document
from gem_index.collection.state import document_rows, metadata_fields
from gem_index.collection.state.document_rows import (
    column_names,
    rows_of_documents,
    rows_with_fields,
    rows_with_vectors,
)

DOCUMENTS = [
    Document(id="1", text="a visa", metadata={"id": 7, "a.b": 1, "a": {"b": 2, "c": {"d": False}}}),
    Document(id="2", text="a bank", metadata={"n": 0, "a": 3}),
    Document(id="3", text="a week"),
]


def test_the_columns_of_fields():
    assert column_names(["id", "n", "text"], ("id", "text")) == {
        "id": "metadata.id",
        "n": "n",
        "text": "metadata.text",
    }
    assert column_names(["vector"], ("id", "text")) == {"vector": "vector"}


COLUMNS = column_names(["id", "n", "a.b", "a.c.d", "a.c.x"], ("id", "text"))
ROWS = [
    {"id": "1", "text": "a visa", "metadata.id": 7, "a.b": 1, "a.c.d": False},
    {"id": "2", "text": "a bank", "n": 0},
    {"id": "3", "text": "a week"},
]


def test_documents_have_the_fields_that_they_have():
    assert list(rows_of_documents(DOCUMENTS, COLUMNS)) == ROWS


def test_vectors_are_encoded_block_by_block(monkeypatch):
    monkeypatch.setattr(document_rows, "_BLOCK", 2)
    blocks = []

    def encode(texts):
        blocks.append(list(texts))
        return np.array([[len(text), number] for number, text in enumerate(texts)], np.float32)

    found = list(rows_with_vectors(DOCUMENTS, COLUMNS, encode))
    assert blocks == [["a visa", "a bank"], ["a week"]]
    assert [row.pop("vector").tolist() for row in found] == [[6, 0], [6, 1], [6, 0]]
    assert found == ROWS


def test_rows_of_a_result_get_the_fields_of_their_documents(monkeypatch):
    monkeypatch.setattr(document_rows, "_BLOCK", 2)
    asked = []

    def get(ids):
        asked.append(ids)
        return [each for each in DOCUMENTS if each.id in ids]

    rows = [{"id": name, "score": 1} for name in ("2", "gone", "1")]
    assert list(rows_with_fields(rows, {"n": "n", "a.b": "x"}, get)) == [
        {"id": "2", "score": 1, "n": 0},
        {"id": "gone", "score": 1},
        {"id": "1", "score": 1, "x": 1},
    ]
    assert asked == [["2", "gone"], ["1"]]
    assert list(rows_with_fields(rows, {}, get)) == rows
    assert len(asked) == 2


def fields_of(*sample):
    class Documents:
        def kinds_in(self, name, sample):
            return {"text": 1, "list": 2}

    return metadata_fields.fields_of_sample(Documents(), sample)


def test_fields_of_a_sample():
    found = fields_of('{"n": ["a", "b", "a"], "m": 1}', '{"n": "c", "o": {"p": 1, "q.r": 2}}', "{}")
    assert [(each.name, each.documents, each.distinct) for each in found] == [
        ("n", 2 / 3, 3),
        ("m", 1 / 3, 1),
        ("o.p", 1 / 3, 1),
    ]
    assert found[0].kinds == ("list", "text")


def test_the_most_frequent_short_values_are_listed():
    values = ["a", "b", "b", "c", "d", "e", "f", "f"]
    [field] = fields_of(*(f'{{"n": "{value}"}}' for value in values))
    assert (field.values, field.distinct) == (("b", "f", "a", "c", "d"), 6)
    longest, longer = "x" * 98, "y" * 99  # with quotes 100 and 101 characters
    [field] = fields_of(f'{{"n": "{longest}"}}', f'{{"n": "{longer}"}}')
    assert (field.values, field.distinct) == ((longest,), 2)


def test_two_hundred_documents_are_sampled():
    class Documents:
        asked = None

        def metadata_sample(self, count):
            self.asked = count
            return []

    documents = Documents()
    assert metadata_fields.metadata_fields(documents) == []
    assert documents.asked == 200
