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
from gem_index.targets import FILE_ADVICE, ClientErrors

__all__ = ["Database", "connect"]

_ADVICE = (
    ("locked", "wait for the program that writes to it, and run it again"),
    ("not a database", "name another file"),
    ("no such table", "run it again, as another push has replaced the table"),
    *FILE_ADVICE,
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
    with _errors_of(Path(path)).caught(driver.Error):
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
        driver = _driver()
        self._error: type[Exception] = driver.Error
        self._errors = _errors_of(path)
        with self._errors.caught(self._error):
            self._connection: sqlite3.Connection = driver.connect(
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
        with self._errors.caught(self._error):
            return self._connection.execute(statement, values).fetchall()

    def execute_many(self, statement: str, values: Iterable[Sequence[Any]]) -> None:
        """Execute a statement for each row of values."""
        with self._errors.caught(self._error):
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
        with self._errors.caught(self._error):
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
            "do: pip install pysqlite3-binary, or use another build of Python"
        ) from error


def _errors_of(path: Path) -> ClientErrors:
    return ClientErrors(
        f"the database {path}",
        "a SQLite database to read and write",
        _ADVICE,
        otherwise="check the file",
    )
