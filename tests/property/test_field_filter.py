"""Filters decided on the values of fields beside a snapshot, against the same filters in plain Python."""

import json
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import create_engine, insert

from gem_index.collection.search.field_filter import FieldFilter
from gem_index.errors import CorruptionError, FilterError
from gem_index.index import fields as fields_module
from gem_index.index.fields import Codes, FieldsWriter, Numbers, SnapshotFields
from gem_index.store import schema
from gem_index.store.documents import DocumentRepository
from plain_filters import conditions, filters, plain_match

ENGINE = create_engine("sqlite://")
LIMITS = {"_MOST_VALUES": 3, "_MOST_FIELDS": 4, "_MOST_CHARACTERS": 30}

keys = st.sampled_from(["a", "b", "e", "e.f", "é"])
few = st.sampled_from([None, True, 1, 1.0, "x", "é", ["x", 1], {"f": "x"}, "p\0q", r"\u0000"])
large = st.sampled_from([2**53 - 1, 2**53, 2.0**53, 2**53 + 1, -(2**53), -(2**53) - 1, 10**300])
many = st.integers(-20, 20) | st.floats(-3, 3, width=16) | large
rows_of_fields = st.lists(st.dictionaries(keys, few | many, max_size=3), min_size=1, max_size=12)
rows_of_numbers = st.lists(st.fixed_dictionaries({}, optional={"a": many}), min_size=4, max_size=12)


def written(rows, old=None, kept=None):
    writer = FieldsWriter(old, kept)
    texts = [json.dumps(row, ensure_ascii=False) for row in rows]
    for begin in range(0, len(texts), 3):
        writer.append(texts[begin : begin + 3])
    folder = Path(tempfile.mkdtemp(dir=FOLDER)) / "fields"
    writer.write(folder)
    return SnapshotFields(folder)


@pytest.fixture(autouse=True, scope="module")
def folder(tmp_path_factory):
    global FOLDER
    FOLDER = tmp_path_factory.mktemp("fields")


def check(where, fields, ids, rows, later):
    """Compare with plain Python, for documents of a snapshot and later ones, from several seqs on."""
    with ENGINE.connect() as connection:
        schema.metadata.create_all(connection)
        stored = dict(zip([*ids, *range(1000, 1000 + len(later))], [*rows, *later], strict=True))
        connection.execute(
            insert(schema.documents),
            [
                {
                    "seq": seq,
                    "collection_id": 1,
                    "document_id": str(seq),
                    "text": "",
                    "metadata": json.dumps(row, ensure_ascii=False),
                    "content_hash": b"",
                }
                for seq, row in stored.items()
            ],
        )
        found = FieldFilter(DocumentRepository(connection, 1), fields, np.array(ids))
        for after in (0, ids[len(ids) // 2], 1000):
            accepted = found.matching(where, after).tolist()
            expected = [
                seq
                for seq, row in stored.items()
                if seq > after and plain_match(where, row) and "\0" not in repr_of(row)
            ]
            assert accepted == expected
        connection.rollback()


def repr_of(row):
    """All keys and texts of a row, joined."""
    if isinstance(row, dict):
        return "".join(repr_of(part) for pair in row.items() for part in pair)
    if isinstance(row, list):
        return "".join(map(repr_of, row))
    return row if isinstance(row, str) else ""


@pytest.mark.parametrize("limited", [False, True])
def test_equals_plain_python(limited):
    @given(where=filters, rows=rows_of_fields, more=rows_of_fields, data=st.data())
    def compare(where, rows, more, data):
        kept = np.array(data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows))))
        with pytest.MonkeyPatch.context() as patch:
            for name, value in LIMITS.items() if limited else ():
                patch.setattr(fields_module, name, value)
            both = written(more, written(rows), kept)
        alive = [row for row, there in zip(rows, kept, strict=True) if there] + more
        check(where, both, list(range(2, 2 * len(alive) + 2, 2)), alive, rows[:2])

    compare()


@given(condition=conditions, rows=rows_of_numbers)
def test_many_numbers_are_decided_between_the_bounds(condition, rows):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fields_module, "_MOST_VALUES", 2)
        fields = written(rows)
    check({"a": condition}, fields, list(range(1, len(rows) + 1)), rows, [])


@pytest.mark.parametrize(
    "where",
    [
        {"a": 1, "b": 2},
        {"a": 1, "$not": {"b": 2}},
        {"$not": {"b": 2}, "a": 1},
        {"a": 1, "$and": [{"b": {"$gt": 1}}]},
        {"$and": [{"b": {"$gt": 1}}], "a": 1},
        {"a": 1, "$or": [{"b": 2}, {"b": 3}]},
        {"$or": [{"b": 2}, {"b": 3}], "a": 1},
        {"$or": [{"a": 1}, {"b": 3}], "$and": [{"b": {"$gt": 1}}], "$not": {"a": 1, "b": 2}},
        {"a": {"$gt": 0, "$lt": 2}, "b": {"$gte": 2, "$ne": 3}},
    ],
)
def test_each_entry_of_a_filter_must_hold(where):
    rows = [{"a": a, "b": b} for a in (1, 2) for b in (1, 2, 3)]
    check(where, written(rows), list(range(1, 7)), rows, rows)


def test_what_is_kept_of_a_field(monkeypatch):
    monkeypatch.setattr(fields_module, "_MOST_VALUES", 4)
    rows = [{"n": i, "few": i % 3, "text": f"t{i}", "odd": i if i < 9 else "x"} for i in range(10)]
    fields = written([{"few": "a", "late": None}, *rows, {}])
    assert isinstance(fields.column("few"), Codes)
    assert sorted(fields.column("few").values) == ['"a"', "0", "1", "2"]
    numbers = fields.column("n")
    assert isinstance(numbers, Numbers)
    np.testing.assert_array_equal(numbers.numbers, [np.nan, *range(10), np.nan])
    assert not fields.knows("text")
    assert not fields.knows("odd")
    assert fields.knows("unheard of")
    assert fields.column("unheard of") is None
    assert fields.column("late").codes.tolist() == [1] + [0] * 11


def test_values_of_earlier_documents_count_for_the_longest_that_are_kept(monkeypatch):
    monkeypatch.setattr(fields_module, "_MOST_CHARACTERS", 30)
    both = written([{"a": "y" * 20}], written([{"a": "x" * 20}]), np.array([True]))
    assert not both.knows("a")


def test_too_many_fields_are_all_left_to_the_database(monkeypatch):
    monkeypatch.setattr(fields_module, "_MOST_FIELDS", 2)
    fields = written([{"a": 1, "b": 1, "c": 1}])
    assert fields.knows("a")
    assert not fields.knows("c")
    assert not fields.knows("unheard of")


def test_a_filter_that_is_wrong_is_refused_as_ever():
    with pytest.raises(FilterError, match="expected"):
        check({"a": {"$near": 1}}, written([{"a": 1}]), [1], [{"a": 1}], [])


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("fields.json", b"{", "cannot be read"),
        ("0000.npy", b"x", "cannot be read"),
        ("0000.jsonl", b"", "holds the code 1 of 0 values"),
        ("0000.jsonl", b"\xff", "cannot be read"),
    ],
)
def test_damage_is_named(name, content, problem):
    fields = written([{"a": 1}])
    (fields._folder / name).write_bytes(content)
    with pytest.raises(CorruptionError, match=problem):
        check({"a": 1}, SnapshotFields(fields._folder), [1], [{"a": 1}], [])


def test_a_file_of_another_length_is_damage():
    fields = written([{"a": 1}])
    np.save(fields._folder / "0000.npy", np.zeros(7, np.uint16))
    with pytest.raises(CorruptionError, match=r"of shape \(7,\), not \(1,\)"):
        fields.column("a")
