"""Parse JSON of unknown origin with bounded nesting, digits and size; all code that reads foreign JSON uses this."""

from __future__ import annotations

import functools
import json
import math
import re
from pathlib import Path
from typing import Any, Never

from gem_index.errors import InputError
from gem_index.errors.quoting import quoted

__all__ = ["JsonError", "nesting", "parse_json", "read_json", "read_json_file"]

MAX_DEPTH = 100
MAX_DIGITS = 4_300
MAX_BYTES = 1 << 28

_BOM = "\ufeff"
_ESCAPES = re.compile(r"\\.", re.DOTALL)
_STRINGS = re.compile(r'"[^"]*"?')  # the last one may be unterminated
_BRACKETS = re.compile(r"[\[\]{}]")


class JsonError(ValueError):
    """The problem with a refused JSON text; ``<place> <problem>`` is a complete message."""


def read_json(
    text: str | bytes | bytearray,
    place: str,
    *,
    finite: bool = True,
    unique: bool = False,
    error: type[InputError] = InputError,
) -> Any:
    """Parse JSON of unknown origin.

    Parameters
    ----------
    text : str or bytes
        Bytes are UTF-8, with or without a byte order mark. As in ``json``, an escaped lone surrogate is kept, and the last
        value of a repeated key counts.
    place : str
        The name of the input in messages: a file, or a part of one.
    finite : bool
        Refuse NaN, Infinity and numbers beyond float64, which are not JSON.
    unique : bool
        Refuse a repeated key in an object; for input that other programs read too, where the first value may count.
    error : type
        The error to raise.

    Raises
    ------
    InputError
        If it is not JSON, is nested deeper than 100 levels, holds an integer of more than 4,300 digits, or has more than
        256 MiB. Time and memory are proportional to the text.
    """
    try:
        return parse_json(text, finite=finite, unique=unique)
    except JsonError as problem:
        raise error(f"{place} {problem}") from problem


def read_json_file(
    path: Path,
    *,
    finite: bool = True,
    unique: bool = False,
    error: type[InputError] = InputError,
) -> Any:
    """Parse a JSON file of unknown origin, see :func:`read_json`; a file that is too large is not read.

    Raises
    ------
    OSError
        If the file cannot be read; the caller decides whether that is an error.
    """
    with path.open("rb") as file:
        text = file.read(MAX_BYTES + 1)
    return read_json(text, str(path), finite=finite, unique=unique, error=error)


def parse_json(text: str | bytes | bytearray, *, finite: bool = True, unique: bool = False) -> Any:
    """Parse JSON like :func:`read_json`, for callers that write their own message.

    Raises
    ------
    JsonError
        If the text is refused; the message holds what was found and expected, without the place.
    """
    if len(text) > MAX_BYTES:
        raise JsonError(f"has more than {MAX_BYTES:,} bytes of JSON; expected at most that many")
    if not isinstance(text, str):
        try:
            text = text.decode()
        except UnicodeDecodeError as error:
            raise JsonError(
                f"is not UTF-8 at byte {error.start + 1}; expected JSON in UTF-8"
            ) from error
        text = text.removeprefix(_BOM)
    if nesting(text) > MAX_DEPTH:
        raise JsonError(f"is nested deeper than {MAX_DEPTH} levels; expected fewer")
    try:
        return _decoder(finite, unique).decode(text)
    except json.JSONDecodeError as error:
        where = f"column {error.colno}"
        if "\n" in text.strip():
            where = f"line {error.lineno} {where}"
        raise JsonError(f"is not JSON at {where} ({error.msg}); expected JSON") from error


def nesting(text: str) -> int:
    """Return the maximum nesting depth of brackets, or 0 if there are few brackets.

    After a syntax error the counted depth may be too large.
    """
    if text.count("[") + text.count("{") <= MAX_DEPTH // 2:
        return 0
    depth = deepest = 0
    for bracket in _BRACKETS.findall(_STRINGS.sub("", _ESCAPES.sub("", text))):
        depth += 1 if bracket in "[{" else -1
        deepest = max(deepest, depth)
    return deepest


def _integer(digits: str) -> int:
    count = len(digits.removeprefix("-"))
    try:
        if count <= MAX_DIGITS:
            return int(digits)
    except ValueError:
        pass  # the interpreter is set to a lower limit
    raise JsonError(f"holds an integer of {count} digits; expected at most {MAX_DIGITS:,}")


def _finite(number: str) -> float:
    value = float(number)
    if not math.isfinite(value):
        raise JsonError(f"holds the number {quoted(number, 30)}; expected one within float64")
    return value


def _refuse_constant(name: str) -> Never:
    raise JsonError(f"holds {name}, which is not JSON; expected a finite number or null")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        again = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise JsonError(f"holds the key {quoted(again)} twice in one object; expected it once")
    return found


@functools.cache
def _decoder(finite: bool, unique: bool) -> json.JSONDecoder:
    return json.JSONDecoder(
        parse_int=_integer,
        parse_float=_finite if finite else None,
        parse_constant=_refuse_constant if finite else None,
        object_pairs_hook=_object if unique else None,
    )
