"""Read documents from files of records; files of all formats may be compressed."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any, TypeVar

from gem_index.advice import Action, Advice, Message
from gem_index.checks import check_choice
from gem_index.documents import EXPORT_FORMAT, Document
from gem_index.errors import DuplicateIdError, InputError, RecordError
from gem_index.files.inputs import open_input, split_member
from gem_index.readers.cleaning import cleaning_of, is_html
from gem_index.readers.column_types import ColumnTypes, TypeChoice
from gem_index.readers.encodings import AUTO, UTF8, as_utf8
from gem_index.readers.fields import LINE, FieldNames, Fields
from gem_index.readers.findings import Findings
from gem_index.readers.formats import (
    BINARY,
    FORMATS,
    TABLES,
    format_of_beginning,
    input_format,
)
from gem_index.readers.lines import Record, RecordFile, TableForm
from gem_index.readers.missing_fields import missing_field
from gem_index.readers.parts import WHOLE, Part
from gem_index.readers.repeated_ids import (
    DUPLICATES,
    EveryRecord,
    FirstRecords,
    KeptRecords,
    LastRecords,
    check_new_id,
    check_readable_twice,
)
from gem_index.readers.rereading import changed_meanwhile, file_name, file_state, readable_twice
from gem_index.text.written_forms import composed

__all__ = ["DUPLICATES", "DocumentReader"]

_PEEKED = 1 << 10  # bytes of standard input that are read ahead to find the format

Item = TypeVar("Item")


@dataclass
class DocumentReader:
    """The documents of one or more input files, read as a stream.

    Parameters
    ----------
    names : sequence of str
        The paths of the files; ``-`` is standard input.
    format : str, optional
        One of ``FORMATS``, for all inputs. By default, the name of a file tells its format; the first byte tells the format
        of standard input.
    id_field : str, optional
        The field of the id; by default ``id``. A record without an id gets a hash of its content as id. So equal
        records become one document, even in different files.
    text_fields : sequence of str
        The fields of the text; several fields are joined by a blank line. With ``subject*2``, the words of the subject
        count twice (:class:`~gem_index.text.tokens.WeightedText`). If the name of a field itself has an asterisk, give a
        weight (``NAME*1``).
    on_problem : callable, optional
        Called with each bad record, which is then skipped. A document with a repeated id is skipped too, so all ids are in
        memory. Without this function, the first bad record raises an error, and only the store detects repeated ids;
        see :meth:`naming_duplicates`.
    max_record_bytes : int
        The largest length of a record, which is a line or an element of a JSON file.
    encoding : str, optional
        The Python name of the encoding of text files, or ``auto`` to detect the encoding; UTF-8 by default. If a
        file begins with the byte order mark of another encoding, this is an error. Parquet, ``.xlsx`` and ``Posts.xml``
        files define their own encoding.
    header : bool
        Whether the first row of a table (CSV, TSV, ``.xlsx``) has the names of its columns.
    column_names : sequence of str, optional
        The names of the columns of a table, instead of the names in the header. Without a header and without these names,
        the columns are called ``column1``, ``column2`` and so on.
    delimiter : str, optional
        The character between the fields of CSV and TSV, or ``tab``. By default, it is found in the first row.
    quote : str, optional
        The character around the fields of CSV and TSV, or ``none``. Default: ``"`` for CSV, ``none`` for TSV.
    table : str, optional
        In a spreadsheet, the name of the sheet; by default, the first sheet is read. In a JSON object, the key of the list
        of records, such as ``data.items``.
    types : str or mapping
        The types of the columns of CSV and TSV: ``text``, ``auto``, or a type for each column; see
        :class:`~gem_index.readers.column_types.ColumnTypes`. Columns of ids and texts always have the type ``text``.
    clean : sequence of str
        What to remove from the text fields before they are joined. ``html`` removes tags, comments and scripts, and
        resolves entities; ``auto`` does the same only in texts that are clearly HTML. ``quotes`` and ``signatures``
        remove these parts of mail.
    duplicates : {"stop", "first", "last"}
        What happens if two records have the same id: stop with an error, keep the first record, or keep the last
        record. With ``first`` and ``last``, all ids are in memory. ``last`` reads the inputs twice; standard input is
        first copied to a temporary file.
    on_end : callable, optional
        Called at the end with a list of notes. Each note is one line about a decision or a change, such as the types of
        columns, a detected encoding, the number of cleaned texts, or repeated ids.
    all_columns : bool
        Whether each column in ``types`` must be in at least one of the files. If False, columns may be missing, because
        the types can come from earlier files of a collection.
    part : Part, optional
        Read only this part of the input. Then there must be only one input, and not CSV or TSV, which are always read
        whole.
    open_file : callable, optional
        Opens an input by its name, and returns a stream of its unpacked bytes. By default, inputs are files.

    Attributes
    ----------
    skipped : int
        The number of bad records that were skipped so far.

    Raises
    ------
    ConfigError
        If a field's weight is not a number from 0.01 to 100, or an option has another value.
    MissingExtraError
        While iterating: the package for the format is not installed.
    InputError
        While iterating: a file is missing, empty or of unknown format, or was changed while it was read; RecordError
        for a bad record.
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

    def __iter__(self) -> Iterator[Document]:
        with self._readable_twice() if self.duplicates == "last" else nullcontext():
            kept = self._kept_records()
            self._findings = Findings()
            good = 0
            for number, document in self._documents({}):
                # only records without an id have a `former_id` (their id in earlier versions); they cannot repeat an id
                if document.former_id is None and not kept.keeps(number, document.id):
                    self._findings.repeated += 1
                    continue
                good += 1
                yield document
            if not kept.complete:
                raise changed_meanwhile(", ".join(self.names))
        self._end()
        if not good and self.part.whole:
            raise InputError(
                f"all {self.skipped} records were bad; expected at least one good record"
            )

    def _documents(self, places: dict[str, str]) -> Iterator[tuple[int, Document]]:
        """Iterate over the numbers and the documents of good records; report bad records."""
        number = 0
        for name in self.names:
            empty = True
            for line, fields in self._records(name):
                if not isinstance(fields, Message) and fields.get(LINE) == "" and len(fields) == 1:
                    continue  # a blank line between documents
                empty = False
                number += 1
                try:
                    document = self._document(name, line, fields)
                    named = document.former_id is None
                    if named and self.on_problem is not None and self.duplicates == "stop":
                        check_new_id(document.id, places, name, line)
                except RecordError as problem:
                    self._report(problem)
                    continue
                self._any_good = True
                yield number, document
            if empty and self.part.whole:
                raise InputError(f"{name} has no documents; expected at least one")

    def _kept_records(self) -> KeptRecords:
        if self.duplicates == "first":
            return FirstRecords()
        return LastRecords(self._last_records()) if self.duplicates == "last" else EveryRecord()

    def _last_records(self) -> dict[str, int]:
        """Return the number of the last record of each id."""
        report, skipped = self.on_problem, self.skipped
        if report is not None:
            self.on_problem = lambda _: None  # only the second reading reports bad records
        try:
            return {
                composed(document.id): number
                for number, document in self._documents({})
                if document.former_id is None
            }
        finally:
            self.on_problem, self.skipped = report, skipped

    @contextmanager
    def _readable_twice(self) -> Iterator[None]:
        """During the block, use a copy of standard input in a temporary file.

        Raises
        ------
        InputError
            If an input can be read only once.
        """
        check_readable_twice(self.names)
        if "-" not in self.names:
            yield
            return
        with readable_twice(["-"]) as (self._copy,):
            try:
                yield
            finally:
                self._copy = None

    @contextmanager
    def naming_duplicates(self) -> Iterator[None]:
        """Replace a DuplicateIdError from the block by an error that names the lines.

        To find the lines, the files are read again.

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
                    if composed(self._document(name, line, fields).id) == composed(
                        error.document_id
                    ):
                        check_new_id(error.document_id, places, name, line)
            raise

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
                    yield taken(name, line, _good(name, line, fields))
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
        findings.texts += 1
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

    def _document(self, name: str, line: int, fields: Fields | Message) -> Document:
        good = _good(name, line, fields)
        return self._fields.document(name, line, good, f"{file_name(name)}:{line}")


def _good(name: str, line: int, fields: Fields | Message) -> Fields:
    if isinstance(fields, Message):
        raise RecordError(name, line, fields)
    return fields
