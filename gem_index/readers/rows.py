"""The rows of a table of a database as documents: read like the records of a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from gem_index.errors import Message
from gem_index.errors.quoting import quoted, quoted_error
from gem_index.readers.lines import Record
from gem_index.readers.records import DocumentReader
from gem_index.readers.values import UNSUPPORTED, json_value

__all__ = ["RowReader"]


class RowReader(DocumentReader):
    """The rows of one table, each a document.

    Parameters
    ----------
    name : str
        What messages call the table.
    rows : callable
        Returns an iterator of the rows: values by the names of the columns, without vectors.
    **choices
        As for :class:`~gem_index.readers.DocumentReader`, as far as they are not about files.
    """

    def __init__(
        self, name: str, rows: Callable[[], Iterator[Mapping[str, Any]]], **choices: Any
    ) -> None:
        super().__init__([name], format="jsonl", **choices)
        self._rows = rows

    def read(self, name: str) -> Iterator[Record]:  # noqa: ARG002 - there is one table
        """Iterate over the numbers and values of the rows."""
        for number, row in enumerate(self._rows(), 1):
            yield number, _fields(row)


def _fields(row: Mapping[str, Any]) -> dict[str, Any] | Message:
    """Return the values of a row as JSON has them, or the problem with one."""
    fields: dict[str, Any] = {}
    for name, value in row.items():
        try:
            fields[name] = json_value(value)
        except UNSUPPORTED as error:
            return Message(
                f"the column {quoted(name)} has an unsupported value ({quoted_error(error)}); "
                "expected text, a number, a date or a list of these"
            )
    return fields
