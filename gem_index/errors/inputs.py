"""Errors of a user's input: records, files, queries, word vectors; and of an extra that is not installed."""

from __future__ import annotations

from collections.abc import Sequence

from gem_index.errors.advice import Action, Advice, Message
from gem_index.errors.base import GemIndexError, InputError
from gem_index.errors.installing import install_line
from gem_index.errors.quoting import quoted, quoted_path

__all__ = [
    "DownloadError",
    "EmptyTextError",
    "FilterError",
    "MissingExtraError",
    "MissingFieldError",
    "RecordError",
    "UnreadableFileError",
    "VectorFormatError",
]


_SHOWN = 30  # fields


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


class MissingFieldError(RecordError):
    """The records of an input have no field of the text, or not the named field of the id.

    Parameters
    ----------
    source : str
        The file.
    line : int
        Of the first record.
    wanted : str
        The missing field.
    found : sequence of str
        A description of each field: its name, type and a sample.
    id_field : str, optional
        The field of the id, if it is clear.
    text_fields : sequence of str
        The fields of the text with their weights, if they are clear.
    """

    def __init__(
        self,
        source: str,
        line: int,
        wanted: str,
        found: Sequence[str],
        id_field: str | None,
        text_fields: Sequence[str],
    ) -> None:
        shown = ", ".join(found[:_SHOWN]) or "nothing"
        more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        text = list(text_fields) or ["…"]
        arguments = f"text={text[0]!r}" if len(text) == 1 else f"text={text!r}"
        if id_field is not None:
            arguments = f"id={id_field!r}, {arguments}"
        problem = Message(
            f"no field {quoted(wanted)}, found {shown}{more}; expected the fields of id and text",
            Advice(Action.NAME_FIELDS, {"arguments": arguments}),
        )
        super().__init__(source, line, problem)
        self.wanted = wanted
        self.id_field = id_field
        self.text_fields = tuple(text_fields)


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
        advice = Advice(Action.INSTALL, {"line": install_line(f"gem-index[{extra}]")})
        super().__init__(f"{feature} needs the optional extra {extra!r}", advice)
        self.feature = feature
        self.extra = extra
