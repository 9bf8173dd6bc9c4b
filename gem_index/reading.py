"""Input files to documents: JSON lines, CSV, TSV, plain lines and Parquet, each also compressed."""

from __future__ import annotations

import csv
import datetime
import io
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from gem_index.documents import Document
from gem_index.errors import DuplicateIdError, InputError, MissingExtraError, RecordError
from gem_index.files import COMPRESSED, UNPACKING_ERRORS, open_input, split_member

__all__ = ["FORMATS", "DocumentReader", "read_objects"]

Fields: TypeAlias = dict[str, Any]
Record: TypeAlias = tuple[int, Fields | str]  # line, and its fields or what is wrong with it

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
        The field that holds the id; by default ``id`` where a record has it, else ``<file name>:<line>``.
    text_fields : sequence of str
        The fields that hold the text; several are joined by a blank line.
    on_problem : callable, optional
        Called with each bad record, which is then left out; without it the first one is raised. To leave out a second
        document of one id, all ids are held in memory; without it finding those is left to who stores them, see
        :meth:`naming_duplicates`.
    max_record_bytes : int
        The longest line that is read.

    Attributes
    ----------
    skipped : int
        Bad records left out so far.

    Raises
    ------
    InputError
        While iterating: a file is missing, empty or of unknown format; RecordError where one record is wrong.
    """

    names: Sequence[str]
    format: str | None = None
    id_field: str | None = None
    text_fields: Sequence[str] = (LINE,)
    on_problem: Callable[[RecordError], None] | None = None
    max_record_bytes: int = 4 * 1024 * 1024
    skipped: int = field(default=0, init=False)

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
        """Say which lines hold an id that whoever stores the documents found twice, by reading the files once more.

        Raises
        ------
        RecordError
            Instead of DuplicateIdError, where the inputs can be read again.
        """
        try:
            yield
        except DuplicateIdError as error:
            if not all(split_member(name)[0].is_file() for name in self.names):
                raise  # a stream is read once
            places: dict[str, str] = {}
            for name in self.names:
                for line, fields in self._records(name):
                    if self._document(name, line, fields).id == error.document_id:
                        _check_new(error.document_id, places, name, line)
            raise

    def texts(self) -> Iterator[str]:
        """Iterate over the records' texts alone, in order; a blank line of plain text is an empty text."""
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
            read = FORMATS[self._format_of(name, file)]
            try:
                yield from read(name, file, self.max_record_bytes)
            except UNPACKING_ERRORS as error:
                raise InputError(
                    f"{name} cannot be read to its end: {error}; expected an undamaged file"
                ) from error

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
                f"{name} is of no known format; expected a name ending in "
                f"{', '.join('.' + known for known in FORMATS)} (also {', '.join(COMPRESSED)}), or --format"
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
            raise RecordError(name, line, _missing(id_field, fields, "--id-field"))
        used = {id_field, *self.text_fields}
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
        present = [(key, fields[key]) for key in self.text_fields if fields.get(key) is not None]
        if not present:
            raise RecordError(name, line, _missing(self.text_fields[0], fields, "--text-field"))
        for key, value in present:
            if not isinstance(value, str):
                raise RecordError(
                    name, line, f"the field {key!r} is {json.dumps(value)[:40]}; expected a string"
                )
        return "\n\n".join(value for _, value in present)


def _check_new(identifier: str, places: dict[str, str], name: str, line: int) -> None:
    """Note where an id is; raise RecordError if it came before."""
    if identifier in places:
        raise RecordError(
            name,
            line,
            f"the id {identifier!r} came before in {places[identifier]}; expected each id once",
        )
    places[identifier] = f"{name} line {line}"


def read_objects(name: str, max_record_bytes: int) -> Iterator[tuple[int, Fields]]:
    """Iterate over (line, object) of a file of JSON lines; ``-`` is standard input.

    Raises
    ------
    InputError
        If the file cannot be read; RecordError where a line is no JSON object.
    """
    with open_input(name) as file:
        for line, fields in _read_json_lines(name, file, max_record_bytes):
            if isinstance(fields, str):
                raise RecordError(name, line, fields)
            yield line, fields


def _missing(wanted: str, fields: Fields, option: str) -> str:
    if wanted in fields:
        return f"the field {wanted!r} is null; expected a string"
    found = ", ".join(map(repr, list(fields)[:8])) or "nothing"
    return f"no field {wanted!r}, found {found}; expected it, or name another with {option}"


def _lines(file: io.BufferedReader, limit: int) -> Iterator[tuple[int, str | None, str]]:
    """Yield (line, text, problem): text is None where there is a problem. Never holds more than the limit."""
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
        try:
            text = raw.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            yield number, None, f"byte {error.start + 1} is not UTF-8; expected UTF-8 text"
            continue
        yield number, text, ""


def _read_text(_name: str, file: io.BufferedReader, limit: int) -> Iterator[Record]:
    for number, text, problem in _lines(file, limit):
        yield number, problem if text is None else {LINE: text.strip()}


def _read_json_lines(_name: str, file: io.BufferedReader, limit: int) -> Iterator[Record]:
    for number, text, problem in _lines(file, limit):
        if text is None:
            yield number, problem
        elif text.strip():
            yield number, _json_object(text)


def _json_object(text: str) -> Fields | str:
    try:
        value = json.loads(text.strip())
    except json.JSONDecodeError as error:
        return f"not JSON at column {error.colno} ({error.msg}); expected one JSON object a line"
    except RecursionError:
        return "the JSON is nested too deeply; expected a flat object"
    if not isinstance(value, dict):
        return f"found a JSON {type(value).__name__}; expected one JSON object a line"
    return value


def _read_separated(delimiter: str, quoting: Literal[0, 3]) -> Callable[..., Iterator[Record]]:
    def read(name: str, file: io.BufferedReader, limit: int) -> Iterator[Record]:
        last = 0

        def decoded() -> Iterator[str]:
            nonlocal last
            for last, text, problem in _lines(file, limit):
                if text is None:
                    # The rows that follow depend on this line's quotes: there is no safe place to go on from.
                    raise RecordError(name, last, problem)
                yield text

        rows = csv.DictReader(decoded(), delimiter=delimiter, quoting=quoting, strict=True)
        try:
            for row in rows:
                if None in row or None in row.values():
                    found = len([v for v in row.values() if v is not None])
                    found += len(row.get(None) or []) - (None in row)
                    yield (
                        rows.line_num,
                        f"found {found} columns; expected {len(rows.fieldnames or [])} as in the header",
                    )
                else:
                    yield rows.line_num, dict(row)
        except csv.Error as error:
            raise RecordError(
                name,
                last,
                f"not a table row ({error}); expected a header and quoted fields",
            ) from error

    return read


def _read_parquet(name: str, file: io.BufferedReader, limit: int) -> Iterator[Record]:  # noqa: ARG001 - one signature for all formats
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise MissingExtraError("reading Parquet", "parquet") from error
    try:
        # Parquet is read from its end; a stream has to be taken in whole.
        table = pq.ParquetFile(file if file.seekable() else io.BytesIO(file.read()))
        row = 0
        for batch in table.iter_batches(batch_size=4096):
            for fields in batch.to_pylist():
                row += 1
                yield row, {key: _plain(value) for key, value in fields.items()}
    except pa.ArrowException as error:
        raise InputError(f"{name} is not Parquet: {error}") from error


def _plain(value: object) -> object:
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    return value


FORMATS: dict[str, Callable[[str, io.BufferedReader, int], Iterable[Record]]] = {
    "jsonl": _read_json_lines,
    "csv": _read_separated(",", csv.QUOTE_MINIMAL),
    "tsv": _read_separated("\t", csv.QUOTE_NONE),
    "txt": _read_text,
    "parquet": _read_parquet,
}
"""Reader of each input format; the key is the ending of the file's name."""
