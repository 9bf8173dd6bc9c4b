"""A query of PostgreSQL as the source of a collection."""

import pytest

from gem_index import Home
from gem_index.errors import InputError
from gem_index.readers import QueryReader

QUERY = "SELECT id, text, tags, about, price, address, changed FROM faq WHERE text <> 'a:b' AND id::text LIKE '%-%'"


@pytest.fixture
def faq(connection):
    """A table with keys and columns of types that only PostgreSQL has."""
    connection.execute(
        "CREATE TABLE faq (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), text text, tags text[], about jsonb, "
        "price numeric, address inet, changed timestamptz DEFAULT clock_timestamp())"
    )
    connection.execute(
        "INSERT INTO faq (text, tags, about, price, address) VALUES "
        """('How do I renew a visa?', '{a,b}', '{"n": [1, null]}', 1.5, '10.0.0.1'), ('The bank', NULL, NULL, 'NaN', NULL)"""
    )


@pytest.fixture
def url(folder, database, faq):
    return f"sql:postgresql:///{database}?host={folder}&user=postgres"


@pytest.fixture
def collection(tmp_path):
    return Home(tmp_path / "home").create_collection("faq")


def counts(report):
    return report.added, report.updated, report.unchanged, report.deleted


def test_types_of_columns(url, connection):
    first, second = QueryReader(url, QUERY)
    found = connection.execute("SELECT id, changed FROM faq ORDER BY changed").fetchall()
    assert [first.id, second.id] == [str(identifier) for identifier, _ in found]
    assert first.metadata == {
        "tags": ["a", "b"],
        "about": {"n": [1, None]},
        "price": 1.5,
        "address": "10.0.0.1",
        "changed": found[0][1].isoformat(),
    }
    assert (second.metadata["tags"], second.metadata["price"]) == (None, None)


def test_the_short_scheme(url):
    reader = QueryReader(url.replace("postgresql", "postgres"), QUERY)
    assert [document.text for document in reader] == ["How do I renew a visa?", "The bank"]
    assert reader.location == QueryReader(url, QUERY).location


def test_only_what_is_new_and_what_is_gone(url, connection, collection):
    reader = QueryReader(url, QUERY + " -- all of them", since="changed")
    assert counts(collection.upsert(reader)) == (2, 0, 0, 0)
    connection.execute("INSERT INTO faq (text) VALUES ('How do I send a parcel?')")
    assert counts(collection.upsert(QueryReader(url))) == (1, 0, 1, 0)
    connection.execute("DELETE FROM faq WHERE text = 'The bank'")
    assert counts(collection.upsert(QueryReader(url), prune=True)) == (0, 0, 1, 1)


def test_names_of_columns_are_those_of_the_table(url, connection, collection):
    connection.execute('CREATE TABLE "Mixed" ("Id" int, "the ""text""" text, n int)')
    connection.execute("""INSERT INTO "Mixed" VALUES (1, 'one', 1), (2, 'two', 2)""")
    query = 'SELECT * FROM "Mixed"'
    reader = QueryReader(url, query, id_field="Id", text_fields=('the "text"',), since="n")
    assert counts(collection.upsert(reader)) == (2, 0, 0, 0)
    connection.execute('DELETE FROM "Mixed" WHERE "Id" = 1')
    assert counts(collection.upsert(QueryReader(url, query), prune=True)) == (0, 0, 1, 1)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("DROP TABLE faq", 'syntax error at or near "DROP"'),
        ("DELETE FROM faq RETURNING id, text", 'syntax error at or near "DELETE"'),
        (
            "SELECT id, text, lo_create(0) FROM faq",
            "cannot execute lo_create",
        ),
        ("SELECT id, text, 1 / 0 FROM faq", "division by zero"),
        ("SELECT a.id, b.id, a.text FROM faq a, faq b", "several columns 'id'; expected different"),
    ],
)
def test_what_is_refused(url, connection, query, message):
    with pytest.raises(InputError, match=message):
        list(QueryReader(url, query))
    assert connection.execute("SELECT count(*) FROM faq").fetchone() == (2,)
