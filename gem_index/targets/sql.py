"""The common part of targets in SQL databases.

For a table ``faq``, there are three tables:

- ``faq`` is the live table, which readers query.
- ``faq__staged`` is the staged table. A push that replaces all vectors fills the staged table; then one transaction
  drops ``faq`` and renames ``faq__staged``. So the database must be able to create and rename tables in a transaction.
- ``faq_gem`` has the schemas of both tables.
"""
# ruff: noqa: S608 - names are checked and quoted, values are parameters

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Generic, TypeVar

from gem_index.errors import ConfigError
from gem_index.errors.quoting import quoted
from gem_index.targets.protocol import TargetSchema
from gem_index.targets.sql_table import SqlDatabase, SqlTable
from gem_index.targets.tables import existing_table, foreign_table, missing_staged_table
from gem_index.targets.url import TargetUrl

__all__ = ["SqlTarget", "check_table_name"]

_COLUMNS = ["id", "vector", "text", "metadata"]
_NOTES = ["state", "key", "value"]
_VECTORS = re.compile(
    r"vector|halfvec|sparsevec|_float[48]|bit|bytea|tsvector|BLOB|(FLOAT|DOUBLE)\[.*"
)
"""The types of columns with vectors or bytes, as PostgreSQL and DuckDB call them."""
_JSON = "JSON"  # a type of DuckDB; its values are returned as text


def check_table_name(name: str) -> str:
    """Return a table's name after checking that it needs no quotes, and that gem-index can append its endings.

    Raises
    ------
    ConfigError
        If the name has other characters than letters, digits and underscores, or more than 50 characters.
    """
    if not re.fullmatch(r"[A-Za-z0-9_]{1,50}", name):
        raise ConfigError(
            f"found the table name {quoted(name, 80)}; expected at most 50 letters, digits and underscores; "
            "choose another name"
        )
    return name


Table = TypeVar("Table", bound=SqlTable)


class SqlTarget(ABC, Generic[Table]):
    """A live table, and perhaps a staged table.

    Parameters
    ----------
    url : TargetUrl
        A URL with the option ``table``.

    Raises
    ------
    ConfigError
        If the table's name is missing or unsuitable.
    """

    in_catalog: str
    """The SQL condition that a row of ``information_schema`` describes the table $1."""

    type_in_catalog: ClassVar[str] = "data_type"
    """The column of ``information_schema.columns`` that has the engine's own name of a type."""

    def __init__(self, url: TargetUrl) -> None:
        self.url = url
        name = check_table_name(url.option("table"))
        self._tables = {"live": name, "staged": f"{name}__staged"}
        self._notes = f"{name}_gem"

    @abstractmethod
    def opened(self) -> SqlDatabase | None:
        """Return the database; None if it does not exist yet."""

    @abstractmethod
    def open(self) -> SqlDatabase:
        """Return the database; it is created if it does not exist."""

    @abstractmethod
    def table(self, database: SqlDatabase, table: str, schema: TargetSchema) -> Table:
        """Return the object of a table; the table need not exist yet."""

    def quoted(self, name: str) -> str:
        """Return a table's name, quoted for statements."""
        return f'"{name}"'

    def before_switch(self, live: str, staged: str) -> None:
        """Do nothing; an engine can override this method to copy users' settings of the live table to the staged table."""

    def unsupported(self, metadata: Mapping[str, Any]) -> list[str]:  # noqa: ARG002 - of the protocol
        """Return an empty list, because metadata are stored as JSON."""
        return []

    def live(self) -> Table | None:
        """Return the table that readers see."""
        return self._read("live")

    def staged(self) -> Table | None:
        """Return the staged table."""
        return self._read("staged")

    def rows(self) -> Iterator[dict[str, Any]]:
        """Iterate over the rows of a table or view that gem-index did not create.

        Columns with vectors or bytes are left out.
        """
        database, table = self.open(), self._tables["live"]
        found = database.rows(
            f"SELECT column_name, {self.type_in_catalog} FROM information_schema.columns WHERE {self.in_catalog} "
            "ORDER BY ordinal_position",
            [table],
        )
        types = {name: kind for name, kind in found if not _VECTORS.fullmatch(kind)}
        if not types:
            return
        names = ", ".join('"{}"'.format(name.replace('"', '""')) for name in types)
        for rows in database.batches(f"SELECT {names} FROM {self.quoted(table)}"):
            for row in rows:
                yield {
                    name: json.loads(value) if types[name] == _JSON and value else value
                    for name, value in zip(types, row, strict=True)
                }

    def create(self, schema: TargetSchema) -> Table:
        """Create an empty live table."""
        database = self.open()
        with database.transaction():
            return self._add(database, "live", schema)

    def stage(self, schema: TargetSchema) -> Table:
        """Create an empty staged table."""
        database = self.open()
        with database.transaction():
            return self._add(database, "staged", schema)

    def switch(self) -> None:
        """Drop the live table and rename the staged table, in one transaction."""
        database, live, staged = self.open(), self._tables["live"], self._tables["staged"]
        with database.transaction():
            if self._find(database, "staged") is None:
                raise missing_staged_table(live, database.name)
            self._find(database, "live")  # raises ConfigError if gem-index did not create the table
            self.before_switch(live, staged)
            self._remove(database, "live")
            database.rows(f'ALTER TABLE {self.quoted(staged)} RENAME TO "{live}"')
            database.rows(
                f"UPDATE {self.quoted(self._notes)} SET state = 'live' WHERE state = 'staged'"
            )

    def drop(self) -> None:
        """Drop both tables and the table of their schemas."""
        database = self.opened()
        if database is None:
            return
        with database.transaction():
            for state in self._tables:
                self._find(
                    database, state
                )  # raises ConfigError if gem-index did not create the table
            if not self._noted(database):
                return
            for state in self._tables:
                self._remove(database, state)
            database.rows(f"DROP TABLE {self.quoted(self._notes)}")

    def close(self) -> None:
        """Close the connection."""
        database = self.opened()
        if database is not None:
            database.close()

    def _read(self, state: str) -> Table | None:
        database = self.opened()
        if database is None:
            return None
        with database.transaction():
            return self._find(database, state)

    def _find(self, database: SqlDatabase, state: str) -> Table | None:
        """Return the live or the staged table; ConfigError if another table or view has its name."""
        values = (
            database.rows(
                f"SELECT key, value FROM {self.quoted(self._notes)} WHERE state = $1", [state]
            )
            if self._noted(database)
            else []
        )
        name, schema = self._tables[state], TargetSchema.from_strings(dict(values))
        kind, columns = self._entry(database, name)
        if not kind:
            return None
        # Users may add columns after the columns of gem-index.
        if schema is None or kind != "BASE TABLE" or columns[: len(_COLUMNS)] != _COLUMNS:
            raise foreign_table(name, database.name)
        return self.table(database, self.quoted(name), schema)

    def _add(self, database: SqlDatabase, state: str, schema: TargetSchema) -> Table:
        """Drop the earlier table of this state, create a table, and store the schema of the new table."""
        found = {each: self._find(database, each) for each in self._tables}
        if state == "live" and found["live"] is not None:
            raise existing_table(self._tables["live"], database.name)
        if not self._noted(database):
            database.rows(
                f"CREATE TABLE {self.quoted(self._notes)} (state VARCHAR, key VARCHAR, value VARCHAR)"
            )
        self._remove(database, state)
        table = self.table(database, self.quoted(self._tables[state]), schema)
        table.create()
        for key, value in schema.to_strings().items():
            database.rows(
                f"INSERT INTO {self.quoted(self._notes)} VALUES ($1, $2, $3)", [state, key, value]
            )
        return table

    def _remove(self, database: SqlDatabase, state: str) -> None:
        """Drop the live or the staged table, and its schema; :meth:`_find` has checked that gem-index created it."""
        database.rows(f"DROP TABLE IF EXISTS {self.quoted(self._tables[state])}")
        database.rows(f"DELETE FROM {self.quoted(self._notes)} WHERE state = $1", [state])

    def _noted(self, database: SqlDatabase) -> bool:
        """Tell whether the table of schemas exists; ConfigError if another table or view has its name."""
        kind, columns = self._entry(database, self._notes)
        if kind and (kind != "BASE TABLE" or columns != _NOTES):
            raise foreign_table(self._notes, database.name)
        return bool(kind)

    def _entry(self, database: SqlDatabase, name: str) -> tuple[str, list[str]]:
        """Return the type and the columns of a table or view; if there is none, both are empty."""
        kinds = database.rows(
            f"SELECT table_type FROM information_schema.tables WHERE {self.in_catalog}", [name]
        )
        if not kinds:
            return "", []
        columns = database.rows(
            f"SELECT column_name FROM information_schema.columns WHERE {self.in_catalog} "
            "ORDER BY ordinal_position",
            [name],
        )
        return str(kinds[0][0]), [str(column) for (column,) in columns]
