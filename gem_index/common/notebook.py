"""Display of results in notebooks and interpreters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

__all__ = ["html_table", "shorten"]


def shorten(text: str, length: int) -> str:
    """Return the beginning of a text on one line, cut to ``length`` characters."""
    line = " ".join(text[: 4 * length].split())
    if len(line) <= length and len(text) <= 4 * length:
        return line
    return line[: length - 1] + "…"


def html_table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table as HTML; every cell is escaped."""
    head = "".join(f"<th>{escape(heading)}</th>" for heading in headings)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
