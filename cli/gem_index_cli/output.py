"""Results for people (tables, bars) and for programs (JSON)."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, is_dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gem_index import Explanation
    from gem_index.evaluate.tables import Evaluation

__all__ = [
    "print_evaluation",
    "print_explanation",
    "print_json",
    "print_results",
    "print_table",
    "say",
]

_BAR = 10  # characters of the longest bar
_VISIBLE = 0.0005  # a weight that prints as 0.000 gets no bar


def print_json(value: Any) -> None:
    """Print a value, or dataclass, as one line of JSON."""
    if isinstance(value, list):
        value = [_plain(item) for item in value]
    sys.stdout.write(json.dumps(_plain(value), ensure_ascii=False, allow_nan=False) + "\n")


def _plain(value: Any) -> Any:
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value


def say(line: str = "") -> None:
    """Print a line of plain text."""
    sys.stdout.write(line + "\n")


def print_table(
    headings: Sequence[str],
    rows: Iterable[Sequence[object]],
    title: str = "",
    *,
    whole: bool = False,
) -> None:
    """Print a table; headings that begin with '>' are right-aligned; a whole one may be wider than the terminal."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.measure import Measurement
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title or None, box=SIMPLE_HEAD, title_justify="left")
    for heading in headings:
        if heading.startswith(">"):
            table.add_column(heading[1:], justify="right", no_wrap=True)
        else:
            table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Text) else Text(str(cell)) for cell in row))
    console = Console(file=sys.stdout)
    if whole:
        needed = Measurement.get(console, console.options.update(max_width=500), table).maximum
        console.width = max(console.width, needed)
    console.print(table)


def print_results(results: Iterable[Any], title: str = "") -> None:
    """Print found or re-ranked documents: score, id and the beginning of the text."""
    rows = [
        (place, f"{result.score:.3f}", result.id or "", _shortened(result.text))
        for place, result in enumerate(results, 1)
    ]
    print_table((">", ">score", "id", "text"), rows, title)


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


def _shortened(text: str, length: int = 160) -> str:
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1] + "…"


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
            print_table(table.headings, table.cells(), table.title, whole=True)
