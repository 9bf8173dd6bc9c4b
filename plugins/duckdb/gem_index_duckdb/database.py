"""A DuckDB file: a connection, transactions, and the errors of DuckDB in one line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import duckdb

from gem_index.targets import FILE_ADVICE, ClientErrors, SqlDatabase

__all__ = ["Database"]

_ADVICE = (
    ("lock", "close the program that has it open, and run it again"),
    ("not a valid DuckDB", "name another file"),
    (
        "different configuration",
        "close the other connection of this process, or open it without read_only",
    ),
    ("does not exist", "run it again, as another push has replaced the table"),
    ("onflict", "run it again when the other program is done"),
    *FILE_ADVICE,
)


class Database(SqlDatabase):
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
        self._errors = ClientErrors(
            f"the database {path}",
            "a DuckDB database to read and write",
            _ADVICE,
            otherwise="check the file",
        )
        if not _may_be_database(path):
            raise self._errors.refusal(duckdb.IOException("not a valid DuckDB file"))
        with self._errors.caught(duckdb.Error):
            self._connection = duckdb.connect(path)

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Execute a statement and return all its rows."""
        with self._errors.caught(duckdb.Error):
            return self._connection.execute(statement, list(values)).fetchall()

    def insert(self, table: str, rows: Any, *, replace: bool) -> None:
        """Insert the rows of an Arrow table by one statement, or replace those with the same id."""
        with self._errors.caught(duckdb.Error):
            self._connection.register("gem_batch", rows)
            try:
                insert = "INSERT OR REPLACE" if replace else "INSERT"
                statement = f"{insert} INTO {table} BY NAME SELECT * FROM gem_batch"  # noqa: S608
                self._connection.execute(statement)
            finally:
                self._connection.unregister("gem_batch")

    def batches(self, statement: str, size: int = 1000) -> Iterator[list[tuple[Any, ...]]]:
        """Execute a query and iterate over its rows, all of one state of the database."""
        with self._errors.caught(duckdb.Error):
            # A separate connection: the next statement on the same connection would end the query.
            cursor = self._connection.cursor()
            try:
                cursor.execute(statement)
                while rows := cursor.fetchmany(size):
                    yield rows
            finally:
                cursor.close()

    def roll_back(self) -> None:
        """Undo the open transaction."""
        with suppress(duckdb.TransactionException):  # a COMMIT that fails has ended the transaction
            self._connection.execute("ROLLBACK")

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def _may_be_database(path: Path) -> bool:
    """Tell whether DuckDB may open a path: it opens CSV and JSON files as views of a database in memory."""
    try:
        with path.open("rb") as file:
            begin = file.read(12)
    except OSError:  # missing, or not readable: DuckDB reports this
        return True
    return not begin or begin[8:] == b"DUCK"
