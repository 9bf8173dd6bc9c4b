"""Tables of results, with the same rows for a terminal and for Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Evaluation", "Table"]


@dataclass(frozen=True)
class Table:
    """Rows under headings; a heading that begins with ``>`` is right-aligned. Floats are shown with ``digits`` decimals."""

    title: str
    headings: tuple[str, ...]
    rows: Sequence[Sequence[object]]
    digits: int = 2
    note: str = ""

    def cells(self) -> list[list[str]]:
        """Return the rows as text; None becomes a dash."""
        return [[self._text(cell) for cell in row] for row in self.rows]

    def _text(self, cell: object) -> str:
        if cell is None:
            return "-"
        return f"{cell:.{self.digits}f}" if isinstance(cell, float) else str(cell)

    def markdown(self) -> str:
        """Return the table in Markdown, under its title."""
        names = [heading.removeprefix(">") for heading in self.headings]
        rules = ["---:" if heading.startswith(">") else "---" for heading in self.headings]
        lines = [" | ".join(cells).join(("| ", " |")) for cells in (names, rules, *self.cells())]
        return "\n".join([f"**{self.title}**", "", *lines, *(["", self.note] if self.note else [])])


@dataclass(frozen=True)
class Evaluation:
    """The result of an evaluation: JSON for programs, tables for people."""

    json: dict[str, Any]
    tables: list[Table] = field(default_factory=list)
