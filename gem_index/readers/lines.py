"""Lines of a file of records, and the arguments of every reader of records."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from gem_index.errors import Action, Advice, ConfigError, Message
from gem_index.errors.quoting import quoted
from gem_index.readers.fields import LINE, Fields
from gem_index.readers.parts import WHOLE, Part

__all__ = ["Record", "RecordFile", "TableForm", "lines_of"]

Record: TypeAlias = tuple[int, Fields | Message]  # line number, and its fields or the problem

_NO_QUOTE = "none"
_TAB = "tab"


@dataclass(frozen=True, kw_only=True)
class TableForm:
    """The form of a table, as far as the user gave it.

    Attributes
    ----------
    header : bool
        Whether the first row has the names of the columns.
    column_names : sequence of str, optional
        Names of the columns, instead of those of the header; without header and names they are ``column1``, ``column2`` …
    delimiter : str, optional
        The character between the fields of a CSV or TSV file, or ``tab``.
    quote : str, optional
        The character around the fields of a CSV or TSV file, or ``none``.
    table : str, optional
        The sheet of a spreadsheet, or the key of the list in a JSON object.

    Raises
    ------
    ConfigError
        If one of them is none of these, or two columns have the same name.
    """

    header: bool = True
    column_names: Sequence[str] | None = None
    delimiter: str | None = None
    quote: str | None = None
    table: str | None = None

    def __post_init__(self) -> None:
        for name, word in (("delimiter", _TAB), ("quote", _NO_QUOTE)):
            value = getattr(self, name)
            if value is not None and value != word and (len(value) != 1 or value in "\r\n\0"):
                raise ConfigError(
                    f"the {name} is {quoted(value)}; expected one character, or {word}"
                )
        columns = self.column_names
        if columns is None:
            return
        if isinstance(columns, str) or not columns or len(set(columns)) < len(columns):
            raise ConfigError(
                f"the names of the columns are {quoted(columns)}; expected a different name for each column"
            )

    @property
    def choices(self) -> dict[str, Any]:
        """The fields that differ from their defaults, as JSON values."""
        given: dict[str, Any] = {} if self.header else {"header": False}
        if self.column_names is not None:
            given["column_names"] = list(self.column_names)
        rest = {"delimiter": self.delimiter, "quote": self.quote, "table": self.table}
        return given | {name: value for name, value in rest.items() if value is not None}

    @property
    def separator(self) -> str | None:
        """The delimiter as a character; None if it was not given."""
        return "\t" if self.delimiter == _TAB else self.delimiter

    def quoting(self, default: str | None) -> str | None:
        """Return the quote as a character; None if nothing is quoted."""
        return default if self.quote is None else None if self.quote == _NO_QUOTE else self.quote


def _forget(_note: str) -> None: ...


@dataclass(frozen=True, kw_only=True)
class RecordFile:
    """An open file of records.

    Attributes
    ----------
    name : str
        As the user gave it, for messages.
    file : BufferedReader
        Unpacked; text is UTF-8, except bytes that are not text in the file's encoding.
    limit : int
        Maximum length of a record, in bytes.
    encoding : str
        The name of the encoding, for messages.
    part : Part
        Which part of the file to read.
    form : TableForm
        How its table is written.
    wanted : sequence of str
        The fields of the id and the text.
    note : callable
        Called with each thing that was recognised in the file.
    """

    name: str
    file: io.BufferedReader
    limit: int
    encoding: str = "UTF-8"
    part: Part = WHOLE
    form: TableForm = field(default_factory=TableForm)
    wanted: Sequence[str] = ("id", LINE)
    note: Callable[[str], None] = _forget


def lines_of(source: RecordFile) -> Iterator[tuple[int, str, Message | None]]:
    """Iterate over (line, text, problem) for each line of a part; text is empty if the line is too long.

    Zero bytes and bytes that are not UTF-8 are reported as a problem; the latter become lone surrogates in the text, so that
    the quotes and delimiters around them are still found.
    """
    file, limit, part, encoding = source.file, source.limit, source.part, source.encoding
    number, place = part.before, part.begin
    if place:
        file.seek(place)
    while (part.end is None or place < part.end) and (raw := file.readline(limit + 1)):
        number += 1
        place += len(raw)
        if len(raw) > limit:
            length = len(raw)
            while not raw.endswith(b"\n") and (raw := file.readline(1 << 20)):
                length += len(raw)
                place += len(raw)
            problem = Message(
                f"the line has {length} bytes; expected at most {limit}: "
                "split it, or raise GEM_INDEX_MAX_RECORD_BYTES"
            )
            yield number, "", problem
            continue
        codec = "utf-8-sig" if number == 1 else "utf-8"
        zero = raw.find(b"\0")
        if zero >= 0:
            problem = Message(
                f"byte {zero + 1} is zero, which text does not hold; expected {encoding} text",
                Advice(Action.NAME_ENCODING, {"encoding": "utf-16-le"}),
            )
            yield number, raw.decode(codec, "surrogateescape"), problem
            continue
        try:
            yield number, raw.decode(codec), None
        except UnicodeDecodeError as error:
            problem = Message(
                f"byte {error.start + 1} is not {encoding}; expected {encoding} text",
                Advice(Action.NAME_ENCODING, {"encoding": "auto"}),
            )
            yield number, raw.decode(codec, "surrogateescape"), problem
