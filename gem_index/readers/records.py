"""Read documents from files of records; files of all formats may be compressed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from gem_index.documents import Document
from gem_index.errors import DuplicateIdError, InputError, Message, RecordError
from gem_index.files.inputs import split_member
from gem_index.readers.fields import LINE, Fields
from gem_index.readers.findings import Findings
from gem_index.readers.record_reader import RecordReader, good_fields
from gem_index.readers.repeated_ids import (
    DUPLICATES,
    EveryRecord,
    FirstRecords,
    KeptRecords,
    LastRecords,
    check_new_id,
    check_readable_twice,
)
from gem_index.readers.rereading import changed_meanwhile, file_name, readable_twice
from gem_index.text.written_forms import composed

__all__ = ["DUPLICATES", "DocumentReader"]


class DocumentReader(RecordReader):
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

    def _document(self, name: str, line: int, fields: Fields | Message) -> Document:
        good = good_fields(name, line, fields)
        return self._fields.document(name, line, good, f"{file_name(name)}:{line}")
