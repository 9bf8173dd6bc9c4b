"""Errors of what a user gives: records, files, queries, word vectors; and of an extra that is not installed."""

from __future__ import annotations

from gem_index.advice import Message
from gem_index.errors.base import GemIndexError, InputError
from gem_index.quoting import quoted, quoted_path

__all__ = [
    "DownloadError",
    "EmptyTextError",
    "FilterError",
    "MissingExtraError",
    "RecordError",
    "UnreadableFileError",
    "VectorFormatError",
]


class RecordError(InputError):
    """One record of an input is wrong.

    Parameters
    ----------
    source : str
        The file, as the user named it (``-`` for standard input).
    line : int
        The 1-based line or row.
    problem : str or Message
        What was found, what was expected, what to do.
    """

    def __init__(self, source: str, line: int, problem: str | Message) -> None:
        name = "standard input" if source == "-" else source
        super().__init__(f"{name} line {line}: {problem}")
        self.source = source
        self.line = line
        self.problem = str(problem)
        self.advice = problem.advice if isinstance(problem, Message) else None

    def moved(self, source: str, line: int) -> RecordError:
        """Return the same problem at another place."""
        found = RecordError(source, line, self.problem)
        found.advice = self.advice
        return found


class UnreadableFileError(InputError):
    """One file of a folder cannot be read.

    Parameters
    ----------
    source : str
        The file.
    problem : str
        What was found, what was expected, what to do.
    """

    def __init__(self, source: str, problem: str) -> None:
        super().__init__(f"{quoted_path(source)} was not read: {problem}")
        self.source = source
        self.problem = problem


class EmptyTextError(InputError):
    """A query holds no word and cannot be compared with anything."""

    def __init__(self, text: str) -> None:
        super().__init__(
            f"the query {quoted(text, 40)} holds no word; expected at least one letter or digit to search for"
        )
        self.text = text


class FilterError(InputError):
    """A ``where`` filter is not of the documented form."""


class VectorFormatError(InputError):
    """A file or folder of word vectors is damaged or of another format."""


class DownloadError(GemIndexError):
    """A server sent an error, or not the expected file; a partial file is kept unless it is wrong."""


class MissingExtraError(InputError):
    """An optional dependency is needed and not installed."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(
            f"{feature} needs the optional extra {extra!r}: pip install 'gem-index[{extra}]'"
        )
        self.feature = feature
        self.extra = extra
