"""Read the records of files; files of all formats may be compressed."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from gem_index.common.checks import check_choice
from gem_index.documents import EXPORT_FORMAT
from gem_index.errors import Action, Advice, InputError, Message, RecordError
from gem_index.files.inputs import open_input
from gem_index.readers.cleaning import cleaning_of, is_html
from gem_index.readers.column_types import ColumnTypes, TypeChoice
from gem_index.readers.encodings import AUTO, UTF8, as_utf8
from gem_index.readers.fields import LINE, FieldNames, Fields
from gem_index.readers.findings import Findings
from gem_index.readers.formats import BINARY, FORMATS, TABLES, format_of_beginning, input_format
from gem_index.readers.lines import Record, RecordFile, TableForm
from gem_index.readers.missing_fields import missing_field
from gem_index.readers.parts import WHOLE, Part
from gem_index.readers.repeated_ids import DUPLICATES
from gem_index.readers.rereading import changed_meanwhile, file_name, file_state

__all__ = ["RecordReader", "good_fields"]

_PEEKED = 1 << 10  # bytes of standard input that are read ahead to find the format

Item = TypeVar("Item")


@dataclass
class RecordReader:
    """The records of one or more input files, read as a stream: their fields, and their texts.

    The attributes are described in :class:`~gem_index.readers.DocumentReader`, which makes documents of the records. Only
    that class uses ``duplicates``.
    """

    names: Sequence[str]
    format: str | None = None
    id_field: str | None = None
    text_fields: Sequence[str] = (LINE,)
    on_problem: Callable[[RecordError], None] | None = None
    max_record_bytes: int = 4 * 1024 * 1024
    encoding: str | None = None
    types: TypeChoice = "text"
    clean: Sequence[str] = ()
    duplicates: str = "stop"
    on_end: Callable[[list[Message]], None] | None = None
    all_columns: bool = False
    header: bool = True
    column_names: Sequence[str] | None = None
    delimiter: str | None = None
    quote: str | None = None
    table: str | None = None
    part: Part = WHOLE
    open_file: Callable[[str], AbstractContextManager[io.BufferedReader]] = open_input
    skipped: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self._fields = FieldNames(self.id_field, tuple(self.text_fields))
        self._text_names = [name for name, _ in self._fields.weighted]
        self._types = ColumnTypes(self.types, {self.id_field or "id", *self._text_names})
        self._clean = cleaning_of(self.clean)
        check_choice(self.duplicates, "duplicates", DUPLICATES)
        self._form = TableForm(
            header=self.header,
            column_names=self.column_names,
            delimiter=self.delimiter,
            quote=self.quote,
            table=self.table,
        )
        self._begun: set[str] = set()  # names of tables that were opened
        self._copy: str | None = None  # the path of the copy of standard input
        self._findings = Findings()
        self._any_good = False
        self._checked = False  # whether the first record was checked

    @property
    def choices(self) -> dict[str, Any]:
        """The reading options: the arguments for reading records that differ from the defaults, as JSON values.

        The types of columns that were decided during the reading are included.
        """
        found: dict[str, Any] = {}
        if self.id_field is not None:
            found["id_field"] = self.id_field
        if tuple(self.text_fields) != (LINE,):
            found["text_fields"] = list(self.text_fields)
        if self.encoding is not None:
            found["encoding"] = self.encoding
        if self._types.kept:
            found["types"] = self._types.kept
        if self.clean:
            found["clean"] = list(self.clean)
        found.update(self._form.choices)
        return found

    def texts(self) -> Iterator[str]:
        """Iterate over the texts of the records, in order; a blank line of a text file is an empty text."""
        return self._each(self._fields.text_of)

    def rows(self) -> Iterator[tuple[str, str]]:
        """Iterate over the ids and texts of the records, in order; a record without a text or a valid id is bad."""
        return self._each(
            lambda name, line, fields: self._fields.row(
                name, line, fields, f"{file_name(name)}:{line}"
            )
        )

    def records(self) -> Iterator[tuple[int, Fields]]:
        """Iterate over the numbers and fields of the records, which may lack text and id; report bad records."""
        self._checked = True
        return self._each(lambda _name, line, fields: (line, fields))

    def _each(self, taken: Callable[[str, int, Fields], Item]) -> Iterator[Item]:
        """Call a function for each record, and iterate over the results; report bad records."""
        self._findings = Findings()
        for name in self.names:
            empty = True
            for line, fields in self._records(name):
                empty = False
                try:
                    yield taken(name, line, good_fields(name, line, fields))
                    self._any_good = True
                except RecordError as problem:
                    self._report(problem)
            if empty and self.part.whole:
                raise InputError(f"{name} is empty; expected at least one text")
        self._end()

    def _end(self) -> None:
        if self.on_end is not None:
            types = self._types.kept if self.types != self._types.kept else {}
            self.on_end(list(self._findings.notes(types, self.clean, self.duplicates)))

    def _report(self, problem: RecordError) -> None:
        if self.on_problem is None:
            if (
                problem.advice is None and self._any_good
            ):  # if no record was good, skipping is no advice
                problem = RecordError(
                    problem.source,
                    problem.line,
                    Message(problem.problem, Advice(Action.SKIP_RECORDS)),
                )
            raise problem
        self.skipped += 1
        self.on_problem(problem)

    def _records(self, name: str) -> Iterator[Record]:
        """Iterate over the records of an input, with typed values and cleaned texts."""
        records = self.read(name)
        for line, fields in records:
            if not isinstance(fields, Message):
                self._check_fields(name, line, fields, records)
                self._clean_texts(fields)
            yield line, fields

    def read(self, name: str) -> Iterator[Record]:
        """Iterate over the records of an input, with typed values; the texts are not cleaned."""
        kind = self.format_of(name)
        before = file_state(name)
        with self.open_file(self._copy if name == "-" and self._copy is not None else name) as file:
            encoding = UTF8
            if kind not in BINARY:
                file, encoding = as_utf8(file, self.encoding, name)
                if self.encoding == AUTO and encoding != UTF8:
                    self._findings.encodings[name] = encoding
            if kind is None:
                kind = format_of_beginning(file.peek(_PEEKED))
            source = RecordFile(
                name=name,
                file=file,
                limit=self.max_record_bytes,
                encoding=encoding,
                part=self.part,
                form=self._form,
                wanted=(self._fields.id or "id", *self._text_names),
                note=lambda note: self._findings.note_form(name, note),
            )
            records: Iterable[Record] = FORMATS[kind](source)
            if kind in TABLES:
                self._begun.add(name)
                checks = self.all_columns and self._begun.issuperset(self._tables())
                records = self._types.convert(records, self._findings.misfits, check_names=checks)
            yield from records
        if file_state(name) != before:
            raise changed_meanwhile(name)

    def _check_fields(self, name: str, line: int, fields: Fields, rest: Iterator[Record]) -> None:
        """If bad records are not skipped, check that the first record has a text field and the named id field.

        Raises
        ------
        MissingFieldError
            If the record lacks one of these fields.
        """
        if self._checked or self.on_problem is not None or fields.get("format") == EXPORT_FORMAT:
            return
        wanted = self._text_names[0] if fields.keys().isdisjoint(self._text_names) else None
        if wanted is None and self.id_field is not None and self.id_field not in fields:
            wanted = self.id_field
        if wanted is not None:
            raise missing_field(
                name,
                line,
                wanted,
                fields,
                rest,
                id=self.id_field,
                text=self.text_fields,
                is_table=self.header and self.format_of(name) in (*TABLES, "xlsx"),
            )
        self._checked = True

    def _tables(self) -> set[str]:
        return {name for name in self.names if self.format_of(name) in TABLES}

    def _clean_texts(self, fields: Fields) -> None:
        """Clean the text fields of a record, and count the record."""
        findings = self._findings
        texts = {name: fields.get(name) for name in self._text_names}
        held = {name: text for name, text in texts.items() if isinstance(text, str)}
        findings.texts += bool(held)
        if self.clean:
            cleaned = {name: self._clean(text) for name, text in held.items()}
            fields.update(cleaned)
            findings.cleaned += cleaned != held
        elif self.on_end is not None:
            findings.markup += any(map(is_html, held.values()))

    def format_of(self, name: str) -> str | None:
        """Return the format of an input; None for standard input, whose first byte tells the format later.

        Raises
        ------
        InputError
            If the name does not tell the format, and no format was given.
        """
        return input_format(name, self.format, self.open_file)


def good_fields(name: str, line: int, fields: Fields | Message) -> Fields:
    """Return the fields of a record.

    Raises
    ------
    RecordError
        If the record is bad; then ``fields`` is the message that says why.
    """
    if isinstance(fields, Message):
        raise RecordError(name, line, fields)
    return fields
