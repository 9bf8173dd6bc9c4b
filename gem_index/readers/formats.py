"""The formats of files of records."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from gem_index.common.checks import check_choice
from gem_index.common.json_input import JsonError, parse_json
from gem_index.errors import Action, Advice, InputError, Message, RecordError
from gem_index.errors.quoting import quoted, quoted_error, quoted_path
from gem_index.files.arrow import load_pyarrow
from gem_index.files.inputs import COMPRESSED, open_input, unpacked_name
from gem_index.readers.fields import LINE, Fields
from gem_index.readers.json_files import is_json_lines, read_json
from gem_index.readers.lines import Record, RecordFile, lines_of
from gem_index.readers.posts import read_posts
from gem_index.readers.separated import read_separated
from gem_index.readers.spreadsheets import read_sheet
from gem_index.readers.values import UNSUPPORTED, json_value

__all__ = [
    "BINARY",
    "ENDINGS",
    "FORMATS",
    "TABLES",
    "format_of_beginning",
    "format_of_name",
    "input_format",
    "read_json_lines",
    "read_lines",
    "read_objects",
]


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
        for line, text, problem in lines_of(
            RecordFile(name=name, file=file, limit=max_record_bytes)
        ):
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


def _read_text(source: RecordFile) -> Iterator[Record]:
    for number, text, problem in lines_of(source):
        yield number, {LINE: text.strip()} if problem is None else problem


def _read_json_lines(source: RecordFile) -> Iterator[Record]:
    for number, text, problem in lines_of(source):
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


def _read_json(source: RecordFile) -> Iterable[Record]:
    if is_json_lines(source.file.peek()):
        source.note("each line is a JSON object")
        return _read_json_lines(source)
    return read_json(source)


def _read_parquet(source: RecordFile) -> Iterator[Record]:
    file, part = source.file, source.part
    pa, pq = load_pyarrow("reading Parquet")
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
            f"{quoted_path(source.name)} is not Parquet: {quoted_error(error)}; expected an undamaged Parquet file"
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


FORMATS: dict[str, Callable[[RecordFile], Iterable[Record]]] = {
    "jsonl": _read_json_lines,
    "json": _read_json,
    "csv": read_separated(",;\t|", '"'),
    "tsv": read_separated("\t", None),
    "txt": _read_text,
    "parquet": _read_parquet,
    "xlsx": read_sheet,
    "posts": read_posts,
}
"""Reader of each input format."""

BINARY = frozenset({"parquet", "posts", "xlsx"})
"""Formats that define their own encoding."""

TABLES = frozenset({"csv", "tsv"})
"""Formats whose values are texts."""

ENDINGS = {
    "jsonl": "jsonl",
    "ndjson": "jsonl",
    "json": "json",
    "csv": "csv",
    "tsv": "tsv",
    "txt": "txt",
    "parquet": "parquet",
    "xlsx": "xlsx",
    "xml": "posts",
}
"""Format of each ending of a file's name."""

_JSON_BEGINS = re.compile(rb"\{\s*\n|\[\s*\{")


def format_of_name(name: str) -> str | None:
    """Return the format of a file by its name, which may end as compressed files do; None if the name tells none."""
    path = Path(name)
    plain = path.with_suffix("") if path.suffix.lower() in COMPRESSED else path
    return ENDINGS.get(plain.suffix.lower().removeprefix("."))


def format_of_beginning(begin: bytes) -> str:
    """Return the format of a stream without a name by its first bytes: JSON, JSON lines or lines of text."""
    if _JSON_BEGINS.match(begin):
        return "json"
    return "jsonl" if begin.startswith(b"{") else "txt"


def input_format(
    name: str,
    given: str | None,
    open_file: Callable[[str], AbstractContextManager[io.BufferedReader]],
) -> str | None:
    """Return the format of an input: the given one, or by its name; None for standard input, whose first byte tells it.

    Raises
    ------
    InputError
        If the given format is unknown, or none was given and the name does not tell it.
    """
    if given is not None:
        check_choice(given, "the format", FORMATS, error=InputError)
        return given
    if name == "-":
        return None
    found = format_of_name(name) or format_of_name(unpacked_name(name))
    if found is None:
        with open_file(name):
            pass  # a missing file and a folder have errors of their own
        raise InputError(
            f"{name} is not of a known format; expected a name ending in "
            f"{', '.join('.' + known for known in ENDINGS)} (also {', '.join(COMPRESSED)}), for a collection "
            "also a document such as .md, .html, .pdf or .docx",
            Advice(Action.GIVE_FORMAT),
        )
    return found
