"""A DuckDB file: a connection, transactions, and the errors of DuckDB in one line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import duckdb

from gem_index.errors import ConfigError

__all__ = ["Database"]

_ADVICE = (
    ("lock", "close the program that has it open, and run it again"),
    ("read-only", "make the file and its folder writable"),
    ("Permission denied", "make the file and its folder writable"),
    ("not a valid DuckDB", "name another file"),
    (
        "different configuration",
        "close the other connection of this process, or open it without read_only",
    ),
    ("No space left", "free some space"),
    ("does not exist", "run it again, as another push has replaced the table"),
    ("onflict", "run it again when the other program is done"),
)


class Database:
    """A database file; statements outside a transaction commit at once.

    Parameters
    ----------
    path : Path
        An existing file, or one to create.

    Raises
    ------
    ConfigError
        If it is not a DuckDB database, or cannot be opened for writing.
    """

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        _check_magic(path)
        with self._named_errors():
            self._connection = duckdb.connect(path)

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Execute a statement and return all its rows."""
        with self._named_errors():
            return self._connection.execute(statement, list(values)).fetchall()

    def insert(self, table: str, rows: Any, *, replace: bool) -> None:
        """Insert the rows of an Arrow table by one statement, or replace those with the same id."""
        with self._named_errors():
            self._connection.register("gem_batch", rows)
            try:
                insert = "INSERT OR REPLACE" if replace else "INSERT"
                statement = f"{insert} INTO {table} BY NAME SELECT * FROM gem_batch"  # noqa: S608
                self._connection.execute(statement)
            finally:
                self._connection.unregister("gem_batch")

    def batches(self, statement: str, size: int = 1000) -> Iterator[list[tuple[Any, ...]]]:
        """Execute a query and iterate over its rows, all of one state of the database."""
        with self._named_errors():
            # A connection of its own: the next statement on the same one would end the query.
            cursor = self._connection.cursor()
            try:
                cursor.execute(statement)
                while rows := cursor.fetchmany(size):
                    yield rows
            finally:
                cursor.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Make the statements inside one transaction, rolled back if one fails."""
        self.rows("BEGIN")
        try:
            yield
            self.rows("COMMIT")
        except BaseException:
            self._roll_back()
            raise

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _roll_back(self) -> None:
        with suppress(duckdb.TransactionException):  # a COMMIT that fails has ended the transaction
            self._connection.execute("ROLLBACK")

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        try:
            yield
        except duckdb.Error as error:
            reason = " ".join(str(error).split())[:240]
            advice = next((text for part, text in _ADVICE if part in reason), "check the file")
            raise ConfigError(
                f"found the database {self.name}: {reason}; expected a DuckDB database to read and write; {advice}"
            ) from error


def _check_magic(path: Path) -> None:
    """Raise ConfigError if a file is not a database: DuckDB opens CSV and JSON files as views of a database in memory."""
    try:
        with path.open("rb") as file:
            begin = file.read(12)
    except OSError:  # missing, or not readable: DuckDB says so
        return
    if begin and begin[8:] != b"DUCK":
        raise ConfigError(
            f"found the database {path}: not a valid DuckDB file; expected a DuckDB database to read and write; "
            "name another file"
        )
