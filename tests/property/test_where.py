"""Metadata filters in SQL against the same filters in plain Python."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Column, MetaData, Table, Text, create_engine, insert, select

from gem_index.errors import FilterError
from gem_index.store.where import compile_where, fields_of
from plain_filters import filters, keys, plain_match, values

TABLE = Table("t", MetaData(), Column("metadata", Text))
ENGINE = create_engine("sqlite://")


def matching(where, rows):
    with ENGINE.connect() as connection:
        TABLE.metadata.create_all(connection)
        connection.execute(
            insert(TABLE), [{"metadata": json.dumps(row, ensure_ascii=False)} for row in rows]
        )
        found = connection.execute(
            select(TABLE.c.metadata).where(compile_where(where, TABLE.c.metadata))
        )
        result = [json.loads(text) for text in found.scalars()]
        connection.rollback()
    return result


@given(
    where=filters, rows=st.lists(st.dictionaries(keys, values, max_size=4), min_size=1, max_size=6)
)
def test_equals_plain_python(where, rows):
    assert matching(where, rows) == [row for row in rows if plain_match(where, row)]


def test_zero_bytes_are_not_searched():
    """SQLite's functions of JSON end a text at a zero byte."""
    rows = [{"z": "p\0q"}, {"z": "p"}, {"z": ["p\0q"]}, {"y\0z": 1}, {"z": "p\\\0"}]
    assert matching({"z": "p"}, rows) == rows[1:2]
    assert matching({"$not": {"z": "q"}}, rows) == rows[1:2]
    written = [{"z": r"\u0000"}, {"z": r"a\\u0000"}]  # a backslash, and the letters
    for row in written:
        assert matching(row, [*rows, *written]) == [row]
    for where in ({"z": "p\0q"}, {"z": {"$in": ["\0"]}}, {"z": {"$contains": "\0"}}, {"z\0": 1}):
        with pytest.raises(FilterError, match="zero byte|without quotes"):
            compile_where(where, TABLE.c.metadata)


def test_fields_of_a_filter():
    where = {"a": 1, "$or": [{"b.c": 1}, {"$not": {"a": 2, "d": {"$gt": 1}}}]}
    assert fields_of(where) == ["a", "b.c", "d"]


def test_lists_texts_and_objects():
    rows = [
        {"tags": ["visa", "law"], "author": {"name": "Ann Lee"}, "title": "Renew a visa"},
        {"tags": "visa", "author.name": "Bo"},
        {"tags": [1, True, None]},
        {"tags": None},
        {},
    ]
    assert matching({"tags": "visa"}, rows) == rows[:2]
    assert matching({"tags": {"$in": ["law", 1]}}, rows) == [rows[0], rows[2]]
    assert matching({"tags": {"$nin": ["visa"]}}, rows) == rows[2:]
    assert matching({"tags": {"$contains": "is"}}, rows) == rows[1:2]
    assert matching({"tags": {"$contains": True}}, rows) == rows[2:3]
    assert matching({"tags": {"$exists": False}}, rows) == rows[4:]
    assert matching({"tags": None}, rows) == rows[2:]
    assert matching({"author.name": {"$like": "ann%"}}, rows) == rows[:1]
    assert matching({"author.name": "Bo"}, rows) == rows[1:2]
    percent = [{"x": "50%"}, {"x": "500"}]
    assert matching({"x": {"$like": r"50\%"}}, percent) == percent[:1]
    assert matching({"title": {"$contains": "visa"}}, rows) == rows[:1]


def test_worked_example():
    rows = [
        {"lang": "en", "year": 2020},
        {"lang": "en", "year": 2018},
        {"lang": "de", "year": 2021},
        {},
    ]
    assert matching({"lang": "en", "year": {"$gte": 2020}}, rows) == rows[:1]
    assert matching({"$or": [{"lang": "de"}, {"year": {"$lt": 2019}}]}, rows) == rows[1:3]
    assert matching({"$not": {"lang": "en"}}, rows) == rows[2:]
    assert matching({"year": {"$gt": 2018, "$lte": 2020}}, rows) == rows[:1]
    assert matching({"lang": {"$in": ["de", "fr"]}}, rows) == rows[2:3]
    assert matching({"lang": None}, rows) == rows[3:]
    assert matching({}, rows) == rows


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ([], "the filter is"),
        ({"$nor": []}, "the filter names '\\$nor'"),
        ({"a": {"$regex": "x"}}, "the operator on 'a' is '\\$regex'; expected \\$eq, .*\\$gt"),
        ({"a": {"$like": 1}}, "\\$like on 'a' looks for 1; expected a string"),
        ({"a": {"$exists": 1}}, "\\$exists on 'a' is 1; expected true or false"),
        ({"a": {"$contains": [1]}}, "'a' is compared with"),
        ({"a": {"$in": "x"}}, "expected a list"),
        ({"a": {"$gt": True}}, "expected a number or a string"),
        ({"a": {"$gt": None}}, "expected a number or a string"),
        ({"a": {}}, "is empty"),
        ({"a": [1]}, "'a' is compared with"),
        ({"$and": {"a": 1}}, "expected a list of filters"),
        ({'a"b': 1}, "without quotes"),
        ({"a\\b": 1}, "without quotes"),
        ({"a\n": 1}, "without quotes"),
        ({1: 1}, "the filter names 1"),
    ],
)
def test_refuses_other_forms(where, message):
    with pytest.raises(FilterError, match=message):
        compile_where(where, TABLE.c.metadata)


def test_integers_beyond_64_bits_compare():
    for beyond in (2**63 - 1, 2**63, 2**70):  # SQLite's integers have 64 bits
        assert matching({"a": {"$lt": beyond}}, [{"a": 1}]) == [{"a": 1}]
        assert matching({"a": {"$gt": -beyond - 1}}, [{"a": 1}]) == [{"a": 1}]
