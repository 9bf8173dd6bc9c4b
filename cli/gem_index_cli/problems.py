"""Skipped records: the first of each kind are shown, all of them are written to a report."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from gem_index.errors import InputError, Message
from gem_index.errors.quoting import quoted_error, quoted_path
from gem_index_cli.advice import COMMANDS, message_of, problem_of

__all__ = ["ReadingLog"]

_SHOWN = 5
_KINDS = 50
_VALUES = re.compile(r"'[^']*'|\"[^\"]*\"|[0-9][0-9,.]*")


class ReadingLog:
    """Show skipped records and notes of reading on standard error.

    Parameters
    ----------
    report : Path, optional
        A file for all bad records as JSON lines.

    Raises
    ------
    InputError
        If the report cannot be written.
    """

    def __init__(self, report: Path | None) -> None:
        self._path = report
        self._file: IO[str] | None = None
        self._kinds: Counter[str] = Counter()
        self._examples: dict[str, str] = {}
        self._ended = False
        if report is not None:
            try:
                self._file = report.open("w", encoding="utf-8", buffering=1)
            except OSError as error:
                raise InputError(
                    f"cannot write {quoted_path(report)}: {quoted_error(error)}; expected a file for the report"
                ) from error

    @property
    def skipped(self) -> int:
        """How many bad records and files there were."""
        return self._kinds.total()

    def skip(self, problem: InputError) -> None:
        """Show or count a bad record or file, only the first time that it is read."""
        if self._ended:
            return
        told = problem_of(problem)
        if self._file is not None:
            row = {
                "source": getattr(problem, "source", None),
                "line": getattr(problem, "line", None),
                "problem": told,
            }
            self._file.write(json.dumps(row) + "\n")
        kind = _VALUES.sub("_", told)
        if kind not in self._kinds and len(self._kinds) >= _KINDS:
            kind = ""
        self._kinds[kind] += 1
        self._examples.setdefault(kind, told)
        if self._kinds[kind] <= _SHOWN:
            _say(f"Skipped: {message_of(problem)}")

    def note(self, notes: Sequence[Message]) -> None:
        """Show the notes of reading files of records."""
        if not self._ended:
            for note in notes:
                _say(f"Note: {note.told(COMMANDS)}")

    def end(self) -> None:
        """Print how many bad records were not shown, after all inputs were read; nothing after a second reading."""
        if self._ended:
            return
        self._ended = True
        for kind, count in self._kinds.items():
            if count > _SHOWN:
                _say(f"Skipped: … and {count - _SHOWN:,} more like it: {self._examples[kind]}")
        if self._file is not None:
            self._file.close()
            _say(f"Note: {self.skipped:,} bad records are reported in {quoted_path(self._path)}.")


def _say(line: str) -> None:
    print(line, file=sys.stderr)  # noqa: T201 - results go to standard output, this does not
