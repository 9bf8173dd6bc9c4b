"""The common part of SQL targets, with an engine of SQLite: its statements are those that the engines of plugins get."""

import json
import re
import sqlite3
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest

from gem_index.common.arrays import SparseVector
from gem_index.errors import ConfigError
from gem_index.targets import (
    Condition,
    SqlDatabase,
    SqlTable,
    SqlTarget,
    TargetDocument,
    TargetSchema,
    TargetUrl,
)

SCHEMA = TargetSchema(fingerprint="f" * 64, dimension=2, token="t")
OTHER = TargetSchema(fingerprint="e" * 64, dimension=2, token="u", texts=False)
# what SQLite calls otherwise; lists are JSON
_FORMS = (
    (
        "information_schema.tables",
        "(SELECT name, iif(type = 'view', 'VIEW', 'BASE TABLE') AS table_type FROM sqlite_master)",
    ),
    (
        "information_schema.columns",
        "(SELECT t.name, c.name AS column_name, c.cid AS ordinal_position, c.type AS data_type "
        "FROM sqlite_master t, pragma_table_info(t.name) c)",
    ),
    ("SELECT unnest($1::VARCHAR[])", "SELECT value FROM json_each($1)"),
    ("::VARCHAR", ""),
)


class Database(SqlDatabase):
    """A connection that notes its statements, and fails at one of them if it is told so."""

    name = "the database mine"
    made: ClassVar = []

    def __init__(self):
        self.made.append(self)
        self.connection = sqlite3.connect(":memory:", isolation_level=None)
        self.statements = []
        self.fails_at = None
        self.closed = 0

    def rows(self, statement, values=()):
        if len(self.statements) == self.fails_at:
            raise ZeroDivisionError
        self.statements.append(statement)
        for ours, theirs in _FORMS:
            statement = statement.replace(ours, theirs)
        values = [json.dumps(each) if isinstance(each, list) else each for each in values]
        return self.connection.execute(re.sub(r"\$(\d)", r"?\1", statement), values).fetchall()

    def batches(self, statement, size=1000):
        found = self.rows(statement)
        return (found[begin : begin + size] for begin in range(0, len(found), size))

    def roll_back(self):
        self.connection.execute("ROLLBACK")

    def close(self):
        self.closed += 1

    def content(self):
        """Return the rows of each table."""
        names = self.connection.execute("SELECT name FROM sqlite_master ORDER BY name").fetchall()
        return {
            name: sorted(self.connection.execute(f'SELECT * FROM "{name}"').fetchall())
            for (name,) in names
        }


class Table(SqlTable):
    vector_column = "json(vector)"
    word_columns = ("indices", "factors")

    def create(self):
        words = ", indices TEXT, factors TEXT" if self.schema.words else ""
        self._database.rows(
            f"CREATE TABLE {self._table} (id TEXT, vector TEXT, text TEXT, metadata TEXT{words})"
        )

    def store(self, batch):
        for each in batch:
            self._database.rows(f"DELETE FROM {self._table} WHERE id = $1", [each.id])
            values = [each.id, each.vector.tolist(), each.text, json.dumps(dict(each.metadata))]
            if each.words is not None:
                values += [each.words.indices.tolist(), each.words.values.tolist()]
            places = ", ".join(f"${n}" for n in range(1, len(values) + 1))
            self._database.rows(f"INSERT INTO {self._table} VALUES ({places})", values)

    def query(self, vector, k):
        pytest.fail("no test of this module searches")

    def is_one_of(self, field, values):
        return f"one({field}, {values})"

    def number_of(self, field):
        return f"number({field})"

    # SQLite has no lists
    def _document(self, row):
        identifier, vector, text, metadata, *words = row
        return super()._document((identifier, json.loads(vector), text, metadata, *words))

    def words_of(self, *values):
        indices, factors = map(json.loads, values)
        return SparseVector(np.array(indices), np.array(factors, np.float32))


class Target(SqlTarget[Table]):
    in_catalog = "name = $1"

    def __init__(self, database=None, query="table=faq"):
        super().__init__(TargetUrl.parse(f"my:///d?{query}"))
        self.database = database
        self.switched = []

    def opened(self):
        return self.database

    def open(self):
        self.database = self.database or Database()
        return self.database

    def table(self, database, table, schema):
        return Table(database, table, schema)

    def before_switch(self, live, staged):
        self.switched.append((live, staged))


@pytest.fixture(autouse=True)
def connections_are_closed():
    yield
    while Database.made:
        Database.made.pop().connection.close()


@pytest.fixture
def target():
    return Target(Database())


def document(name, *vector, words=None, **metadata):
    return TargetDocument(name, np.array(vector, np.float32), f"text {name}", metadata, words)


def notes(state, schema):
    return [(state, key, value) for key, value in sorted(schema.to_strings().items())]


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("", "the target my:///d has no table; expected ?table=NAME"),
        ("table=a%22b", "found the table name 'a\"b'; expected at most 50 letters"),
        ("table=" + "t" * 51, "found the table name 'ttt"),
    ],
)
def test_a_table_without_a_name_or_with_one_that_needs_quotes(query, told):
    with pytest.raises(ConfigError) as refused:
        Target(query=query)
    assert str(refused.value).startswith(told)


def test_tables_come_and_go(target):
    database = target.database
    assert target.live() is target.staged() is None
    target.create(SCHEMA).upsert([document("a", 1, 0)])
    row = ("a", "[1.0, 0.0]", "text a", "{}")
    assert database.content() == {"faq": [row], "faq_gem": notes("live", SCHEMA)}
    target.stage(SCHEMA).upsert([document("b", 0, 1)])
    assert target.stage(OTHER).count() == 0  # instead of the earlier one
    target.staged().upsert([document("c", 0, 1)])
    assert (target.live().schema, target.staged().schema) == (SCHEMA, OTHER)
    assert database.content() == {
        "faq": [row],
        "faq__staged": [("c", "[0.0, 1.0]", "text c", "{}")],
        "faq_gem": notes("live", SCHEMA) + notes("staged", OTHER),
    }
    target.switch()
    assert target.switched == [("faq", "faq__staged")]
    assert (target.live().schema, target.staged()) == (OTHER, None)
    assert database.content() == {
        "faq": [("c", "[0.0, 1.0]", "text c", "{}")],
        "faq_gem": notes("live", OTHER),
    }
    database.rows("CREATE TABLE mine (a INTEGER)")
    target.stage(SCHEMA)
    target.drop()
    assert database.content() == {"mine": []}
    assert target.live() is target.staged() is None
    target.drop()
    target.close()
    assert database.closed == 1


def test_a_database_that_does_not_exist_is_made_by_the_first_table():
    target = Target()
    assert target.live() is target.staged() is None
    target.drop()
    target.close()
    assert target.opened() is None
    target.create(SCHEMA)
    assert target.live().count() == 0


@pytest.mark.parametrize("step", ["create", "stage", "switch", "drop"])
def test_a_step_that_fails_anywhere_changes_nothing(step):
    def begun():
        target = Target(Database())
        if step != "create":
            target.create(SCHEMA).upsert([document("a", 1, 0)])
            target.stage(OTHER).upsert([document("b", 0, 1)])
        target.database.statements.clear()
        return target, target.database.content()

    def call(target):
        if step in ("create", "stage"):
            return getattr(target, step)(SCHEMA)
        return getattr(target, step)()

    whole, _ = begun()
    call(whole)
    statements = whole.database.statements
    assert (statements.count("BEGIN"), statements.count("COMMIT")) == (1, 1)
    assert (statements[0], statements[-1]) == ("BEGIN", "COMMIT")
    for place in range(1, len(statements)):
        target, before = begun()
        target.database.fails_at = place
        with pytest.raises(ZeroDivisionError):
            call(target)
        target.database.fails_at = None
        assert target.database.content() == before
        assert not target.database.connection.in_transaction
        call(target)  # works now


@pytest.mark.parametrize(
    ("theirs", "call", "name"),
    [
        ("TABLE faq (a)", "live", "faq"),
        ("VIEW faq AS SELECT 1 AS id", "create", "faq"),
        ("TABLE faq__staged (id, vector, text)", "stage", "faq__staged"),
        ("TABLE faq__staged (a)", "create", "faq__staged"),
        ("TABLE faq_gem (state, key)", "live", "faq_gem"),
        ("VIEW faq_gem AS SELECT 1 AS state, 2 AS key, 3 AS value", "drop", "faq_gem"),
    ],
)
def test_tables_of_others_stay(target, theirs, call, name):
    target.database.rows(f"CREATE {theirs}")
    before = target.database.content()
    arguments = (SCHEMA,) if call in ("create", "stage") else ()
    with pytest.raises(ConfigError, match=rf"\b{name}\b.*the database mine"):
        getattr(target, call)(*arguments)
    assert target.database.content() == before


def test_what_is_missing_or_exists_already_is_told(target):
    target.create(SCHEMA)
    with pytest.raises(ConfigError, match="faq in the database mine; expected none; drop it"):
        target.create(SCHEMA)
    with pytest.raises(ConfigError, match="found no staged"):
        target.switch()
    assert target.live().count() == 0


def test_users_may_add_columns_after_ours(target):
    target.create(SCHEMA).upsert([document("a", 1, 0)])
    target.database.rows("ALTER TABLE faq ADD COLUMN mine INTEGER")
    assert [each.id for each in target.live().documents()] == ["a"]


@pytest.mark.parametrize("words", ["", "bm25 en"])
def test_rows_are_read_as_they_were_written(target, words):
    sparse = SparseVector(np.array([3, 70_000]), np.array([0.5, 2], np.float32))
    held = [
        document("a", 0.1, -0.2, words=sparse if words else None, n=1, deep={"x": [None, "ü"]}),
        document("b'; --", 1, 0, words=sparse if words else None),
    ]
    table = target.create(replace(SCHEMA, words=words))
    table.upsert(held)
    table.upsert([document("c", 0, 1, words=sparse if words else None)])
    assert table.count() == 3
    found = table.fetch(["b'; --", "x", "a"])
    assert sorted(found) == ["a", "b'; --"]
    everything = list(table.documents())
    assert [each.id for each in everything] == ["a", "b'; --", "c"]
    for each in held:
        for other in (found[each.id], next(row for row in everything if row.id == each.id)):
            assert (other.id, other.text, other.metadata) == (each.id, each.text, each.metadata)
            assert other.vector.dtype == np.float32
            np.testing.assert_array_equal(other.vector, each.vector)
            assert (other.words is None) == (not words)
            if words:
                np.testing.assert_array_equal(other.words.indices, sparse.indices)
                np.testing.assert_array_equal(other.words.values, sparse.values)
    assert table.metadata_of(["a", "x"]) == {"a": {"n": 1, "deep": {"x": [None, "ü"]}}}
    table.upsert([document("a", 0, 1, n=2, words=sparse if words else None)] * 2)
    assert table.metadata_of(["a"]) == {"a": {"n": 2}}
    table.delete(["a", "x"])
    assert [each.id for each in table.documents()] == ["b'; --", "c"]


def test_conditions_are_numbered_from_the_given_parameter(target):
    table = target.create(SCHEMA)
    assert table.met(3) == ("TRUE", [])
    narrowed = table.narrowed(
        [Condition("lang", values=("de", 1, True)), Condition("n", least=2, most=5.5)]
    )
    assert narrowed.met(3) == (
        "TRUE AND one($3::VARCHAR, $4::VARCHAR[]) AND number($5::VARCHAR) >= $6::DOUBLE "
        "AND number($5::VARCHAR) <= $7::DOUBLE",
        ["lang", ['"de"', "1", "true"], "n", 2.0, 5.5],
    )
    assert table.met(3) == ("TRUE", [])  # the whole table is another object


def test_rows_of_others_have_no_vectors_and_no_bytes(target):
    database = target.database
    database.rows(
        'CREATE TABLE faq ("a ""b""" INTEGER, info JSON, vector "FLOAT[2]", raw BLOB, h halfvec, t TEXT)'
    )
    database.rows("INSERT INTO faq VALUES ($1, $2, 0, 0, 0, $3)", [1, '{"x": [1]}', "one"])
    database.rows("INSERT INTO faq VALUES ($1, $2, 0, 0, 0, $3)", [2, None, None])
    assert list(target.rows()) == [
        {'a "b"': 1, "info": {"x": [1]}, "t": "one"},
        {'a "b"': 2, "info": None, "t": None},
    ]
    database.rows("DROP TABLE faq")
    assert list(target.rows()) == []
