"""DuckDB as a target: the contract, the file in SQL, and what is refused."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from gem_index_duckdb import DuckDbTarget

from gem_index import Document, Home
from gem_index.errors import ConfigError
from gem_index.targets import TargetUrl, open_target
from gem_index.testing import TargetContract, run_page
from gem_index.testing.targets import DIRECTIONS, PLANE, directed

DOCUMENTS = [directed(name) for name in DIRECTIONS]


def execute(path: Path, *statements: str) -> list:
    with duckdb.connect(path) as connection:
        return [connection.execute(statement).fetchall() for statement in statements][-1]


def tables(path: Path) -> set[str]:
    return {name for (name,) in execute(path, "SELECT table_name FROM information_schema.tables")}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a file.duckdb"


@pytest.fixture
def url(path: Path) -> str:
    return f"duckdb://{path}?table=faq"


@pytest.fixture
def target(url: str):
    target = open_target(url)
    yield target
    target.close()


@pytest.fixture
def filled(target):
    table = target.create(PLANE)
    table.upsert(DOCUMENTS)
    return target


class TestDuckDb(TargetContract):
    @pytest.fixture
    def url(self, tmp_path):
        return f"duckdb://{tmp_path}/db.duckdb?table=faq"

    foreign_tables = tuple(
        f"{kind} {name}" for kind in ("TABLE", "VIEW") for name in ("faq", "FAQ", "faq_gem")
    )
    foreign_staged_tables = ("TABLE faq__staged", "VIEW faq__staged")

    def fill(self, url: str, records) -> None:
        theirs = pa.Table.from_pylist(records)
        with duckdb.connect(TargetUrl.parse(url).path) as connection:
            connection.register("theirs", theirs)
            connection.execute(
                "CREATE TABLE faq (key VARCHAR, body VARCHAR, year INTEGER, vector FLOAT[2])"
            )
            connection.execute("INSERT INTO faq BY NAME SELECT * FROM theirs")

    def occupy(self, url: str, what: str) -> None:
        content = "(a INTEGER)" if what.startswith("TABLE") else "AS SELECT 1 AS a"
        execute(Path(TargetUrl.parse(url).path), f"CREATE {what} {content}")

    def stored(self, url: str) -> dict[str, list]:
        path = Path(TargetUrl.parse(url).path)
        return {name: execute(path, f'SELECT * FROM "{name}"') for name in tables(path)}


class TestQuery:
    def test_documents_are_of_one_state(self, filled) -> None:
        table = filled.live()
        documents = table.documents()
        first = next(documents)
        table.delete(["west"])
        assert len([first, *documents]) == 5


class TestSql:
    def test_the_nearest_document_in_plain_sql(self, path: Path, filled) -> None:
        rows = execute(
            path,
            "SELECT id, text FROM faq ORDER BY array_inner_product(vector, [0.1, 0.9]::FLOAT[2]) DESC LIMIT 1",
        )
        assert rows == [("north", "to the north")]

    def test_the_schema_is_written_down(self, path: Path, filled) -> None:
        assert dict(execute(path, "SELECT key, value FROM faq_gem")) == PLANE.to_strings()

    def test_a_reader_sees_the_old_table_until_the_switch(self, path: Path, filled) -> None:
        filled.stage(PLANE).upsert([directed("west")])
        assert execute(path, "SELECT count(*) FROM faq") == [(5,)]
        filled.switch()
        assert execute(path, "SELECT id FROM faq") == [("west",)]
        assert tables(path) == {"faq", "faq_gem"}

    def test_a_switch_that_fails_changes_nothing(self, filled, monkeypatch) -> None:
        filled.stage(PLANE).upsert([directed("west")])
        remove = type(filled)._remove

        def fail(target, database, state: str) -> None:
            remove(target, database, state)
            raise ZeroDivisionError

        monkeypatch.setattr(type(filled), "_remove", fail)
        with pytest.raises(ZeroDivisionError):
            filled.switch()
        monkeypatch.undo()
        assert filled.live().count() == 5
        assert filled.staged().count() == 1

    def test_rows_of_others_have_json_as_values(self, path: Path, url: str) -> None:
        execute(
            path,
            "CREATE TABLE faq (key INTEGER, info JSON, raw BLOB)",
            """INSERT INTO faq VALUES (1, '{"a": [1, "ü"]}', 'x'), (2, NULL, NULL), (3, 'null', 'y')""",
        )
        assert list(open_target(url).rows()) == [
            {"key": 1, "info": {"a": [1, "ü"]}},
            {"key": 2, "info": None},
            {"key": 3, "info": None},
        ]

    def test_drop_leaves_other_tables(self, path: Path, filled) -> None:
        execute(path, "CREATE TABLE mine (a INTEGER)")
        filled.stage(PLANE)
        filled.drop()
        assert tables(path) == {"mine"}
        assert filled.live() is filled.staged() is None

    def test_a_user_drops_the_table(self, path: Path, filled) -> None:
        execute(path, "DROP TABLE faq")
        assert filled.live() is None
        assert filled.create(PLANE).count() == 0


@pytest.fixture
def others_file() -> Iterator[Path]:
    """Yield a file in a folder that this process cannot write to; root becomes somebody else for that."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "db"
        target = open_target(f"duckdb://{path}?table=faq")
        target.create(PLANE).upsert(DOCUMENTS)
        target.close()
        path.chmod(stat.S_IRUSR | stat.S_IRGRP | stat.S_IROTH)
        Path(folder).chmod(0o555)
        user = os.geteuid()
        if user == 0:
            os.seteuid(65534)
        try:
            yield path
        finally:
            os.seteuid(user)
            Path(folder).chmod(0o700)


class TestRefused:
    @pytest.mark.parametrize("table", ["faq;drop", 'a"b', "a b", "é", "../a", "a" * 51])
    def test_a_bad_table_name(self, tmp_path: Path, table: str) -> None:
        with pytest.raises(
            ConfigError, match="found the table name .*; expected at most 50 letters"
        ):
            open_target(f"duckdb://{tmp_path}/db?table={table}".replace(";", "%3B"))
        assert not (tmp_path / "db").exists()

    @pytest.mark.parametrize(
        ("end", "message"),
        [
            ("/db", "has no table; expected \\?table=NAME"),
            ("/db?table=", "has no table"),
            ("/db?table=a&colour=red", "has no option 'colour'"),
            ("/no/such/folder/db?table=a", "found no folder .*no/such/folder"),
            ("/%00?table=a", "zero byte"),
            ("?table=a", "expected a DuckDB database"),
        ],
    )
    def test_a_bad_url(self, tmp_path: Path, end: str, message: str) -> None:
        with pytest.raises(ConfigError, match=message) as caught:
            open_target(f"duckdb://{tmp_path}{end}")
        assert "\n" not in str(caught.value)

    def test_a_host(self) -> None:
        with pytest.raises(ConfigError, match="found a host"):
            open_target("duckdb://faq.duckdb?table=faq")

    def test_a_file_that_is_not_a_database(self, path: Path, url: str) -> None:
        content = b"not a database, but long enough to be read as one" * 1000
        path.write_bytes(content)
        with pytest.raises(ConfigError, match="not a valid DuckDB .*; name another") as caught:
            open_target(url)
        assert "\n" not in str(caught.value)
        assert path.read_bytes() == content

    @pytest.mark.parametrize("name", ["docs.jsonl", "docs.csv", "docs.parquet"])
    def test_a_file_of_data_is_not_opened_as_a_view(self, tmp_path: Path, name: str) -> None:
        path = tmp_path / name
        path.write_text('{"id": "1", "text": "a river"}\n')
        with pytest.raises(ConfigError, match="not a valid DuckDB file.*; name another file"):
            open_target(f"duckdb://{path}?table=faq")
        assert path.read_text() == '{"id": "1", "text": "a river"}\n'

    def test_a_column_of_the_user(self, path: Path, url: str, tmp_path: Path) -> None:
        home = Home(tmp_path / "home")
        home.build("faq", [Document(id="1", text="a river")])
        faq = home.collection("faq")
        faq.push(url)
        execute(path, "ALTER TABLE faq ADD COLUMN mine INTEGER")
        faq.upsert([Document(id="2", text="a bank")])
        assert faq.push(url).added == 1
        assert execute(path, "SELECT id, mine FROM faq ORDER BY id") == [("1", None), ("2", None)]

    def test_a_read_only_file(self, others_file: Path) -> None:
        before = others_file.read_bytes()
        with pytest.raises(ConfigError, match="Permission denied.*; make the file") as caught:
            DuckDbTarget(TargetUrl.parse(f"duckdb://{others_file}?table=faq"))
        assert "\n" not in str(caught.value)
        with pytest.raises(ConfigError, match="Permission denied"):
            DuckDbTarget(TargetUrl.parse(f"duckdb://{others_file}2?table=faq")).create(PLANE)
        assert others_file.read_bytes() == before

    def test_a_file_that_another_process_has_open(self, path: Path, url: str, filled) -> None:
        program = f"from gem_index.targets import *\nopen_target({url!r})"
        run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        last = run.stderr.strip().splitlines()[-1]
        assert "ConfigError: found the database" in last
        assert "; close the program that has it open" in last

    def test_a_dry_run_does_not_create_the_file(self, path: Path, target) -> None:
        assert target.live() is target.staged() is None
        target.drop()
        assert not path.exists()


@pytest.mark.parametrize("page", ["README.md", "../../docs/cookbook/duckdb.md"])
def test_the_pages_run(page: str) -> None:
    run_page(Path(__file__).parents[1] / page)
