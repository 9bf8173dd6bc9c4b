"""A table of LanceDB as a target.

Readers open the table ``faq``. A push that replaces all vectors fills ``faq__staged``. LanceDB cannot rename a table, but it
can overwrite one: the rows of ``faq__staged`` become the next version of ``faq``, which readers see whole or not at all.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gem_index.errors import ConfigError
from gem_index.targets import TargetSchema, TargetUrl, integers_are_short, integers_within
from gem_index_lancedb.database import Database
from gem_index_lancedb.table import LanceDbTable, arrow_schema, read_schema

__all__ = ["LanceDbTarget"]

_INTEGERS = range(-(2**63), 2**63)


class LanceDbTarget:
    """A live table and perhaps a staged one.

    Parameters
    ----------
    url : TargetUrl
        ``lancedb:///folder?table=faq``.

    Raises
    ------
    ConfigError
        If the table's name is missing or unsuitable, or the folder's parent does not exist.
    """

    def __init__(self, url: TargetUrl) -> None:
        self.url = url
        url.check_options("table")
        name = url.option("table")
        if not re.fullmatch(r"[A-Za-z0-9_-]{1,200}", name):
            raise ConfigError(
                f"found the table name {name!r:.80}; expected up to 200 letters, digits, hyphens and underscores; "
                "choose another name"
            )
        if url.host or url.user:
            raise ConfigError(
                f"found a host in the target {url}; expected lancedb:///FOLDER?table=NAME; "
                "write three slashes and the folder's full path"
            )
        path = Path(url.path)
        if not path.parent.is_dir():
            raise ConfigError(
                f"found no folder {str(path.parent)!r:.200}; expected the folder that holds LanceDB's folder; create it"
            )
        self._names = {"live": name, "staged": f"{name}__staged"}
        self._database = Database(path)

    def unsupported(self, metadata: Mapping[str, Any]) -> list[str]:
        """Return the fields with whole numbers of more than 64 bits: LanceDB stores those as floats."""
        return [name for name, value in metadata.items() if not integers_within(value, _INTEGERS)]

    def stores_json(self, texts: Sequence[str]) -> bool:
        """Tell whether there is no whole number of more than 64 bits for certain."""
        return integers_are_short(texts)

    def live(self) -> LanceDbTable | None:
        """Return the table that readers see."""
        return self._find("live")

    def staged(self) -> LanceDbTable | None:
        """Return the staged table."""
        return self._find("staged")

    def create(self, schema: TargetSchema) -> LanceDbTable:
        """Create an empty live table."""
        if self._find("live") is not None:
            raise ConfigError(
                f"found the table {self._names['live']} in {self._database.path}; expected none; "
                "drop it before it is created"
            )
        return self._add("live", schema)

    def stage(self, schema: TargetSchema) -> LanceDbTable:
        """Create an empty staged table."""
        self._find("live")
        self._remove("staged")
        return self._add("staged", schema)

    def switch(self) -> None:
        """Overwrite the live table with the staged one, as one new version, and drop the staged one."""
        self._find("live")
        staged = self._find("staged")
        if staged is None:
            raise ConfigError(
                f"found no table {self._names['staged']} in {self._database.path}; expected one; push in full again"
            )
        with self._database.errors():
            self._database.connection().create_table(
                self._names["live"],
                data=staged.reader(),
                schema=arrow_schema(staged.schema),
                mode="overwrite",
                on_bad_vectors="null",
            )
        self._remove("staged")

    def drop(self) -> None:
        """Drop both tables."""
        for state in self._names:
            self._find(state)
        for state in self._names:
            self._remove(state)

    def close(self) -> None:
        """Do nothing: LanceDB keeps no file open."""

    def _find(self, state: str) -> LanceDbTable | None:
        """Return the live or the staged table; raise ConfigError if its name is in use for something else."""
        name = self._names[state]
        table = self._database.open(name)
        if table is None:
            return None
        with self._database.errors():
            columns = table.schema
        schema = read_schema(columns)
        if schema is None or columns.names != arrow_schema(schema).names:
            raise ConfigError(
                f"found the table {name} in {self._database.path}, which gem-index did not create; "
                "expected an unused name; choose another name in ?table="
            )
        return LanceDbTable(self._database, table, schema)

    def _add(self, state: str, schema: TargetSchema) -> LanceDbTable:
        with self._database.errors():
            table = self._database.connection().create_table(
                self._names[state], schema=arrow_schema(schema)
            )
        return LanceDbTable(self._database, table, schema)

    def _remove(self, state: str) -> None:
        """Drop a table of gem-index, if it exists."""
        if self._find(state) is not None:
            with self._database.errors():
                self._database.connection().drop_table(self._names[state])
