"""A table in a DuckDB file as a target.

Readers query the table ``faq``. A push that replaces all vectors fills ``faq__staged``, which one transaction then renames.
``faq_gem`` holds the values of the schemas of both.
"""
# ruff: noqa: S608 - names are checked and quoted, values are parameters

from __future__ import annotations

import re
from pathlib import Path

from gem_index import TargetSchema, TargetUrl
from gem_index.errors import ConfigError
from gem_index_duckdb.database import Database
from gem_index_duckdb.table import COLUMNS, DuckDbTable

__all__ = ["DuckDbTarget"]

_NOTES = ["state", "key", "value"]


class DuckDbTarget:
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

    def __init__(self, url: TargetUrl) -> None:
        self.url = url
        url.check_options("table")
        name = url.option("table")
        if not re.fullmatch(r"[A-Za-z0-9_]+", name):
            raise ConfigError(
                f"found the table name {name!r:.80}; expected letters, digits and underscores; choose another name"
            )
        if url.host or url.user:
            raise ConfigError(
                f"found a host in the target {url}; expected duckdb:///FOLDER/FILE?table=NAME; "
                "write three slashes and the file's full path"
            )
        self._path = Path(url.path)
        if not self._path.parent.is_dir():
            raise ConfigError(
                f"found no folder {str(self._path.parent)!r:.200}; expected the folder of the database file; create it"
            )
        self._tables = {"live": name, "staged": f"{name}__staged"}
        self._notes = f"{name}_gem"
        # A dry run does not create the file.
        self._opened = Database(self._path) if self._path.exists() else None

    def live(self) -> DuckDbTable | None:
        """Return the table that readers see."""
        if self._opened is None:
            return None
        with self._opened.transaction():
            return self._find("live")

    def staged(self) -> DuckDbTable | None:
        """Return the staged table."""
        if self._opened is None:
            return None
        with self._opened.transaction():
            return self._find("staged")

    def create(self, schema: TargetSchema) -> DuckDbTable:
        """Create an empty live table."""
        with self._database().transaction():
            if self._find("live") is not None:
                raise ConfigError(
                    f"found the table {self._tables['live']} in {self._path}; expected none; "
                    "drop it before it is created"
                )
            return self._add("live", schema)

    def stage(self, schema: TargetSchema) -> DuckDbTable:
        """Create an empty staged table."""
        with self._database().transaction():
            return self._add("staged", schema)

    def switch(self) -> None:
        """Drop the live table and rename the staged one, in one transaction."""
        database, live, staged = self._database(), self._tables["live"], self._tables["staged"]
        with database.transaction():
            if self._find("staged") is None:
                raise ConfigError(
                    f"found no table {staged} in {self._path}; expected one; push in full again"
                )
            self._remove("live")
            database.rows(f'ALTER TABLE "{staged}" RENAME TO "{live}"')
            database.rows(f"UPDATE \"{self._notes}\" SET state = 'live' WHERE state = 'staged'")

    def drop(self) -> None:
        """Drop both tables and the notes."""
        database = self._opened
        if database is None:
            return
        with database.transaction():
            for state in self._tables:
                self._find(state)
            if not self._noted():
                return
            for state in self._tables:
                self._remove(state)
            database.rows(f'DROP TABLE "{self._notes}"')

    def close(self) -> None:
        """Close the connection; DuckDB then lets other programs open the file."""
        if self._opened is not None:
            self._opened.close()

    def _database(self) -> Database:
        """Return the open database; the file is created if it is missing."""
        if self._opened is None:
            self._opened = Database(self._path)
        return self._opened

    def _find(self, state: str) -> DuckDbTable | None:
        """Return the live or the staged table; raise ConfigError if its name is in use for something else."""
        values = (
            self._database().rows(
                f'SELECT key, value FROM "{self._notes}" WHERE state = $1', [state]
            )
            if self._noted()
            else []
        )
        name, schema = self._tables[state], TargetSchema.from_strings(dict(values))
        kind, columns = self._entry(name)
        if not kind:
            return None
        if schema is None or kind != "BASE TABLE" or columns != COLUMNS:
            raise self._foreign(name)
        return DuckDbTable(self._database(), name, schema)

    def _add(self, state: str, schema: TargetSchema) -> DuckDbTable:
        """Create a table in the place of an earlier one, and note its schema."""
        database = self._database()
        for each in self._tables:
            self._find(each)
        if not self._noted():
            database.rows(
                f'CREATE TABLE "{self._notes}" (state VARCHAR, key VARCHAR, value VARCHAR)'
            )
        self._remove(state)
        table = DuckDbTable(database, self._tables[state], schema)
        table.create()
        for key, value in schema.to_strings().items():
            database.rows(f'INSERT INTO "{self._notes}" VALUES ($1, $2, $3)', [state, key, value])
        return table

    def _remove(self, state: str) -> None:
        """Drop a table of gem-index and its notes, as far as they exist."""
        self._find(state)
        self._database().rows(f'DROP TABLE IF EXISTS "{self._tables[state]}"')
        self._database().rows(f'DELETE FROM "{self._notes}" WHERE state = $1', [state])

    def _noted(self) -> bool:
        """Tell whether there is a table of notes; raise ConfigError if something else has its name."""
        kind, columns = self._entry(self._notes)
        if kind and (kind != "BASE TABLE" or columns != _NOTES):
            raise self._foreign(self._notes)
        return bool(kind)

    def _entry(self, name: str) -> tuple[str, list[str]]:
        """Return the type and the columns of a table or view; empty if there is none."""
        here = "table_catalog = current_database() AND table_schema = 'main' AND lower(table_name) = lower($1)"
        kinds = self._database().rows(
            f"SELECT table_type FROM information_schema.tables WHERE {here}", [name]
        )
        columns = self._database().rows(
            f"SELECT column_name FROM information_schema.columns WHERE {here} ORDER BY ordinal_position",
            [name],
        )
        return (str(kinds[0][0]) if kinds else "", [str(column) for (column,) in columns])

    def _foreign(self, name: str) -> ConfigError:
        return ConfigError(
            f"found {name} in {self._path}, which gem-index did not create; expected an unused name; "
            "choose another name in ?table="
        )
