"""Readers of SQL queries: what they say in whole, what they take over from the last time, and odd databases."""

import sqlite3
import sys

import pytest

from gem_index.errors import Action, ConfigError, InputError, RecordError
from gem_index.readers import QueryReader
from told import error_of

QUERY = "select id, title, body, changed from faq"
KNOWN = {"query": QUERY, "id_field": "id", "text_fields": ["title", "body"], "since": "changed"}
ROWS = [(1, "Visa", "How do I renew it?", "2026-01-01"), (2, "Bank", "When?", "2026-02-01")]


@pytest.fixture
def path(tmp_path):
    with sqlite3.connect(tmp_path / "faq.sqlite") as connection:
        connection.execute("create table faq (id integer, title text, body text, changed text)")
        connection.executemany("insert into faq values (?, ?, ?, ?)", ROWS)
    connection.close()
    return tmp_path / "faq.sqlite"


@pytest.fixture
def url(path):
    return f"sql:sqlite:///{path}"


def told(kind, call):
    """Return the message of an error of exactly this kind, and its action."""
    error = error_of(kind, call)
    return str(error), error.advice and error.advice.action


def refusal(url, query, **options):
    return told(InputError, lambda: list(QueryReader(url, query, **options)))


class TestChoices:
    def test_all_are_taken_over(self, url):
        reader = QueryReader(url)
        reader.adopt(KNOWN)
        assert reader.choices == KNOWN
        assert [each.text for each in reader] == [
            "Visa\n\nHow do I renew it?", "Bank\n\nWhen?",
        ]  # fmt: skip
        assert reader.highest == "2026-02-01"

    def test_those_that_are_given_stay(self, url):
        given = {"query": "select *, id as nr from faq", "id_field": "nr", "text_fields": ["body"]}
        reader = QueryReader(url, **given)
        reader.adopt(KNOWN)
        assert reader.choices == given | {"since": None}
        reader = QueryReader(url, since="id")
        reader.adopt(KNOWN)
        assert reader.choices == KNOWN | {"since": "id"}

    @pytest.mark.parametrize("end", ["", ";", " -- all", "; "])
    def test_ids_of_a_query_with_any_end(self, url, end):
        reader = QueryReader(url, QUERY + end, text_fields=["title"], since="id")
        assert list(reader.ids()) == ["1", "2"]
        assert [each.id for each in reader.documents(2)] == ["2"]
        assert [each.id for each in reader.documents(3)] == []


class TestRefused:
    def test_columns(self, url):
        shown = "the query has the columns 'id', 'title', 'body', 'changed' and none"
        for options, missing, use, action in (
            ({"id_field": "nr"}, "nr", "the id", Action.NAME_ID_COLUMN),
            ({"since": "updated"}, "updated", "telling what is new", Action.NAME_SINCE_COLUMN),
        ):
            message, found = refusal(url, QUERY, text_fields=["title"], **options)
            assert message.startswith(f"{shown} {missing!r} for {use}; expected it")
            assert found is action
        message, _ = refusal(url, "select a.*, b.id from faq a, faq b", text_fields=["title"])
        assert message == (
            "the query has several columns 'id'; expected different names: rename one with AS"
        )

    def test_no_query(self, url):
        message, action = told(ConfigError, lambda: list(QueryReader(url, " ")))
        assert message.startswith(f"there is no query for {url}; expected a SELECT statement")
        assert action is Action.GIVE_QUERY

    def test_a_long_reason_is_cut(self, url):
        message, _ = refusal(url, f"select {'x' * 1000} from faq")
        assert message == (
            f"{url} cannot be read: no such column: {'x' * 284}; expected a database that answers this query"
        )

    def test_rows(self, url):
        query = "select id, case id when 2 then x'ff' else title end as text from faq"
        message, _ = told(RecordError, lambda: list(QueryReader(url, query)))
        assert message.startswith(f"{url} line 2: the column 'text' has an unsupported value (")
        assert message.endswith("; expected text, a number, a date or a list of these")

    def test_a_column_that_cannot_be_gone_on_from(self, url):
        query = "select id, title as text, x'41' as n from faq"
        message, _ = told(ConfigError, lambda: list(QueryReader(url, query, since="n")))
        assert message == (
            "the column 'n' holds a bytes; expected a number, a text or a time to go on from"
        )

    @pytest.mark.parametrize(
        ("module", "scheme", "package"),
        [("psycopg2", "postgresql+psycopg2", "psycopg[binary]"), ("oracledb", "oracle+oracledb", "oracledb")],
    )  # fmt: skip
    def test_a_package_that_is_missing(self, monkeypatch, module, scheme, package):
        monkeypatch.setitem(sys.modules, module, None)
        message, _ = told(
            ConfigError, lambda: list(QueryReader(f"sql:{scheme}://me:secret@host/db", QUERY))
        )
        assert message == (
            f"sql:{scheme.partition('+')[0]}://host/db needs the package {module}, which is not installed; expected it: pip "
            f"install {package}"
        )


class TestDatabases:
    def test_in_memory(self):
        reader = QueryReader("sql:sqlite:///:memory:", "select 7 as id, 'tea' as text")
        assert [(each.id, each.text) for each in reader] == [("7", "tea")]

    def test_an_address_of_sqlite_itself(self, path):
        url = f"sql:sqlite:///file:{path}?mode=ro&uri=true"
        reader = QueryReader(url, "select id, title as text from faq")
        assert [(each.id, each.text) for each in reader] == [("1", "Visa"), ("2", "Bank")]

    def test_the_highest_value_is_that_of_all_good_rows(self, url):
        query = "select id, title as text, changed from faq order by id desc"
        reader = QueryReader(url, query, since="changed")
        assert len(list(reader)) == 2
        assert reader.highest == "2026-02-01"
