"""What SQLite is told when a home's database is opened."""

import sqlite3

import pytest

from gem_index.store import engine
from gem_index.store.engine import open_engine, open_read_only_engine


def settings(opened, *names):
    with opened.connect() as connection:
        return {name: connection.exec_driver_sql(f"PRAGMA {name}").scalar_one() for name in names}


@pytest.mark.parametrize(("synchronous", "level"), [("normal", 1), ("full", 2)])
def test_a_database_that_is_written(tmp_path, synchronous, level):
    opened = open_engine(tmp_path / "a?b%20#c.db", 7.5, synchronous)
    names = ("journal_mode", "synchronous", "secure_delete", "foreign_keys", "busy_timeout")
    assert settings(opened, *names) == {
        "journal_mode": "wal",
        "synchronous": level,
        "secure_delete": 1,
        "foreign_keys": 1,
        "busy_timeout": 7500,
    }
    opened.dispose()
    assert (tmp_path / "a?b%20#c.db").exists()


def test_a_database_that_is_only_read_waits_as_long(tmp_path):
    made = open_engine(tmp_path / "a?b%20#c.db", 1, "normal")
    with made.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE t (x)")
    made.dispose()
    read = open_read_only_engine(tmp_path / "a?b%20#c.db", 2.5)
    assert settings(read, "busy_timeout") == {"busy_timeout": 2500}


class Cursor:
    """Refuses to switch the log, each time with the next code, until there is no code left."""

    def __init__(self, *codes):
        self.codes = list(codes)
        self.asked = []

    def execute(self, statement):
        self.asked.append(statement)
        if self.codes:
            error = sqlite3.OperationalError("refused")
            error.sqlite_errorcode = self.codes.pop(0)
            raise error


BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_BUSY_RECOVERY, sqlite3.SQLITE_BUSY_SNAPSHOT)


def test_the_log_is_switched_again_while_another_connection_switches():
    cursor = Cursor(*BUSY)
    engine._use_log(cursor, 60)
    assert cursor.asked == ["PRAGMA journal_mode = WAL"] * 4


@pytest.mark.parametrize("code", [sqlite3.SQLITE_PERM, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL])
def test_another_refusal_is_not_repeated(code):
    cursor = Cursor(code)
    with pytest.raises(sqlite3.OperationalError):
        engine._use_log(cursor, 60)
    assert len(cursor.asked) == 1


def test_the_log_is_not_switched_for_ever():
    cursor = Cursor(*BUSY)
    with pytest.raises(sqlite3.OperationalError):
        engine._use_log(cursor, 0)
    assert len(cursor.asked) == 1
