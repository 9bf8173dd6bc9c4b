"""The migrations compared with the tables, and databases that are older, newer or half migrated."""

import shutil
import sqlite3
import threading
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import inspect, text

from gem_index.errors import DatabaseVersionError, HomeNotWritableError
from gem_index.store import database, schema
from gem_index.store.database import Database
from gem_index_migrations import __file__ as migrations_file


@pytest.fixture
def path(tmp_path):
    return tmp_path / "gem-index.sqlite3"


def test_the_newest_revision_is_the_one_the_code_reads():
    config = Config()
    config.set_main_option("script_location", migrations_file.rsplit("/", 1)[0])
    assert ScriptDirectory.from_config(config).get_heads() == [schema.HEAD_REVISION]


def test_migrations_make_exactly_the_tables(path):
    with Database(path).reading() as connection:
        assert compare_metadata(MigrationContext.configure(connection), schema.metadata) == []
        inspector = inspect(connection)
        uniques = {
            (table, tuple(unique["column_names"]))
            for table in inspector.get_table_names()
            for unique in inspector.get_unique_constraints(table)
        }
        keys = {
            (
                table,
                key["constrained_columns"][0],
                key["referred_table"],
                key["options"].get("ondelete"),
            )
            for table in inspector.get_table_names()
            for key in inspector.get_foreign_keys(table)
        }
        created = connection.execute(
            text("SELECT name, sql FROM sqlite_master WHERE type = 'table'")
        )
        counted = {name for name, sql in created if sql and "AUTOINCREMENT" in sql}
    assert uniques == {
        ("vector_sources", ("name",)),
        ("models", ("name",)),
        ("collections", ("name",)),
        ("snapshots", ("collection_id",)),
        ("documents", ("collection_id", "document_id")),
        ("targets", ("collection_id", "url", "staged")),
        ("sources", ("collection_id", "location")),
        ("api_keys", ("name",)),
    }
    assert keys == {
        ("collections", "model_id", "models", None),
        ("model_parts", "model_id", "models", "CASCADE"),
        ("snapshots", "collection_id", "collections", "CASCADE"),
        ("documents", "collection_id", "collections", "CASCADE"),
        ("tombstones", "collection_id", "collections", "CASCADE"),
        ("targets", "collection_id", "collections", "CASCADE"),
        ("target_documents", "target_id", "targets", "CASCADE"),
        ("sources", "collection_id", "collections", "CASCADE"),
        ("files", "source_id", "sources", "CASCADE"),
    }
    assert counted == {"collections", "documents", "sources", "tombstones"}


def test_pragmas(path):
    with Database(path).reading() as connection:
        values = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "foreign_keys", "synchronous", "busy_timeout")
        }
    assert values == {
        "journal_mode": "wal",
        "foreign_keys": 1,
        "synchronous": 2,
        "busy_timeout": 60_000,
    }


def test_a_newer_database_is_refused_by_name(path):
    with Database(path).writing() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '0999'"))
    with pytest.raises(
        DatabaseVersionError,
        match="has the schema 0999, this gem-index knows up to 0011; .*upgrade",
    ):
        Database(path)
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT version_num FROM alembic_version").fetchone() == ("0999",)


def test_a_failing_migration_rolls_back_whole(path, monkeypatch):
    original = sa.schema.CreateTable

    class Broken(original):
        def __init__(self, element, **options):
            if element.name == "tombstones":
                raise RuntimeError("power cut")
            super().__init__(element, **options)

    monkeypatch.setattr(sa.schema, "CreateTable", Broken)
    monkeypatch.setattr("alembic.ddl.impl.schema.CreateTable", Broken)
    with pytest.raises(RuntimeError, match="power cut"):
        Database(path)
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == []
    monkeypatch.undo()
    assert Database(path).revision == schema.HEAD_REVISION


@pytest.mark.parametrize("attempt", range(6))
def test_two_may_create_it_at_once(path, attempt):
    """SQLite does not wait while another connection switches to the log; we do."""
    errors = []

    def create():
        try:
            Database(path)
        except Exception as error:  # noqa: BLE001 - told below
            errors.append(error)

    threads = [threading.Thread(target=create) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert Database(path).revision == schema.HEAD_REVISION


def test_transactions_roll_back_and_readers_see_one_state(path):
    database = Database(path)

    def names(connection):
        return connection.execute(sa.select(schema.collections.c.name)).scalars().all()

    row = {"name": "a", "model_id": 1, "index_kind": "flat", "created_at": "now"}
    row |= {"fitted_seq": 0, "fitted_documents": 0}
    model = dict.fromkeys(
        ("fingerprint", "vectors", "vectors_fingerprint", "config", "recipe", "created_at"), ""
    )
    with database.writing() as connection:
        connection.execute(
            sa.insert(schema.models), model | {"id": 1, "dimension": 1, "sentences": 0}
        )
    with database.reading() as reader:
        assert names(reader) == []
        with database.writing() as connection:
            connection.execute(sa.insert(schema.collections), row)
        assert names(reader) == []

    def fail_halfway():
        with database.writing() as connection:
            connection.execute(sa.insert(schema.collections), row | {"name": "b"})
            raise KeyError

    with pytest.raises(KeyError):
        fail_halfway()
    with database.reading() as reader:
        assert names(reader) == ["a"]


def test_a_folder_that_is_missing(tmp_path):
    with pytest.raises(HomeNotWritableError, match="cannot write"):
        Database(tmp_path / "none" / "x.sqlite3")


def test_columns_have_the_defaults_of_the_tables(path):
    """Two migrations gave defaults to three more columns, for the rows of that time."""
    with Database(path).reading() as connection:
        found = {
            (table, column["name"]): column["default"]
            for table in schema.metadata.tables
            for column in inspect(connection).get_columns(table)
        }
    named = {
        (table.name, column.name): f"'{column.server_default.arg}'"
        for table in schema.metadata.tables.values()
        for column in table.columns
        if column.server_default is not None
    }
    assert len(named) == 7
    assert {place: found[place] for place in named} == named


def test_an_installation_in_a_folder_with_a_percent_sign(tmp_path, monkeypatch):
    """Alembic reads its settings as an INI file does, in which the sign begins a reference."""
    package = tmp_path / "50%(x)s" / "migrations"
    shutil.copytree(Path(migrations_file).parent, package)
    monkeypatch.setattr(database, "files", lambda _: package)
    assert Database(tmp_path / "new.db").revision == schema.HEAD_REVISION
