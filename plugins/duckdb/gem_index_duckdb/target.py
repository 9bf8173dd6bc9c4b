"""A table in a DuckDB file as a target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from gem_index.targets import SqlDatabase, SqlTarget, TargetSchema, TargetUrl, local_path
from gem_index_duckdb.database import Database
from gem_index_duckdb.table import DuckDbTable

__all__ = ["DuckDbTarget"]


class DuckDbTarget(SqlTarget[DuckDbTable]):
    """A live table and perhaps a staged one.

    Parameters
    ----------
    url : TargetUrl
        ``duckdb:///folder/file.duckdb?table=faq``.

    Raises
    ------
    ConfigError
        If the table's name is missing or unsuitable, the file's folder does not exist, or the file is not a DuckDB
        database or in use.
    """

    holds_words = True
    in_catalog = "table_catalog = current_database() AND table_schema = 'main' AND lower(table_name) = lower($1)"

    def __init__(self, url: TargetUrl) -> None:
        super().__init__(url)
        url.check_options("table")
        self._path = local_path(url, "duckdb:///FOLDER/FILE?table=NAME")
        # A dry run does not create the file.
        self._opened = Database(self._path) if self._path.exists() else None

    def stores_json(self, texts: Sequence[str]) -> bool:
        """Return True: metadata is stored as JSON."""
        return True

    def opened(self) -> Database | None:
        """Return the open database; None if there is no file."""
        return self._opened

    def open(self) -> Database:
        """Return the open database; the file is created if it is missing."""
        if self._opened is None:
            self._opened = Database(self._path)
        return self._opened

    def table(self, database: SqlDatabase, table: str, schema: TargetSchema) -> DuckDbTable:
        """Return the object of a table."""
        return DuckDbTable(cast(Database, database), table, schema)
