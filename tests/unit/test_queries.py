"""The rows of a SQL query as documents, and only those that have changed; on SQLite (PostgreSQL: plugins/postgresql)."""

import datetime
import decimal
import sqlite3

import pytest

from gem_index.errors import ConfigError, InputError, RecordError
from gem_index.readers import QueryReader

QUERY = "select id, title, body, changed from faq"


@pytest.fixture
def database(tmp_path):
    """A database of three questions."""
    with sqlite3.connect(tmp_path / "faq.sqlite") as connection:
        connection.execute("create table faq (id integer, title text, body text, changed text)")
        connection.executemany(
            "insert into faq values (?, ?, ?, ?)",
            [
                (1, "Visa", "How do I renew a visa?", "2026-01-01"),
                (2, "Bank", "When does the bank open?", "2026-02-01"),
                (3, "Parcels", "How do I send it back?", "2026-03-01"),
            ],
        )
        yield connection
    connection.close()


@pytest.fixture
def url(tmp_path, database):
    database.commit()
    return f"sql:sqlite:///{tmp_path}/faq.sqlite"


def reader(url, query=QUERY, **options):
    return QueryReader(url, query, text_fields=("title", "body"), **options)


def counts(report):
    return report.added, report.updated, report.unchanged, report.deleted


def change(database, statement):
    database.execute(statement)
    database.commit()


class TestDocuments:
    def test_columns(self, url):
        first = next(iter(reader(url)))
        assert (first.id, first.text) == ("1", "Visa\n\nHow do I renew a visa?")
        assert first.metadata == {"changed": "2026-01-01"}

    def test_colons_and_comments_are_the_users(self, url):
        query = "select id, body as text, 'a:b' as colon, ':gem' as other from faq;"
        found = list(QueryReader(url, query))
        assert found[0].metadata == {"colon": "a:b", "other": ":gem"}

    def test_typed_columns(self, url, database):
        change(
            database,
            "create table t (id text, text text, n real, flag boolean, none text, data blob)",
        )
        change(database, "insert into t values ('a', 'b', 1.5, 1, null, x'41')")
        (found,) = QueryReader(url, "select * from t")
        assert found.metadata == {"n": 1.5, "flag": 1, "none": None, "data": "A"}

    def test_a_bad_row(self, url, database):
        change(database, "insert into faq values (4, null, null, '2026-04-01')")
        with pytest.raises(
            RecordError, match=r"sql:sqlite:///.*faq.sqlite line 4: the field 'title' is null"
        ):
            list(reader(url))
        problems = []
        assert len(list(reader(url, on_problem=problems.append))) == 3
        assert [problem.line for problem in problems] == [4]


class TestAgain:
    def test_all_rows_are_compared_without_a_column_that_grows(self, faq, url, database):
        assert counts(faq.upsert(reader(url))) == (3, 0, 0, 0)
        change(database, "update faq set body = 'changed' where id = 2")
        assert counts(faq.upsert(reader(url))) == (0, 1, 2, 0)

    def test_only_rows_above_the_highest_value(self, faq, url, database):
        assert counts(faq.upsert(reader(url, since="changed"))) == (3, 0, 0, 0)
        assert counts(faq.upsert(reader(url, since="changed"))) == (
            0,
            0,
            1,
            0,
        )  # the last again: others may be as new
        change(database, "update faq set body = 'changed', changed = '2026-04-01' where id = 1")
        change(database, "insert into faq values (4, 'Tax', 'When?', '2026-03-01')")
        change(database, "update faq set body = 'unseen' where id = 2")
        assert counts(faq.upsert(reader(url, since="changed"))) == (1, 1, 1, 0)
        assert faq.get(["2"])[0].text.endswith("When does the bank open?")
        assert counts(faq.upsert(reader(url))) == (0, 1, 3, 0)

    def test_rows_that_are_gone(self, faq, url, database):
        faq.upsert([{"id": "own", "text": "not of the database"}])
        faq.upsert(reader(url, since="changed"))
        change(database, "delete from faq where id = 1")
        assert counts(faq.upsert(reader(url, since="changed"))) == (0, 0, 1, 0)
        assert counts(faq.upsert(reader(url, since="changed"), prune=True)) == (0, 0, 1, 1)
        assert sorted(document.id for document in faq.documents()) == ["2", "3", "own"]

    def test_the_query_is_remembered(self, faq, url, database):
        faq.upsert(reader(url, since="changed"))
        change(database, "insert into faq values (4, 'Tax', 'When?', '2026-05-01')")
        assert counts(faq.upsert(QueryReader(url))) == (1, 0, 1, 0)
        faq.upsert(QueryReader(url, "select 'other' || id as id, body as text from faq"))
        with pytest.raises(
            ConfigError,
            match="the collection knows 2 queries of sql:sqlite:///.*; expected a SELECT statement: give it as query",
        ):
            faq.upsert(QueryReader(url))

    def test_nothing_is_kept_when_a_row_is_bad(self, faq, url, database):
        faq.upsert(reader(url, since="changed"))
        change(
            database,
            "insert into faq values (4, 'Tax', 'When?', '2026-05-01'), (5, null, null, '2026-06-01')",
        )
        with pytest.raises(RecordError):
            faq.upsert(reader(url, since="changed"))
        change(database, "delete from faq where id = 5")
        assert counts(faq.upsert(reader(url, since="changed"))) == (1, 0, 1, 0)

    def test_the_highest_value_of_another_column_does_not_count(self, faq, url, database):
        faq.upsert(reader(url, since="changed"))
        change(database, "delete from faq")
        assert counts(faq.upsert(reader(url, since="id"))) == (0, 0, 0, 0)
        change(database, "insert into faq values (4, 'Tax', 'When?', '2026-01-01')")
        assert counts(faq.upsert(reader(url, since="id"))) == (1, 0, 0, 0)

    @pytest.mark.parametrize(
        ("low", "high"),
        [("7", "11"), ("1.5", "2.25"), ("'2026-01-01 10:00'", "'2026-01-01 11:00'")],
    )
    def test_values_are_compared_by_their_type(self, faq, url, database, low, high):
        change(database, "create table t (id integer, text text, n)")
        change(database, f"insert into t values (1, 'a', {low}), (2, 'b', {high}), (3, 'c', null)")
        query = "select * from t"
        assert counts(faq.upsert(QueryReader(url, query, since="n"))) == (3, 0, 0, 0)
        assert counts(faq.upsert(QueryReader(url, query, since="n"))) == (0, 0, 1, 0)

    @pytest.mark.parametrize(
        "value",
        [
            datetime.datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=datetime.UTC),
            datetime.date(2026, 1, 2),
            __import__("decimal").Decimal("10.25"),
            7,
            "x",
        ],
    )
    def test_the_highest_value_survives_being_stored(self, value):
        import json

        from gem_index.readers.queries import _revived, _stored

        assert _revived(json.loads(json.dumps(_stored(value, "n")))) == value


class TestRefused:
    def test_ids_of_another_query(self, home, url):
        home.build("faq", reader(url))
        with pytest.raises(InputError, match="is also the id of a document of .*: select others"):
            home.collection("faq").upsert(reader(url, f"{QUERY} where id < 3"))

    @pytest.mark.parametrize(
        ("query", "options", "message"),
        [
            (
                "select body as text from faq",
                {},
                r"has the columns 'text' and none 'id' for the id; .*as id_field",
            ),
            (QUERY, {"since": "updated"}, r"none 'updated' for telling what is new; .*as since"),
            (
                "select nonsense from faq",
                {},
                r"sql:sqlite:.* cannot be read: no such column: nonsense; expected",
            ),
            (
                "",
                {},
                r"there is no query for sql:sqlite.*; expected a SELECT statement: give it as query",
            ),
        ],
    )
    def test_a_query(self, url, query, options, message):
        with pytest.raises(InputError, match=message):
            list(reader(url, query, **options))

    @pytest.mark.parametrize(
        ("url", "message"),
        [
            (
                "sql:nonsense",
                "the URL of the database is malformed; expected one such as sql:postgresql",
            ),
            ("sql:nonsense://a/b", "SQLAlchemy knows no database 'nonsense'; expected"),
            (
                "sql:oracle+cx_oracle://me:secret@host/db",
                "needs the package cx_Oracle, which is not installed",
            ),
        ],
    )
    def test_a_url(self, url, message):
        with pytest.raises(ConfigError, match=message) as caught:
            list(QueryReader(url, QUERY))
        assert "secret" not in str(caught.value)

    def test_passwords_are_not_stored_or_shown(self):
        found = QueryReader("sql:mysql://me:secret@host/db?password=secret", QUERY)
        assert "secret" not in found.location + repr(found)
        assert found.location == f"sql:mysql://host/db {QUERY}"


class TestOfAnyDatabase:
    def test_the_file_of_sqlite_is_known_by_one_name(self, url, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        assert QueryReader("sql:sqlite:///faq.sqlite", QUERY).location == reader(url).location
        (tmp_path / "link").symlink_to(tmp_path)
        named = f"sql:sqlite:///{tmp_path}/link/faq.sqlite"
        assert QueryReader(named, QUERY).location == reader(url).location

    def test_a_missing_file_is_not_created(self, tmp_path):
        with pytest.raises(InputError, match="none.sqlite cannot be read: there is no such file"):
            list(QueryReader(f"sql:sqlite:///{tmp_path}/none.sqlite", QUERY))
        assert not (tmp_path / "none.sqlite").exists()

    @pytest.mark.parametrize(
        "query",
        [
            "drop table faq",
            "delete from faq",
            "insert into faq (id, body) values (9, 'x') returning id, body as text",
        ],
    )
    def test_nothing_is_changed(self, url, database, query):
        with pytest.raises(
            InputError, match="cannot be read: attempt to write a readonly database"
        ):
            list(QueryReader(url, query))
        assert database.execute("select count(*) from faq").fetchone() == (3,)

    def test_servers_are_told_apart(self):
        first, second = (
            QueryReader(f"sql:postgresql:///db?host=/run/{name}&password=secret", QUERY).location
            for name in ("one", "two")
        )
        assert first != second
        assert "secret" not in first

    @pytest.mark.parametrize(
        ("url", "shown"),
        [
            ("postgresql://ann:secret@host:5433/db", "postgresql://host:5433/db"),
            ("postgresql://ann:secret@host/db?sslmode=require", "postgresql://host/db"),
            ("postgresql:///db?host=/run&port=1", "postgresql:///db?host=%2Frun&port=1"),
            ("postgresql:///?service=faq&password=secret", "postgresql:///?service=faq"),
            ("mysql://ann@host:3307/", "mysql://host:3307/"),
            ("mysql:///db?unix_socket=/run/s", "mysql:///db?unix_socket=%2Frun%2Fs"),
        ],
    )
    def test_a_database_is_known_by_its_place(self, url, shown):
        """Two servers on one machine have different ports, for example."""
        found = QueryReader(f"sql:{url}", QUERY)
        assert found.database == f"sql:{shown}"
        assert found.location == f"sql:{shown} {QUERY}"

    @pytest.mark.parametrize("scheme", ["postgres", "postgresql"])
    def test_the_short_scheme_of_postgresql_names_the_same_database(self, scheme):
        reader = QueryReader(f"sql:{scheme}://ann@host/db", QUERY)
        assert reader.database == "sql:postgresql://host/db"

    def test_names_of_columns_are_quoted_as_the_database_does(self, monkeypatch):
        from sqlalchemy.dialects.mysql.base import MySQLDialect

        mysql = QueryReader("sql:mysql://host/db", QUERY)
        monkeypatch.setattr(type(mysql._url), "get_dialect", lambda _: MySQLDialect)
        assert mysql._identifier("a`b") == "`a``b`"

    def test_a_comment_at_the_end(self, faq, url, database):
        query = QUERY + " -- all"
        assert counts(faq.upsert(reader(url, query, since="changed"))) == (3, 0, 0, 0)
        change(database, "delete from faq where id = 1")
        assert counts(faq.upsert(reader(url, query), prune=True)) == (0, 0, 2, 1)

    def test_fields_are_remembered_with_the_query(self, faq, url):
        faq.upsert(reader(url))
        assert counts(faq.upsert(QueryReader(url, QUERY))) == (0, 0, 3, 0)

    def test_columns_of_one_name(self, url):
        with pytest.raises(InputError, match="several columns 'id'; expected different names"):
            list(reader(url, "select a.*, b.id from faq a, faq b"))

    def test_values_that_cannot_be_compared(self, url, database):
        change(database, "create table t (id integer, text text, n)")
        change(database, "insert into t values (1, 'a', 1), (2, 'b', 'x')")
        with pytest.raises(
            InputError, match="the column 'n' holds 1 and 'x', which cannot be compared"
        ):
            list(QueryReader(url, "select * from t", since="n"))

    def test_a_number_that_is_none_cannot_be_compared(self, url, database):
        sqlite3.register_converter("numeric", lambda value: decimal.Decimal(value.decode()))
        change(database, "create table t (id integer, text text, n numeric)")
        change(database, "insert into t values (1, 'a', 1.5), (2, 'b', 'nan')")
        typed = f"{url}?detect_types={sqlite3.PARSE_DECLTYPES}"
        with pytest.raises(
            InputError, match=r"the column 'n' holds 1\.5 and NaN, which cannot be compared"
        ):
            list(QueryReader(typed, "select id, text, n from t", since="n"))

    def test_ids_that_are_none_do_not_hinder_pruning(self, faq, url, database):
        change(database, "create table t (id, text text)")
        change(database, "insert into t values (1, 'a'), (null, 'b'), (x'ff', 'c'), (2, 'd')")
        problems = []
        rows = QueryReader(url, "select * from t", on_problem=problems.append)
        assert counts(faq.upsert(rows)) == (2, 0, 0, 0)
        assert [problem.line for problem in problems] == [2, 3]
        change(database, "delete from t where id = 1")
        assert counts(faq.upsert(rows, prune=True)) == (0, 0, 1, 1)
