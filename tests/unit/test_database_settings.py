"""What SQLite is told when a home's database is opened."""

import pytest

from gem_index.store.engine import open_engine, open_read_only_engine


def settings(engine, *names):
    with engine.connect() as connection:
        return {name: connection.exec_driver_sql(f"PRAGMA {name}").scalar_one() for name in names}


@pytest.mark.parametrize(("synchronous", "level"), [("normal", 1), ("full", 2)])
def test_a_database_that_is_written(tmp_path, synchronous, level):
    engine = open_engine(tmp_path / "a?b%20#c.db", 7.5, synchronous)
    names = ("journal_mode", "synchronous", "secure_delete", "foreign_keys", "busy_timeout")
    assert settings(engine, *names) == {
        "journal_mode": "wal",
        "synchronous": level,
        "secure_delete": 1,
        "foreign_keys": 1,
        "busy_timeout": 7500,
    }
    engine.dispose()
    assert (tmp_path / "a?b%20#c.db").exists()


def test_a_database_that_is_only_read_waits_as_long(tmp_path):
    engine = open_engine(tmp_path / "a?b%20#c.db", 1, "normal")
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE t (x)")
    engine.dispose()
    read = open_read_only_engine(tmp_path / "a?b%20#c.db", 2.5)
    assert settings(read, "busy_timeout") == {"busy_timeout": 2500}
