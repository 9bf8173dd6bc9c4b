"""A table in a SQLite file as a target, and the views by which readers see it.

sqlite-vec's tables cannot be renamed. So each push that replaces all vectors fills a generation of its own, such as
``faq_gem_2`` with ``faq_gem_2_vectors`` and ``faq_gem_2_words``. The views ``faq``, ``faq_vectors`` and ``faq_words`` show
the live one, and one transaction creates them again. ``faq_gem`` names both generations, with the values of their schemas.
"""

# ruff: noqa: S608 - names are checked and quoted, values are parameters

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gem_index.errors import ConfigError
from gem_index.targets import (
    WORD_DIMENSIONS,
    TargetSchema,
    TargetUrl,
    existing_table,
    foreign_table,
    local_path,
    missing_staged_table,
)
from gem_index_sqlite_vec.database import Database
from gem_index_sqlite_vec.table import SqliteVecTable

__all__ = ["SqliteVecTarget"]

_NOTES = ["state", "key", "value"]
_GENERATION = "generation"


class SqliteVecTarget:
    """A live table and perhaps a staged one.

    Parameters
    ----------
    url : TargetUrl
        ``sqlite-vec:///folder/file.sqlite?table=faq``.

    Raises
    ------
    ConfigError
        If the table's name is missing or unsuitable, the file's folder does not exist, or the file is not a SQLite
        database.
    """

    word_dimensions = WORD_DIMENSIONS

    def __init__(self, url: TargetUrl) -> None:
        self.url = url
        url.check_options("table")
        self._name = url.option("table")
        if not re.fullmatch(r"[A-Za-z0-9_]+", self._name) or self._name.lower().startswith(
            "sqlite_"
        ):
            raise ConfigError(
                f"found the table name {self._name!r:.80}; expected letters, digits and underscores, "
                "and no sqlite_ at the beginning; choose another name"
            )
        self._path = local_path(url, "sqlite-vec:///FOLDER/FILE?table=NAME")
        self._notes = f'"{self._name}_gem"'
        # A dry run does not create the file.
        self._opened = Database(self._path) if self._path.exists() else None

    def unsupported(self, metadata: Mapping[str, Any]) -> list[str]:
        """Return nothing: metadata is stored as JSON."""
        return []

    def stores_json(self, texts: Sequence[str]) -> bool:
        """Return True: metadata is stored as JSON."""
        return True

    def live(self) -> SqliteVecTable | None:
        """Return the table that readers see."""
        if self._opened is None:
            return None
        with self._opened.transaction(write=False):
            return self._find("live")

    def staged(self) -> SqliteVecTable | None:
        """Return the staged table."""
        if self._opened is None:
            return None
        with self._opened.transaction(write=False):
            return self._find("staged")

    def rows(self) -> Iterator[dict[str, Any]]:
        """Iterate over the rows of a table, virtual table or view that another program made; vectors are bytes."""
        database = self._database()
        columns = database.rows("SELECT name FROM pragma_table_info(?)", (self._name,))
        names = [name for (name,) in columns]
        for row in database.iterate(f'SELECT * FROM "{self._name}"') if names else ():
            fields = zip(names, row, strict=True)
            yield {name: value for name, value in fields if not isinstance(value, bytes)}

    def create(self, schema: TargetSchema) -> SqliteVecTable:
        """Create an empty live table."""
        with self._database().transaction():
            if self._find("live") is not None:
                raise existing_table(self._name, self._path)
            table = self._add("live", schema)
            self._show()
        return table

    def stage(self, schema: TargetSchema) -> SqliteVecTable:
        """Create an empty staged table."""
        with self._database().transaction():
            self._find("live")
            return self._add("staged", schema)

    def switch(self) -> None:
        """Let the views show the staged table, and drop the other, in one transaction."""
        database = self._database()
        with database.transaction():
            self._find("live")
            if self._find("staged") is None:
                raise missing_staged_table(self._name, self._path)
            self._remove("live")
            database.rows(f"UPDATE {self._notes} SET state = 'live' WHERE state = 'staged'")
            self._show()

    def drop(self) -> None:
        """Drop both tables, the views and the notes."""
        database = self._opened
        if database is None:
            return
        with database.transaction():
            self._find("live")
            if not self._noted():
                return
            self._remove("live")
            self._remove("staged")
            database.rows(f"DROP TABLE {self._notes}")

    def close(self) -> None:
        """Close the connection."""
        if self._opened is not None:
            self._opened.close()

    def _database(self) -> Database:
        """Return the open database; the file is created if it is missing."""
        if self._opened is None:
            self._opened = Database(self._path)
        if self._opened.rows("SELECT 1 FROM sqlite_master WHERE name = 'target_documents'"):
            raise ConfigError(
                f"found gem-index's own database {self._path}; expected another file; choose another name"
            )
        return self._opened

    def _find(self, state: str) -> SqliteVecTable | None:
        """Return the live or the staged table; raise ConfigError if a name is in use for something else."""
        noted = self._noted()
        values = dict(
            self._database().rows(f"SELECT key, value FROM {self._notes} WHERE state = ?", (state,))
            if noted
            else ()
        )
        generation = self._generation_name(values.get(_GENERATION, ""))
        schema = TargetSchema.from_strings(values)
        if state == "live":
            words = schema is not None and bool(schema.words)
            shown = [
                self._is_shown(view, source) for view, source in self._views(generation, words)
            ]
            if not all(shown):
                return None
        if schema is None or not self._entry(generation)[0]:
            return None
        return SqliteVecTable(self._database(), generation, schema)

    def _add(self, state: str, schema: TargetSchema) -> SqliteVecTable:
        """Create the tables of a generation instead of an earlier one, and record it in the notes."""
        database = self._database()
        if not self._noted():
            database.rows(
                f"CREATE TABLE {self._notes} (state TEXT, key TEXT, value TEXT, PRIMARY KEY (state, key))"
            )
        self._remove(state)
        used = database.rows(f"SELECT value FROM {self._notes} WHERE key = ?", (_GENERATION,))
        generation = 1 + max((int(value) for (value,) in used), default=0)
        name = self._generation_name(str(generation))
        for taken in (name, f"{name}_vectors", f"{name}_words"):
            if self._entry(taken)[0]:
                raise foreign_table(taken, self._path)
        table = SqliteVecTable(database, name, schema)
        table.create()
        for key, value in {**schema.to_strings(), _GENERATION: str(generation)}.items():
            database.rows(f"INSERT INTO {self._notes} VALUES (?, ?, ?)", (state, key, value))
        return table

    def _remove(self, state: str) -> None:
        """Drop the tables of a generation, its views and notes, as far as they exist."""
        database = self._database()
        if state == "live":
            for view, _ in self._views("", words=True):
                if f'"{self._generation_name("")}' in self._entry(view)[1]:
                    database.rows(f'DROP VIEW "{view}"')
        for (generation,) in database.rows(
            f"SELECT value FROM {self._notes} WHERE state = ? AND key = ?", (state, _GENERATION)
        ):
            name = self._generation_name(generation)
            for table in (f"{name}_words", f"{name}_vectors", name):
                database.rows(f'DROP TABLE IF EXISTS "{table}"')
        database.rows(f"DELETE FROM {self._notes} WHERE state = ?", (state,))

    def _show(self) -> None:
        """Create the views of the live generation."""
        database = self._database()
        values = dict(database.rows(f"SELECT key, value FROM {self._notes} WHERE state = 'live'"))
        name = self._generation_name(values[_GENERATION])
        schema = TargetSchema.from_strings(values)
        words = schema is not None and bool(schema.words)
        (documents, of_documents), (vectors, of_vectors), *of_words = self._views(name, words)
        database.rows(
            f'CREATE VIEW "{documents}" AS SELECT rowid, id, text, metadata FROM "{of_documents}"'
        )
        # "k" and "distance" are hidden columns of vec0: a nearest-neighbour query needs them.
        database.rows(
            f'CREATE VIEW "{vectors}" AS SELECT rowid, embedding, distance, k FROM "{of_vectors}"'
        )
        for view, source in of_words:
            if self._entry(view)[0]:
                raise foreign_table(view, self._path)
            database.rows(f'CREATE VIEW "{view}" AS SELECT term, document, value FROM "{source}"')

    def _views(self, generation: str, words: bool) -> list[tuple[str, str]]:
        """Return the names of the views, and the table of each."""
        endings = ("", "_vectors", "_words") if words else ("", "_vectors")
        return [(f"{self._name}{ending}", f"{generation}{ending}") for ending in endings]

    def _is_shown(self, view: str, source: str) -> bool:
        """Tell whether a view exists; raise ConfigError if its name is in use for something else."""
        kind, sql = self._entry(view)
        if kind and (kind != "view" or f'"{source}"' not in sql):
            raise foreign_table(view, self._path)
        return bool(kind)

    def _generation_name(self, generation: str) -> str:
        return f"{self._name}_gem_{generation}"

    def _noted(self) -> bool:
        """Tell whether there is a table of notes; raise ConfigError if something else has its name."""
        name = f"{self._name}_gem"
        if not self._entry(name)[0]:
            return False
        columns = self._database().rows("SELECT name FROM pragma_table_info(?)", (name,))
        if [column for (column,) in columns] != _NOTES:
            raise foreign_table(name, self._path)
        return True

    def _entry(self, name: str) -> tuple[str, str]:
        """Return the type and the definition of a table or view; empty if there is none."""
        rows = self._database().rows(
            "SELECT type, sql FROM sqlite_master WHERE name = ? COLLATE NOCASE", (name,)
        )
        return (rows[0][0], rows[0][1] or "") if rows else ("", "")
