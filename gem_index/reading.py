"""Read documents from files: JSON lines, CSV, TSV, plain lines and Parquet, each also compressed."""

from __future__ import annotations

import csv
import datetime
import decimal
import io
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryDirectory
from typing import Any, Literal, TypeAlias

from gem_index.documents import Document
from gem_index.errors import (
    ConfigError,
    DuplicateIdError,
    InputError,
    MissingExtraError,
    RecordError,
)
from gem_index.files import COMPRESSED, open_input, recoded, split_member
from gem_index.json_input import JsonError, parse_json
from gem_index.quoting import quoted, quoted_error, quoted_path
from gem_index.text import WeightedText, check_weight

__all__ = ["FORMATS", "DocumentReader", "read_json_lines", "read_objects", "readable_twice"]

Fields: TypeAlias = dict[str, Any]
Record: TypeAlias = tuple[int, Fields | str]  # line number, and its fields or the problem

LINE = "text"
"""The field that holds a line of plain text."""


@dataclass
class DocumentReader:
    """The documents of one or more input files, read as a stream.

    Parameters
    ----------
    names : sequence of str
        Paths; ``-`` is standard input.
    format : str, optional
        One of ``FORMATS`` for all inputs; by default from each file's name, for standard input from its first byte.
    id_field : str, optional
        The field that holds the id; by default ``id`` if a record has it, else ``<file name>:<line>``.
    text_fields : sequence of str
        The fields that hold the text; several are joined by a blank line. With ``subject*2`` the words of the subject count
        twice (:class:`~gem_index.text.WeightedText`); a field name with an asterisk needs a weight (``NAME*1``).
    on_problem : callable, optional
        Called with each bad record, which is then skipped; without it the first one is raised. To skip documents with a
        repeated id, all ids are held in memory; without this function only the store detects repeated ids, see
        :meth:`naming_duplicates`.
    max_record_bytes : int
        Maximum length of a line.
    encoding : str, optional
        The encoding of text files by its Python name; UTF-8 by default.

    Attributes
    ----------
    skipped : int
        Number of bad records skipped so far.

    Raises
    ------
    ConfigError
        If a field's weight is not a number from 0.01 to 100.
    InputError
        While iterating: a file is missing, empty or of unknown format; RecordError if one record is wrong.
    """

    names: Sequence[str]
    format: str | None = None
    id_field: str | None = None
    text_fields: Sequence[str] = (LINE,)
    on_problem: Callable[[RecordError], None] | None = None
    max_record_bytes: int = 4 * 1024 * 1024
    encoding: str | None = None
    skipped: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self._fields = [_text_field(named) for named in self.text_fields]

    @property
    def choices(self) -> dict[str, Any]:
        """The arguments for reading records that differ from their defaults, as JSON values."""
        found: dict[str, Any] = {}
        if self.id_field is not None:
            found["id_field"] = self.id_field
        if tuple(self.text_fields) != (LINE,):
            found["text_fields"] = list(self.text_fields)
        return found

    def __iter__(self) -> Iterator[Document]:
        places: dict[str, str] = {}
        good = 0
        for name in self.names:
            empty = True
            for line, fields in self._records(name):
                if not isinstance(fields, str) and fields.get(LINE) == "" and len(fields) == 1:
                    continue  # a blank line between documents
                empty = False
                try:
                    document = self._document(name, line, fields)
                    if self.on_problem is not None:
                        _check_new(document.id, places, name, line)
                except RecordError as problem:
                    self._report(problem)
                    continue
                good += 1
                yield document
            if empty:
                raise InputError(f"{name} holds no documents; expected at least one")
        if not good:
            raise InputError(f"all {self.skipped} records were bad; expected at least one good one")

    @contextmanager
    def naming_duplicates(self) -> Iterator[None]:
        """Replace a DuplicateIdError from the block by an error that names the lines, found by reading the files again.

        Raises
        ------
        RecordError
            Instead of DuplicateIdError, if the inputs can be read again.
        """
        try:
            yield
        except DuplicateIdError as error:
            if not all(split_member(name)[0].is_file() for name in self.names):
                raise  # a stream can be read only once
            places: dict[str, str] = {}
            for name in self.names:
                for line, fields in self._records(name):
                    if self._document(name, line, fields).id == error.document_id:
                        _check_new(error.document_id, places, name, line)
            raise

    def texts(self) -> Iterator[str]:
        """Iterate over only the texts of the records, in order; a blank line of plain text is an empty text."""
        for name in self.names:
            empty = True
            for line, fields in self._records(name):
                empty = False
                try:
                    if isinstance(fields, str):
                        raise RecordError(name, line, fields)  # noqa: TRY301 - reported like any other below
                    yield self._text(name, line, fields)
                except RecordError as problem:
                    self._report(problem)
            if empty:
                raise InputError(f"{name} is empty; expected at least one text")

    def _report(self, problem: RecordError) -> None:
        if self.on_problem is None:
            raise problem
        self.skipped += 1
        self.on_problem(problem)

    def _records(self, name: str) -> Iterator[Record]:
        with open_input(name) as file:
            if self.encoding is not None:
                file = recoded(file, self.encoding, name)
            kind = self._format_of(name, file)
            if self.encoding is not None and kind == "parquet":
                raise InputError(
                    f"found an encoding for {name}, which is Parquet; expected a text file or no encoding"
                )
            yield from FORMATS[kind](name, file, self.max_record_bytes, self.encoding or "UTF-8")

    def _format_of(self, name: str, file: io.BufferedReader) -> str:
        if self.format is not None:
            if self.format not in FORMATS:
                raise InputError(
                    f"the format is {self.format!r}; expected one of {', '.join(FORMATS)}"
                )
            return self.format
        if name == "-":
            return "jsonl" if file.peek(1)[:1] == b"{" else "txt"
        path = Path(name)
        plain = path.with_suffix("") if path.suffix.lower() in COMPRESSED else path
        suffix = plain.suffix.lower().removeprefix(".")
        suffix = {"ndjson": "jsonl"}.get(suffix, suffix)
        if suffix not in FORMATS:
            raise InputError(
                f"{name} is not of a known format; expected a name ending in "
                f"{', '.join('.' + known for known in FORMATS)} (also {', '.join(COMPRESSED)}), or the format given"
            )
        return suffix

    def _document(self, name: str, line: int, fields: Fields | str) -> Document:
        if isinstance(fields, str):
            raise RecordError(name, line, fields)
        text = self._text(name, line, fields)
        id_field = self.id_field or "id"
        if id_field in fields:
            identifier = fields[id_field]
        elif self.id_field is None:
            identifier = f"{Path(name).name}:{line}"
        else:
            raise RecordError(name, line, _missing(id_field, fields, "id"))
        used = {id_field, *(key for key, _ in self._fields)}
        try:
            document = Document(
                id=identifier,
                text=text,
                metadata={key: value for key, value in fields.items() if key not in used},
            )
        except InputError as error:
            raise RecordError(name, line, str(error)) from error
        return document

    def _text(self, name: str, line: int, fields: Fields) -> str:
        present = [
            (key, fields[key], weight)
            for key, weight in self._fields
            if fields.get(key) is not None
        ]
        if not present:
            raise RecordError(name, line, _missing(self._fields[0][0], fields, "text"))
        for key, value, _ in present:
            if not isinstance(value, str):
                raise RecordError(
                    name, line, f"the field {quoted(key)} is {quoted(value, 40)}; expected a string"
                )
        return WeightedText.joined([(value, weight) for _, value, weight in present])


def _text_field(named: str) -> tuple[str, float]:
    """Return the name and weight of ``NAME`` or ``NAME*WEIGHT``.

    Raises
    ------
    ConfigError
        If the weight is not a number from 0.01 to 100.
    """
    name, star, weight = named.rpartition("*")
    if not star:
        return named, 1.0
    try:
        number: object = float(weight)
    except ValueError:
        number = weight
    try:
        return name, check_weight(number, f"the weight of the text field {quoted(name)}")
    except InputError as error:
        raise ConfigError(f"{error} (write a field name with an asterisk as NAME*1)") from error


def _check_new(identifier: str, places: dict[str, str], name: str, line: int) -> None:
    """Record the place of an id; raise RecordError if the id occurred before."""
    if identifier in places:
        raise RecordError(
            name,
            line,
            f"the id {quoted(identifier)} came before in {places[identifier]}; expected each id once",
        )
    places[identifier] = f"{name} line {line}"


@contextmanager
def readable_twice(names: Sequence[str]) -> Iterator[list[str]]:
    """Yield names of inputs that can be read more than once: standard input is copied to a temporary file."""
    if "-" not in names:
        yield list(names)
        return
    with TemporaryDirectory() as folder, open_input("-") as stdin:
        copy = Path(folder) / ("input.jsonl" if stdin.peek(1)[:1] == b"{" else "input.txt")
        with copy.open("wb") as file:
            copyfileobj(stdin, file)
        try:
            yield [str(copy) if name == "-" else name for name in names]
        except RecordError as error:
            if error.source != str(copy):
                raise
            raise RecordError("-", error.line, error.problem) from error


def read_json_lines(name: str, max_record_bytes: int) -> Iterator[tuple[int, Any]]:
    """Iterate over (line, value) of a file of JSON lines; ``-`` is standard input, blank lines are left out.

    Raises
    ------
    InputError
        If the file cannot be read; RecordError if a line is not JSON.
    """
    with open_input(name) as file:
        for line, text, problem in _lines(file, max_record_bytes):
            if problem or text is None:
                raise RecordError(name, line, problem)
            if not text.strip():
                continue
            try:
                yield line, parse_json(text.strip())
            except JsonError as error:
                raise RecordError(name, line, f"the line {error}") from error


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


def _missing(wanted: str, fields: Fields, kind: str) -> str:
    if wanted in fields:
        return f"the field {quoted(wanted)} is null; expected a string"
    found = ", ".join(map(quoted, list(fields)[:8])) or "nothing"
    return f"no field {quoted(wanted)}, found {found}; expected it, or name the field that holds the {kind}"


def _lines(
    file: io.BufferedReader, limit: int, encoding: str = "UTF-8"
) -> Iterator[tuple[int, str | None, str]]:
    """Yield (line, text, problem) for each line; text is None if the line is too long.

    Bytes that are not UTF-8 are reported as a problem and become lone surrogates in the text, so that the quotes and
    delimiters around them are still found.
    """
    number = 0
    while raw := file.readline(limit + 1):
        number += 1
        if len(raw) > limit:
            length = len(raw)
            while not raw.endswith(b"\n") and (raw := file.readline(1 << 20)):
                length += len(raw)
            problem = (
                f"the line has {length} bytes; expected at most {limit}: "
                "split it, or raise GEM_INDEX_MAX_RECORD_BYTES"
            )
            yield number, None, problem
            continue
        codec = "utf-8-sig" if number == 1 else "utf-8"
        try:
            yield number, raw.decode(codec), ""
        except UnicodeDecodeError as error:
            problem = f"byte {error.start + 1} is not {encoding}; expected {encoding} text: name the file's encoding"
            yield number, raw.decode(codec, "surrogateescape"), problem


def _read_text(_name: str, file: io.BufferedReader, limit: int, encoding: str) -> Iterator[Record]:
    for number, text, problem in _lines(file, limit, encoding):
        yield number, problem if problem or text is None else {LINE: text.strip()}


def _read_json_lines(
    _name: str, file: io.BufferedReader, limit: int, encoding: str
) -> Iterator[Record]:
    for number, text, problem in _lines(file, limit, encoding):
        if problem or text is None:
            yield number, problem
        elif text.strip():
            yield number, _json_object(text)


def _json_object(text: str) -> Fields | str:
    try:
        value = parse_json(text.strip())
    except JsonError as error:
        return f"the line {error}"
    if not isinstance(value, dict):
        return f"found a JSON {type(value).__name__}; expected one JSON object a line"
    return value


def _read_separated(delimiter: str, quoting: Literal[0, 3]) -> Callable[..., Iterator[Record]]:
    def read(name: str, file: io.BufferedReader, limit: int, encoding: str) -> Iterator[Record]:
        problems: list[str] = []
        last = 0

        def decoded() -> Iterator[str]:
            nonlocal last
            for last, text, problem in _lines(file, limit, encoding):
                if text is None:
                    # The following rows depend on this line's quotes, so there is no safe place to continue.
                    raise RecordError(name, last, problem)
                problems.extend([problem] if problem else [])
                yield text

        rows = csv.reader(decoded(), delimiter=delimiter, quoting=quoting, strict=True)
        header: list[str] | None = None
        while True:
            problems.clear()
            try:
                row = next(rows, None)
            except csv.Error as error:
                problems.append(f"not a table row ({error}); expected a header and quoted fields")
                row = [""]
            if row is None:
                return
            if not row:
                continue  # a blank line
            if header is None:
                if problems:
                    raise RecordError(name, last, problems[0])  # all rows depend on it
                header = row
            elif problems:
                yield last, problems[0]
            elif len(row) != len(header):
                yield last, f"found {len(row)} columns; expected {len(header)} as in the header"
            else:
                yield last, dict(zip(header, row, strict=True))

    return read


def _read_parquet(
    name: str, file: io.BufferedReader, _limit: int, _encoding: str
) -> Iterator[Record]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise MissingExtraError("reading Parquet", "parquet") from error
    try:
        # Parquet is read from its end; a stream must be read completely first.
        table = pq.ParquetFile(file if file.seekable() else io.BytesIO(file.read()))
        row = 0
        for batch in table.iter_batches(batch_size=4096):
            for place in range(batch.num_rows):
                row += 1
                yield row, _parquet_row(batch, place)
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        raise InputError(
            f"{quoted_path(name)} is not Parquet: {quoted_error(error)}; expected an undamaged Parquet file"
        ) from error


def _parquet_row(batch: Any, place: int) -> Fields | str:
    """Return the fields of a row, or the problem with it."""
    fields: Fields = {}
    for key, column in zip(batch.schema.names, batch.columns, strict=True):
        try:
            fields[key] = _plain(column[place].as_py())
        except (ValueError, OverflowError, TypeError, LookupError) as error:
            return (
                f"the field {quoted(key)} of type {column.type} has an unsupported value ({quoted_error(error)}); "
                "expected text, a number, a date or a list of these"
            )
    return fields


def _plain(value: object) -> object:
    """Convert a value of a table to a JSON value.

    Raises
    ------
    ValueError
        If JSON has no such value.
    """
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    if isinstance(value, decimal.Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None  # tables of numbers write missing values as NaN
    if value is None or isinstance(value, str | bool | int | float):
        return value
    raise ValueError(f"a {type(value).__name__}")


FORMATS: dict[str, Callable[[str, io.BufferedReader, int, str], Iterable[Record]]] = {
    "jsonl": _read_json_lines,
    "csv": _read_separated(",", csv.QUOTE_MINIMAL),
    "tsv": _read_separated("\t", csv.QUOTE_NONE),
    "txt": _read_text,
    "parquet": _read_parquet,
}
"""Reader of each input format; the key is the ending of the file's name."""
