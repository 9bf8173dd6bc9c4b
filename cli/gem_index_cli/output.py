"""Lines, tables and documents for people, and JSON for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, is_dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from gem_index import Document
    from gem_index.evaluate.tables import Evaluation
    from gem_index.results import CollectionStatus

__all__ = [
    "in_units",
    "json_line",
    "print_document",
    "print_evaluation",
    "print_json",
    "print_json_lines",
    "print_table",
    "say",
    "tell_void_calibration",
    "visible",
]

_LEAST = 24  # characters; a column of longer texts may be broken to that


def print_json(value: Any) -> None:
    """Print a value, or dataclass, as one line of JSON."""
    sys.stdout.write(json_line(value))


def json_line(value: Any) -> str:
    """Return a value, or dataclass, as one line of JSON with its end."""
    if isinstance(value, list):
        value = [_plain(item) for item in value]
    return json.dumps(_plain(value), ensure_ascii=False, allow_nan=False) + "\n"


def print_json_lines(values: Iterable[Any]) -> None:
    """Print each value, or dataclass, as one line of JSON."""
    for value in values:
        print_json(value)


def _plain(value: Any) -> Any:
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value


def visible(text: str) -> str:
    """Return a text without control characters, which would move the cursor or colour the terminal: they are escaped."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def in_units(count: int) -> str:
    """Return a number of bytes in bytes, kB, MB or GB, with at most three digits before the unit."""
    value, units = float(count), ["B", "kB", "MB", "GB"]
    while value >= 999.5 and len(units) > 1:
        value /= 1000
        del units[0]
    return f"{value:.0f} {units[0]}"


def say(line: str = "") -> None:
    """Print a line of plain text."""
    sys.stdout.write(line + "\n")


def tell_void_calibration(status: CollectionStatus) -> None:
    """Print a note if the calibration of a collection belongs to another model."""
    if status.calibration == "void":
        say(
            f"The calibration of {status.name} is void, because the model, the chunking or the language changed. Run: "
            f"gem-index calibrate {status.name}"
        )


def print_table(
    headings: Sequence[str],
    rows: Iterable[Sequence[object]],
    title: str = "",
) -> None:
    """Print a table; headings that begin with '>' are right-aligned.

    The first column is never broken, because users copy names from it. Columns without room beside it are in a second table
    below, with the first column again. If names leave no room for any column, each row is a list.
    """
    from rich.console import Console
    from rich.measure import Measurement

    cells = [[_cell(cell) for cell in row] for row in rows]
    console = Console(file=sys.stdout)
    shown = [0]
    left = list(range(1, len(headings)))

    def least(columns: list[int]) -> int:
        table = _table(headings, cells, columns, title)
        return Measurement.get(console, console.options.update(max_width=5000), table).minimum

    if any(least([0, column]) > console.width for column in left):
        for row in cells:  # names so long that nothing fits beside them
            say(str(row[0]))
            for column in left:
                say(f"  {headings[column].removeprefix('>')}: {row[column]}")
        return
    while True:
        taken = [left.pop(0)] if left else []
        while left:
            if least([*shown, *taken, left[0]]) > console.width:
                break
            taken.append(left.pop(0))
        console.print(_table(headings, cells, [*shown, *taken], title))
        if not left:
            return
        title = ""


def _cell(value: object) -> Text:
    from rich.text import Text

    return value if isinstance(value, Text) else Text(visible(str(value)))


def _table(
    headings: Sequence[str], cells: list[list[Text]], columns: list[int], title: str
) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(title=title or None, box=SIMPLE_HEAD, title_justify="left")
    for column in columns:
        heading = headings[column]
        name = heading.removeprefix(">")
        width = max([len(name), *(row[column].cell_len for row in cells)])
        if name != heading:
            table.add_column(name, justify="right", no_wrap=True, min_width=width)
        elif column == 0:
            table.add_column(name, no_wrap=True, min_width=width)
        else:
            table.add_column(name, overflow="fold", min_width=min(width, _LEAST))
    for row in cells:
        table.add_row(*(row[column] for column in columns))
    return table


def print_document(document: Document) -> None:
    """Print a document: its id, its metadata with one field per line, and its text."""
    say(visible(document.id))
    for name, value in document.metadata.items():
        say(f"  {visible(name)}: {visible(json.dumps(value, ensure_ascii=False))}")
    say()
    for line in str(document.text).splitlines():
        say(visible(line.expandtabs()))


def print_evaluation(
    found: Evaluation, head: dict[str, Any], as_json: bool, markdown: bool
) -> None:
    """Print the tables of an evaluation, or one JSON object."""
    if as_json:
        print_json(found.json | head)
        return
    for table in found.tables:
        if markdown:
            say(table.markdown() + "\n")
        else:
            print_table(table.headings, table.cells(), table.title)
