"""SQLite with sqlite-vec as a target: the contract, the file in SQL, and what is refused."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from gem_index_sqlite_vec import connect

from gem_index import Document, Home
from gem_index.errors import ConfigError
from gem_index.targets import TargetUrl, open_target
from gem_index.testing import TargetContract, run_page
from gem_index.testing.targets import DIRECTIONS, PLANE, directed

DOCUMENTS = [directed(name) for name in DIRECTIONS]


def execute(path: Path, *statements: str) -> list:
    connection = connect(path)
    try:
        with connection:
            return [connection.execute(statement).fetchall() for statement in statements][-1]
    finally:
        connection.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a file.sqlite"


@pytest.fixture
def url(path: Path) -> str:
    return f"sqlite-vec://{path}?table=faq"


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


class TestSqliteVec(TargetContract):
    @pytest.fixture
    def url(self, tmp_path):
        return f"sqlite-vec://{tmp_path}/db.sqlite?table=faq"

    foreign_tables = tuple(
        f"{kind} {name}" for kind in ("TABLE", "VIEW") for name in ("faq", "FAQ_vectors", "faq_gem")
    )

    def occupy(self, url: str, what: str) -> None:
        content = "(a)" if what.startswith("TABLE") else "AS SELECT 1 AS a"
        execute(Path(TargetUrl.parse(url).path), f"CREATE {what} {content}")

    def fill(self, url: str, records) -> None:
        connection = connect(Path(TargetUrl.parse(url).path))
        connection.execute("CREATE TABLE faq (key TEXT, body TEXT, year INTEGER, vector BLOB)")
        connection.executemany(
            "INSERT INTO faq VALUES (:key, :body, :year, :packed)",
            [each | {"packed": np.array(each["vector"], "<f4").tobytes()} for each in records],
        )
        connection.commit()
        connection.close()

    def stored(self, url: str) -> bytes:
        return Path(TargetUrl.parse(url).path).read_bytes()


class TestQuery:
    def test_the_zero_vector_comes_before_negative_scores(self, filled) -> None:
        hits = filled.live().query(np.array([-0.8, -0.6], np.float32), 2)
        assert [(hit.id, round(hit.score, 6)) for hit in hits] == [("west", 0.8), ("none", 0)]

    @pytest.mark.parametrize("k", [5, 4096, 5000])
    def test_any_k(self, filled, k: int) -> None:
        hits = filled.live().query(np.array([1, 0], np.float32), k)
        assert [hit.id for hit in hits] == ["east", "northeast", "north", "none", "west"]


class TestSql:
    def test_the_nearest_document_in_plain_sql(self, path: Path, filled) -> None:
        connection = connect(path)
        (row,) = connection.execute(
            "SELECT faq.id, faq.text, near.distance FROM faq_vectors AS near JOIN faq ON faq.rowid = near.rowid "
            "WHERE near.embedding MATCH '[0.1, 0.9]' AND near.k = 1"
        ).fetchall()
        connection.close()
        assert row[:2] == ("north", "to the north")

    def test_the_schema_is_written_down(self, path: Path, filled) -> None:
        rows = execute(path, "SELECT key, value FROM faq_gem WHERE state = 'live'")
        assert dict(rows) == PLANE.to_strings() | {"generation": "1"}

    def test_a_reader_sees_the_old_table_until_the_switch(self, path: Path, filled) -> None:
        filled.stage(PLANE).upsert([directed("west")])
        assert execute(path, "SELECT count(*) FROM faq") == [(5,)]
        assert execute(path, "SELECT count(*) FROM faq_vectors") == [(4,)]
        filled.switch()
        assert execute(path, "SELECT id FROM faq") == [("west",)]
        assert execute(path, "SELECT count(*) FROM faq_vectors") == [(1,)]
        tables = {name for (name,) in execute(path, "SELECT name FROM sqlite_master")}
        assert not any(name.startswith("faq_gem_1") for name in tables)

    def test_a_switch_that_fails_changes_nothing(self, path: Path, filled, monkeypatch) -> None:
        filled.stage(PLANE).upsert([directed("west")])
        monkeypatch.setattr(type(filled), "_show", lambda self: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            filled.switch()
        monkeypatch.undo()
        assert filled.live().count() == 5
        assert filled.staged().count() == 1

    def test_drop_leaves_other_tables(self, path: Path, filled) -> None:
        execute(path, "CREATE TABLE mine (a)")
        filled.stage(PLANE)
        filled.drop()
        assert execute(path, "SELECT name FROM sqlite_master WHERE name LIKE '%faq%'") == []
        assert execute(path, "SELECT * FROM mine") == []
        assert filled.live() is filled.staged() is None

    def test_a_user_drops_the_views(self, path: Path, filled) -> None:
        execute(path, "DROP VIEW faq", "DROP VIEW faq_vectors")
        assert filled.live() is None
        assert filled.create(PLANE).count() == 0


class TestRefused:
    @pytest.mark.parametrize("table", ["faq;drop", 'a"b', "a b", "é", "sqlite_x", "../a"])
    def test_a_bad_table_name(self, tmp_path: Path, table: str) -> None:
        with pytest.raises(ConfigError, match="found the table name .*; expected letters, digits"):
            open_target(f"sqlite-vec://{tmp_path}/db?table={table}".replace(";", "%3B"))
        assert not (tmp_path / "db").exists()

    @pytest.mark.parametrize(
        ("end", "message"),
        [
            ("/db", "has no table; expected \\?table=NAME"),
            ("/db?table=", "has no table"),
            ("/db?table=a&colour=red", "has no option 'colour'"),
            ("/no/such/folder/db?table=a", "found no folder .*no/such/folder"),
            ("/%00?table=a", "zero byte"),
            ("?table=a", "unable to open"),
        ],
    )
    def test_a_bad_url(self, tmp_path: Path, end: str, message: str) -> None:
        with pytest.raises(ConfigError, match=message) as caught:
            open_target(f"sqlite-vec://{tmp_path}{end}")
        assert "\n" not in str(caught.value)

    def test_a_host(self) -> None:
        with pytest.raises(ConfigError, match="found a host"):
            open_target("sqlite-vec://faq.sqlite?table=faq")

    @pytest.mark.parametrize("name", ["faq_gem_1", "faq_gem_1_vectors"])
    def test_an_inner_name_in_use(self, path: Path, url: str, name: str) -> None:
        execute(path, f"CREATE TABLE {name} (a)")
        target = open_target(url)
        assert target.live() is None
        with pytest.raises(ConfigError, match=f"found {name} .*gem-index did not create"):
            target.create(PLANE)
        target.close()
        assert execute(path, "SELECT name FROM sqlite_master") == [(name,)]

    def test_the_database_of_a_home(self, tmp_path: Path) -> None:
        home = Home(tmp_path / "home")
        home.build("faq", [Document(id="1", text="a river")])
        [database] = (tmp_path / "home").glob("*.sqlite3")
        with pytest.raises(ConfigError, match="gem-index's own database .*; expected another file"):
            home.collection("faq").push(f"sqlite-vec://{database}?table=faq")
        assert home.verify() == []

    def test_a_file_that_is_not_a_database(self, path: Path, url: str) -> None:
        path.write_bytes(b"not a database, but long enough to be read as one" * 100)
        with pytest.raises(ConfigError, match="not a database; expected a SQLite database"):
            open_target(url)

    def test_a_read_only_database(self, path: Path, url: str, filled) -> None:
        filled.close()
        with path.open("r+b") as file:
            file.seek(
                18
            )  # the write version: SQLite only reads a file of a later one, also as root
            file.write(b"\x03")
        target = open_target(url)
        table = target.live()
        assert table.count() == 5
        for call in (
            lambda: table.upsert(DOCUMENTS),
            lambda: table.delete(["east"]),
            lambda: target.stage(PLANE),
            target.drop,
        ):
            with pytest.raises(ConfigError, match="readonly database; expected .*; make the file"):
                call()
        assert table.count() == 5
        target.close()

    def test_a_locked_database(self, path: Path, url: str, filled) -> None:
        other = connect(path)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(ConfigError, match="database is locked; expected .*; wait for the"):
            filled.live().upsert([directed("east")])
        assert filled.live().count() == 5
        other.rollback()
        other.close()

    def test_a_python_without_extensions(self) -> None:
        program = (
            "import sqlite3, sys\n"
            "class Connection: pass\n"
            "sqlite3.Connection = Connection\n"
            "sys.modules['pysqlite3'] = None\n"
            "from gem_index_sqlite_vec.database import connect\n"
            "from gem_index.errors import ConfigError\n"
            "try:\n    connect('x')\nexcept ConfigError as error:\n    print(error)\n"
        )
        run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        assert "found a Python whose sqlite3 cannot load extensions; expected" in run.stdout

    def test_a_dry_run_does_not_create_the_file(self, path: Path, target) -> None:
        assert target.live() is target.staged() is None
        target.drop()
        assert not path.exists()


@pytest.mark.parametrize("page", ["README.md", "../../docs/cookbook/sqlite-vec.md"])
def test_the_pages_run(page: str) -> None:
    run_page(Path(__file__).parents[1] / page)
