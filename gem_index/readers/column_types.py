"""Types of the columns of CSV and TSV files, whose values are texts."""

from __future__ import annotations

import datetime
import difflib
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from gem_index.errors import ConfigError, Message
from gem_index.errors.quoting import quoted
from gem_index.readers.fields import Fields
from gem_index.readers.lines import Record

__all__ = ["ColumnTypes", "TypeChoice", "type_of_texts"]

TypeChoice: TypeAlias = str | Mapping[str, str]
"""``text``, ``auto``, or a type for each column."""

_LIST = "list:"
_OTHERS = "*"
_ROWS = 1000
_CHARACTERS = 1 << 20
_LARGEST = 2**53  # above this, float64 cannot represent every integer, and readers of JSON differ
_DIGITS = 15  # digits that float64 represents

_NUMBER = re.compile(
    r"(?:0|-?[1-9][0-9]{0,15}|-?(?:0|[1-9][0-9]*)\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?"
)
# A longer integer is more often a phone number, a barcode or an account than a quantity; 1e5 may be a name.
_PLAIN = re.compile(r"(?:0|-?[1-9][0-9]{0,8}|-?(?:0|[1-9][0-9]{0,8})\.[0-9]+)")
_DATE = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"(?:[T ](?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:[.,][0-9]{1,9})?)?(?:Z|[+-][0-9]{2}:?[0-9]{2})?)?"
)


class ColumnTypes:
    """The types of columns, given by the user or decided from the first rows of a file.

    An empty cell of a column that is not text is left out: a filter treats a missing field as null. A value that does not
    fit its column's type stays text.

    Parameters
    ----------
    wanted : str or mapping
        ``text``: every column is text. ``auto``: a column is a number, a boolean or an ISO date if each of its values in the
        first 1,000 rows (or 1 MiB) is. A mapping names ``text``, ``number``, ``boolean``, ``date``, ``auto`` or
        ``list:SEPARATOR`` for columns; other columns are text, or have the type that it names for ``*``.
    always_text : collection of str
        The columns of id and text.

    Attributes
    ----------
    found : dict
        Type of each column for which a type was given or decided so far.

    Raises
    ------
    ConfigError
        If a type is none of these, or a column of id or text is given another type than text.
    """

    def __init__(self, wanted: TypeChoice, always_text: Collection[str]) -> None:
        named = {_OTHERS: wanted} if isinstance(wanted, str) else wanted
        if not isinstance(named, Mapping):
            raise ConfigError(
                f"types is {quoted(wanted)}; expected text, auto, or a type for each column"
            )
        for column, kind in named.items():
            _check_type(column, kind, always_text)
        self._others = named.get(_OTHERS, "text")
        self._always_text = frozenset(always_text)
        self._undecided = {column for column, kind in named.items() if kind == "auto"}
        self._named = [column for column in named if column != _OTHERS]
        self._columns: dict[str, None] = {}  # of all files, in their order
        self.found = {
            column: kind for column, kind in named.items() if column != _OTHERS and kind != "auto"
        }

    @property
    def kept(self) -> dict[str, str]:
        """Types of the columns that are not text."""
        return {column: kind for column, kind in self.found.items() if kind != "text"}

    def convert(
        self, records: Iterable[Record], misfits: Counter[str], *, check_names: bool = False
    ) -> Iterator[Record]:
        """Iterate over the records of a file with values of their types; count the values that do not fit by column.

        Parameters
        ----------
        records : iterable
        misfits : Counter
        check_names : bool
            Whether each column that was named has to be in this file or in one of those before.

        Raises
        ------
        ConfigError
            If one is in none of them.
        """
        rest = iter(records)
        first: list[Record] = []
        size = 0
        for record in rest:
            first.append(record)
            if not isinstance(record[1], Message):
                size += sum(map(len, record[1].values()))
            if len(first) == _ROWS or size >= _CHARACTERS:
                break
        good = [fields for _, fields in first if not isinstance(fields, Message)]
        self._decide(good)
        if good:
            self._columns.update(dict.fromkeys(good[0]))
            if check_names:
                self._check_names()
        convert = {column: _converter(kind) for column, kind in self.kept.items()}
        for part in (first, rest):
            for line, fields in part:
                if not isinstance(fields, Message) and convert:
                    yield line, _converted(fields, convert, misfits)
                else:
                    yield line, fields

    def _check_names(self) -> None:
        for column in self._named:
            if column in self._columns:
                continue
            near = difflib.get_close_matches(column[:200], self._columns, n=3, cutoff=0.5)
            if near:
                hint = f"did you mean {' or '.join(map(quoted, near))}?"
            else:
                hint = f"expected one of {', '.join(map(quoted, list(self._columns)[:8]))}"
            raise ConfigError(
                f"the types name a column {quoted(column)}, which no file has; {hint}"
            )

    def _decide(self, rows: list[Fields]) -> None:
        for column in rows[0] if rows else ():
            if column in self.found or column in self._always_text:
                continue
            if self._others == "auto" or column in self._undecided:
                self.found[column] = type_of_texts([row[column].strip() for row in rows])
            else:
                self.found[column] = self._others


def _check_type(column: object, kind: object, always_text: Collection[str]) -> None:
    known = ("text", "number", "boolean", "date", "auto")
    if (
        not isinstance(column, str)
        or not isinstance(kind, str)
        or (kind not in known and not (kind.startswith(_LIST) and kind != _LIST))
    ):
        raise ConfigError(
            f"the type of the column {quoted(column)} is {quoted(kind)}; expected {', '.join(known)} or list:SEPARATOR, "
            "such as list:;"
        )
    if column in always_text and kind not in ("text", "auto"):
        raise ConfigError(
            f"the type of the column {quoted(column)} is {quoted(kind)}; expected text, because it holds the id or the text"
        )


def type_of_texts(values: Sequence[str]) -> str:
    """Return the common type of all values that are not empty: ``number``, ``boolean``, ``date`` or ``text``."""
    present = [value for value in values if value]
    if not present:
        return "text"
    if all(_PLAIN.fullmatch(value) and _number(value) is not None for value in present):
        return "number"
    if all(_boolean(value) is not None for value in present):
        return "boolean"
    if all(_date(value) is not None for value in present):
        return "date"
    return "text"


def _converted(
    fields: Fields, convert: Mapping[str, Callable[[str], Any]], misfits: Counter[str]
) -> Fields:
    result: Fields = {}
    for column, text in fields.items():
        if column not in convert:
            result[column] = text
            continue
        stripped = text.strip()
        if not stripped:
            continue
        value = convert[column](stripped)
        if value is None:
            misfits[column] += 1
            value = text
        result[column] = value
    return result


def _converter(kind: str) -> Callable[[str], Any]:
    """Return the function from a text to a value, or to None if it does not fit."""
    if kind.startswith(_LIST):
        separator = kind.removeprefix(_LIST)
        return lambda text: [part.strip() for part in text.split(separator) if part.strip()]
    return {"number": _number, "boolean": _boolean, "date": _date}[kind]


def _number(text: str) -> int | float | None:
    if not _NUMBER.fullmatch(text):
        return None
    if text.lstrip("-").isdigit():
        whole = int(text)
        return whole if abs(whole) <= _LARGEST else None
    mantissa = re.split("[eE]", text)[0]
    if len(mantissa.replace(".", "").lstrip("-0")) > _DIGITS:
        return None
    value = float(text)
    return value if math.isfinite(value) else None


def _boolean(text: str) -> bool | None:
    return {"true": True, "false": False}.get(text.lower())


def _date(text: str) -> str | None:
    match = _DATE.fullmatch(text)
    if match is None:
        return None
    try:
        datetime.date.fromisoformat(match[1])
    except ValueError:
        return None
    return text
