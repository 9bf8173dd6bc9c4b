"""Read documents from files of records: JSON lines, CSV, TSV, plain lines and Parquet, each also compressed."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryDirectory
from typing import Any

from gem_index.documents import Document
from gem_index.errors import DuplicateIdError, InputError, RecordError
from gem_index.files import COMPRESSED, open_input, recoded, split_member
from gem_index.quoting import quoted
from gem_index.reading.fields import LINE, FieldNames, Fields
from gem_index.reading.formats import FORMATS, Record

__all__ = ["DocumentReader", "readable_twice"]


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
        self._fields = FieldNames(self.id_field, tuple(self.text_fields))

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
                    yield self._fields.text_of(name, line, fields)
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
        return self._fields.document(name, line, fields, f"{Path(name).name}:{line}")


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
