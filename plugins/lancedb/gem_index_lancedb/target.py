"""A table of LanceDB as a target.

Readers open the table ``faq``. A push that replaces all vectors fills ``faq__staged``. LanceDB cannot rename a table, but it
can overwrite one: the rows of ``faq__staged`` become the next version of ``faq``, which readers see whole or not at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gem_index.errors import ConfigError
from gem_index.targets import (
    WORD_DIMENSIONS,
    TableTarget,
    TargetSchema,
    TargetUrl,
    columns_of_rows,
    integers_are_short,
    integers_within,
    local_path,
)
from gem_index_lancedb.database import Database
from gem_index_lancedb.table import LanceDbTable, arrow_schema, read_schema

__all__ = ["LanceDbTarget"]

_PAGE = 1000
_INTEGERS = range(-(2**63), 2**63)


class LanceDbTarget(TableTarget[LanceDbTable]):
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

    word_dimensions = WORD_DIMENSIONS

    def __init__(self, url: TargetUrl) -> None:
        url.check_options("table")
        name = url.option("table")
        if not re.fullmatch(r"[A-Za-z0-9_-]{1,200}", name):
            raise ConfigError(
                f"found the table name {name!r:.80}; expected up to 200 letters, digits, hyphens and underscores; "
                "choose another name"
            )
        super().__init__(url, {"live": name, "staged": f"{name}__staged"})
        self._database = Database(local_path(url, "lancedb:///FOLDER?table=NAME"))

    def unsupported(self, metadata: Mapping[str, Any]) -> list[str]:
        """Return the fields with whole numbers of more than 64 bits: LanceDB stores those as floats."""
        return [name for name, value in metadata.items() if not integers_within(value, _INTEGERS)]

    def stores_json(self, texts: Sequence[str]) -> bool:
        """Tell whether it is certain that no integer has more than 64 bits."""
        return integers_are_short(texts)

    def switch(self) -> None:
        """Overwrite the live table with the staged one, as one new version, and drop the staged one."""
        _, staged = self.both()
        with self._database.errors():
            self._database.connection().create_table(
                self.names["live"],
                data=staged.reader(),
                schema=arrow_schema(staged.schema),
                mode="overwrite",
                on_bad_vectors="null",
            )
        self.remove("staged")

    def close(self) -> None:
        """Do nothing: LanceDB keeps no file open."""

    def find(self, state: str) -> LanceDbTable | None:
        """Return the live or the staged table; raise ConfigError if its name is in use for something else."""
        name = self.names[state]
        table = self._database.open(name)
        if table is None:
            return None
        with self._database.errors():
            columns = table.schema
        schema = read_schema(columns)
        if schema is None or columns.names != arrow_schema(schema).names:
            raise self.foreign(name)
        return LanceDbTable(self._database, table, schema)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Iterate over the rows of one version of a table that another program made."""
        table = self._database.open(self.names["live"])
        with self._database.errors():
            rows = table.search().select(columns_of_rows(table.schema))
            for batch in rows.limit(max(1, table.count_rows())).to_batches(_PAGE):
                yield from batch.to_pylist()

    def add(self, state: str, schema: TargetSchema) -> LanceDbTable:
        """Create an empty table."""
        with self._database.errors():
            table = self._database.connection().create_table(
                self.names[state], schema=arrow_schema(schema)
            )
        return LanceDbTable(self._database, table, schema)

    def remove(self, state: str) -> None:
        """Drop a table of gem-index, if it exists."""
        if self.find(state) is not None:
            with self._database.errors():
                self._database.connection().drop_table(self.names[state])
