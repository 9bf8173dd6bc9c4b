"""Results for people (tables, bars) and for programs (JSON)."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, is_dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from gem_index import Explanation
    from gem_index.evaluate.tables import Evaluation

__all__ = [
    "print_evaluation",
    "print_explanation",
    "print_json",
    "print_json_lines",
    "print_results",
    "print_table",
    "say",
    "visible",
]

_BAR = 10  # characters of the longest bar
_LONGEST_ID = 28  # of those that stand beside their text
_LEAST = 24  # characters; a column of longer texts may be broken to that
_VISIBLE = 0.0005  # a weight that prints as 0.000 gets no bar


def print_json(value: Any) -> None:
    """Print a value, or dataclass, as one line of JSON."""
    if isinstance(value, list):
        value = [_plain(item) for item in value]
    sys.stdout.write(json.dumps(_plain(value), ensure_ascii=False, allow_nan=False) + "\n")


def print_json_lines(values: Iterable[Any]) -> None:
    """Print each value, or dataclass, as a line of JSON."""
    for value in values:
        print_json(value)


def _plain(value: Any) -> Any:
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value


def visible(text: str) -> str:
    """Return a text without control characters, which would move the cursor or colour the terminal: they are escaped."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def say(line: str = "") -> None:
    """Print a line of plain text."""
    sys.stdout.write(line + "\n")


def print_table(
    headings: Sequence[str],
    rows: Iterable[Sequence[object]],
    title: str = "",
) -> None:
    """Print a table; headings that begin with '>' are right-aligned.

    The first column is never broken: names are copied from it. Columns for which there is no room beside it come in a table
    of their own below, with the first one again; where names leave no room for any, a row is a list.
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


def print_results(results: Sequence[Any], title: str = "") -> None:
    """Print found or re-ranked documents: place, score, id and the beginning of the text.

    An id is never broken: a long one has a line of its own.
    """
    import shutil

    from rich.cells import cell_len, set_cell_size

    if title:
        say(visible(title))
    if not results:
        say("Nothing was found.")
        return
    width = shutil.get_terminal_size().columns
    ids = [visible(str(result.id or "")) for result in results]
    column = max((cell_len(name) for name in ids if cell_len(name) <= _LONGEST_ID), default=0)
    for place, (name, result) in enumerate(zip(ids, results, strict=True), 1):
        begin = f"{place:>3}  {result.score:6.3f}  "
        if cell_len(name) > _LONGEST_ID:
            say(begin + name)
            begin = " " * len(begin)
        elif column:
            begin += set_cell_size(name, column) + "  "
        say(begin + _shortened(result.text, max(20, width - cell_len(begin))))


def print_explanation(explanation: Explanation) -> None:
    """Print each word with its three weights as bars."""
    from rich.text import Text

    if not explanation.words:
        say("No words: the vector is zero.")
        return
    parts = ("alpha_n", "alpha_s", "alpha_u")
    tops = {part: max(getattr(word, part) for word in explanation.words) for part in parts}
    rows = []
    for word in explanation.words:
        cells: list[object] = [word.token if word.known else f"{word.token} (unknown)"]
        for part in parts:
            value = getattr(word, part)
            bar = "█" * round(_BAR * value / tops[part]) if tops[part] >= _VISIBLE else ""
            cells.append(Text(f"{value:.3f} {bar:<{_BAR}}", no_wrap=True))
        rows.append((*cells, f"{word.alpha:.3f}"))
    headings = ("word", "novelty", "significance", "uniqueness", ">weight")
    print_table(headings, rows)


def _shortened(text: str, width: int) -> str:
    """Return the beginning of a text on one line, cut to ``width`` terminal columns."""
    from rich.cells import cell_len, set_cell_size

    line = visible(" ".join(text[: 4 * width].split()))
    if cell_len(line) <= width and len(text) <= 4 * width:
        return line
    return set_cell_size(line, width - 1).rstrip() + "…"


def print_evaluation(
    found: Evaluation, head: dict[str, Any], as_json: bool, markdown: bool
) -> None:
    """Print an evaluation's tables, or one object with what was evaluated."""
    if as_json:
        print_json(found.json | head)
        return
    for table in found.tables:
        if markdown:
            say(table.markdown() + "\n")
        else:
            print_table(table.headings, table.cells(), table.title)
