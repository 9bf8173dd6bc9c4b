"""A SQLite file with sqlite-vec loaded: connections, transactions, and the errors of SQLite in one line."""

from __future__ import annotations

import importlib
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Any

import sqlite_vec

from gem_index.errors import ConfigError

__all__ = ["Database", "connect"]

_ADVICE = (
    ("locked", "wait for the program that writes to it, and run it again"),
    ("readonly", "make the file and its folder writable"),
    ("not a database", "name another file"),
    ("unable to open", "check the file's permissions"),
    ("is full", "free some space"),
    ("no such table", "run it again, as another push has replaced the table"),
)
_ROWS = 500  # of one statement


def connect(path: str | Path) -> sqlite3.Connection:
    """Open a database file for your own queries, with sqlite-vec loaded.

    Parameters
    ----------
    path : str or Path
        A missing file is created.

    Returns
    -------
    sqlite3.Connection
        Of the package ``pysqlite3`` where Python's own ``sqlite3`` cannot load extensions.

    Raises
    ------
    ConfigError
        If neither can load extensions, or the file cannot be opened.
    """
    driver = _driver()
    with _named_errors(Path(path), driver):
        connection: sqlite3.Connection = driver.connect(path)
        try:
            _load(connection)
        except BaseException:
            connection.close()
            raise
    return connection


class Database:
    """A database file; statements outside a transaction commit at once.

    Parameters
    ----------
    path : Path
        An existing file, or one to create.

    Raises
    ------
    ConfigError
        If it is not a SQLite database, or cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._driver = _driver()
        with self._errors():
            self._connection: sqlite3.Connection = self._driver.connect(
                path, isolation_level=None, check_same_thread=False
            )
            try:
                _load(self._connection)
                self._connection.execute("SELECT count(*) FROM sqlite_master").fetchall()
            except BaseException:
                self._connection.close()
                raise

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        """Execute a statement and return all its rows."""
        with self._errors():
            return self._connection.execute(statement, values).fetchall()

    def execute_many(self, statement: str, values: Iterable[Sequence[Any]]) -> None:
        """Execute a statement for each row of values."""
        with self._errors():
            self._connection.executemany(statement, values)

    def insert(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Insert rows, many by a statement: SQLite's driver waits for other threads at each statement."""
        left = iter(rows)
        names, row = ", ".join(columns), f"({', '.join('?' * len(columns))})"
        while part := list(islice(left, _ROWS)):
            values = ", ".join([row] * len(part))
            self.rows(f"INSERT INTO {table} ({names}) VALUES {values}", list(chain(*part)))  # noqa: S608

    def iterate(self, statement: str) -> Iterator[Any]:
        """Execute a query and iterate over its rows, all of one state of the database."""
        with self._errors():
            cursor = self._connection.execute(statement)
            try:
                yield from cursor
            finally:
                cursor.close()

    @contextmanager
    def transaction(self, *, write: bool = True) -> Iterator[None]:
        """Make the statements inside one transaction, rolled back if one fails."""
        # IMMEDIATE waits for another writer now; a transaction that first reads would fail at its first write.
        self.rows("BEGIN IMMEDIATE" if write else "BEGIN")
        try:
            yield
            self.rows("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self.rows("ROLLBACK")
            raise

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        with _named_errors(self.path, self._driver):
            yield


def _load(connection: sqlite3.Connection) -> None:
    connection.enable_load_extension(True)
    sqlite_vec.load(connection)
    connection.enable_load_extension(False)


def _driver() -> Any:
    """Return the module sqlite3, or pysqlite3 where Python was built without loadable extensions."""
    if hasattr(sqlite3.Connection, "enable_load_extension"):
        return sqlite3
    try:
        return importlib.import_module("pysqlite3.dbapi2")
    except ImportError as error:
        raise ConfigError(
            "found a Python whose sqlite3 cannot load extensions; expected one that can, for sqlite-vec; "
            "do: pip install 'gem-index-sqlite-vec[pysqlite3]', or use another build of Python"
        ) from error


@contextmanager
def _named_errors(path: Path, driver: Any) -> Iterator[None]:
    try:
        yield
    except driver.Error as error:
        reason = " ".join(str(error).split())[:160]
        advice = next((text for part, text in _ADVICE if part in reason), "check the file")
        raise ConfigError(
            f"found the database {path}: {reason}; expected a SQLite database to read and write; {advice}"
        ) from error
