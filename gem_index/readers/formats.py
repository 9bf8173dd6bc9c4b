"""The formats of files of records."""

from __future__ import annotations

import csv
import datetime
import decimal
import io
import ipaddress
import math
import re
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, Literal, TypeAlias

from gem_index.advice import Action, Advice, Message
from gem_index.errors import InputError, MissingExtraError, RecordError
from gem_index.files.inputs import open_input
from gem_index.json_input import JsonError, parse_json
from gem_index.quoting import quoted, quoted_error, quoted_path
from gem_index.readers.fields import LINE, Fields
from gem_index.readers.parts import WHOLE, Part

__all__ = [
    "FORMATS",
    "UNSUPPORTED",
    "Record",
    "json_value",
    "read_json_lines",
    "read_lines",
    "read_objects",
]

UNSUPPORTED = (ValueError, ArithmeticError, TypeError, LookupError)
"""Exceptions from converting a value of a table that JSON does not have."""

_LARGEST_FIELD = 2**31 - 1  # that the module csv takes on every platform

_QUOTED = re.compile(r'"[^"]*"')

Record: TypeAlias = tuple[int, Fields | Message]  # line number, and its fields or the problem


def read_json_lines(name: str, max_record_bytes: int) -> Iterator[tuple[int, Any]]:
    """Iterate over (line, value) of a file of JSON lines; ``-`` is standard input, blank lines are left out.

    Raises
    ------
    InputError
        If the file cannot be read; RecordError if a line is not JSON.
    """
    for line, text in read_lines(name, max_record_bytes):
        try:
            yield line, parse_json(text)
        except JsonError as error:
            raise RecordError(name, line, f"the line {error}") from error


def read_lines(name: str, max_record_bytes: int) -> Iterator[tuple[int, str]]:
    """Iterate over (line, text) of a file of UTF-8 lines; ``-`` is standard input, blank lines are left out.

    Raises
    ------
    InputError
        If the file cannot be read; RecordError if a line is too long or not UTF-8.
    """
    with open_input(name) as file:
        for line, text, problem in _lines(file, max_record_bytes):
            if problem is not None:
                raise RecordError(name, line, problem)
            if text.strip():
                yield line, text.strip()


def read_objects(name: str, max_record_bytes: int) -> Iterator[tuple[int, Fields]]:
    """Iterate over (line, object) of a file of JSON lines; ``-`` is standard input.

    Raises
    ------
    InputError
        If the file cannot be read; RecordError if a line is not a JSON object.
    """
    for line, value in read_json_lines(name, max_record_bytes):
        if not isinstance(value, dict):
            raise RecordError(
                name, line, f"found a JSON {type(value).__name__}; expected one JSON object a line"
            )
        yield line, value


def _lines(
    file: io.BufferedReader, limit: int, encoding: str = "UTF-8", part: Part = WHOLE
) -> Iterator[tuple[int, str, Message | None]]:
    """Yield (line, text, problem) for each line of a part; text is empty if the line is too long.

    Zero bytes and bytes that are not UTF-8 are reported as a problem; the latter become lone surrogates in the text, so that
    the quotes and delimiters around them are still found.
    """
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


def _read_text(
    _name: str, file: io.BufferedReader, limit: int, encoding: str, part: Part
) -> Iterator[Record]:
    for number, text, problem in _lines(file, limit, encoding, part):
        yield number, {LINE: text.strip()} if problem is None else problem


def _read_json_lines(
    _name: str, file: io.BufferedReader, limit: int, encoding: str, part: Part
) -> Iterator[Record]:
    for number, text, problem in _lines(file, limit, encoding, part):
        if problem is not None:
            yield number, problem
        elif text.strip():
            yield number, _json_object(text)


def _json_object(text: str) -> Fields | Message:
    try:
        value = parse_json(text.strip())
    except JsonError as error:
        return Message(f"the line {error}")
    if not isinstance(value, dict):
        return Message(f"found a JSON {type(value).__name__}; expected one JSON object a line")
    return value


def _read_separated(delimiters: str, quoting: Literal[0, 3]) -> Callable[..., Iterator[Record]]:
    """Return the reader of tables that are separated by the first of some characters that their header holds."""

    def read(
        name: str, file: io.BufferedReader, limit: int, encoding: str, _part: Part
    ) -> Iterator[Record]:
        problems: list[Message] = []
        last = 0

        def decoded() -> Iterator[str]:
            nonlocal last
            for last, text, problem in _lines(file, limit, encoding):
                if problem is not None:
                    if not text:
                        # The following rows depend on this line's quotes, so there is no safe place to continue.
                        raise RecordError(name, last, problem)
                    problems.append(problem)
                yield text

        # For the whole process, and never taken back: another thread may be reading by it.
        csv.field_size_limit(max(min(limit, _LARGEST_FIELD), csv.field_size_limit()))
        lines = decoded()
        before = list(_until_header(lines))
        found = _QUOTED.sub("", "".join(before))  # a name may hold any character
        delimiter = next((each for each in delimiters if each in found), delimiters[0])
        rows = csv.reader(chain(before, lines), delimiter=delimiter, quoting=quoting, strict=True)
        header: list[str] | None = None
        while True:
            try:
                row = next(rows, None)
            except csv.Error as error:
                problems.append(_row_problem(error))
                row = [""]
            problem = problems[0] if problems else None
            problems.clear()
            if row is None:
                return
            if not row:
                continue  # a blank line
            if header is None:
                if problem is not None:
                    raise RecordError(name, last, problem)  # all rows depend on it
                twice = _first_repeated(row)
                if twice is not None:
                    raise RecordError(
                        name,
                        last,
                        f"the header has several columns {quoted(twice)}; expected different names: rename one",
                    )
                header = row
            elif problem is not None:
                yield last, problem
            elif len(row) != len(header):
                yield (
                    last,
                    Message(f"found {len(row)} columns; expected {len(header)} as in the header"),
                )
            else:
                yield last, dict(zip(header, row, strict=True))

    return read


def _first_repeated(names: list[str]) -> str | None:
    """Return the first of some names that comes again later, except empty ones."""
    counts = Counter(names)
    return next((name for name in names if name and counts[name] > 1), None)


def _until_header(lines: Iterator[str]) -> Iterator[str]:
    """Take blank lines and the one after them."""
    for line in lines:
        yield line
        if line.strip():
            return


def _row_problem(error: csv.Error) -> Message:
    if "field limit" in str(error):
        return Message(
            f"a field has more than {csv.field_size_limit()} characters; expected at most that: split it, raise "
            "GEM_INDEX_MAX_RECORD_BYTES, or close its quotes"
        )
    return Message(
        f"not a table row ({error}); expected a header and quoted fields",
        Advice(Action.READ_AS_TSV),
    )


def _read_parquet(
    name: str, file: io.BufferedReader, _limit: int, _encoding: str, part: Part
) -> Iterator[Record]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise MissingExtraError("reading Parquet", "parquet") from error
    try:
        # Parquet is read from its end; a stream must be read completely first.
        table = pq.ParquetFile(file if file.seekable() else io.BytesIO(file.read()))
        row = part.before
        groups = range(table.num_row_groups)[part.begin : part.end]
        for batch in table.iter_batches(batch_size=4096, row_groups=groups):
            for place in range(batch.num_rows):
                row += 1
                yield row, _parquet_row(batch, place)
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        raise InputError(
            f"{quoted_path(name)} is not Parquet: {quoted_error(error)}; expected an undamaged Parquet file"
        ) from error


def _parquet_row(batch: Any, place: int) -> Fields | Message:
    """Return the fields of a row, or the problem with it."""
    fields: Fields = {}
    for key, column in zip(batch.schema.names, batch.columns, strict=True):
        try:
            fields[key] = json_value(column[place].as_py())
        except UNSUPPORTED as error:
            return Message(
                f"the field {quoted(key)} of type {column.type} has an unsupported value ({quoted_error(error)}); "
                "expected text, a number, a date or a list of these"
            )
    return fields


def json_value(value: object) -> object:
    """Convert a value of a table to a JSON value.

    Raises
    ------
    ValueError
        If JSON has no such value.
    """
    if hasattr(value, "tolist"):  # a value or an array of NumPy
        value = value.tolist()
    if isinstance(value, dict):
        return {key: json_value(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(part) for part in value]
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat() if value == value else None
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    if isinstance(value, uuid.UUID | _Address):
        return str(value)
    if isinstance(value, decimal.Decimal):
        if value.is_nan():
            return None
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None  # tables of numbers write missing values as NaN
    if type(value).__name__ == "NAType":  # of pandas
        return None
    if value is None or isinstance(value, str | bool | int | float):
        return value
    raise ValueError(f"a {type(value).__name__}")


_Address: TypeAlias = (
    ipaddress.IPv4Address | ipaddress.IPv6Address | ipaddress.IPv4Interface | ipaddress.IPv6Interface
    | ipaddress.IPv4Network | ipaddress.IPv6Network
)  # fmt: skip


FORMATS: dict[str, Callable[[str, io.BufferedReader, int, str, Part], Iterable[Record]]] = {
    "jsonl": _read_json_lines,
    "csv": _read_separated(
        ",;", csv.QUOTE_MINIMAL
    ),  # spreadsheets of many countries write semicolons
    "tsv": _read_separated("\t", csv.QUOTE_NONE),
    "txt": _read_text,
    "parquet": _read_parquet,
}
"""Reader of each input format; the key is the ending of the file's name."""
