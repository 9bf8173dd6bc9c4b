"""Sheets of Excel files (``.xlsx``)."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from typing import Any

from gem_index.errors import InputError, MissingExtraError, RecordError
from gem_index.errors.quoting import quoted, quoted_error, quoted_path
from gem_index.readers.columns import column_names
from gem_index.readers.lines import Record, RecordFile
from gem_index.readers.values import UNSUPPORTED, json_value

__all__ = ["read_sheet"]

_LARGEST = 1 << 30  # bytes of the unpacked file


def read_sheet(source: RecordFile) -> Iterator[Record]:
    """Iterate over the rows of a sheet: the named one, else the first; empty rows and cells are left out.

    Raises
    ------
    InputError
        If the file is not a spreadsheet, has no such sheet, or is too large; MissingExtraError without openpyxl.
    """
    try:
        import openpyxl
    except ImportError as error:
        raise MissingExtraError("reading .xlsx", "excel") from error
    file = source.file if source.file.seekable() else io.BytesIO(source.file.read(_LARGEST))
    try:
        with zipfile.ZipFile(file) as archive:
            _check_size(source, archive)
        book = openpyxl.load_workbook(file, read_only=True, data_only=True, keep_links=False)
    except InputError:
        raise
    except Exception as error:  # openpyxl raises almost any exception for a damaged file
        raise _damaged(source, error) from error
    try:
        yield from _records(source, book)
    finally:
        book.close()


def _check_size(source: RecordFile, archive: zipfile.ZipFile) -> None:
    size = sum(member.file_size for member in archive.infolist())
    if size > _LARGEST:
        raise InputError(
            f"{quoted_path(source.name)} has {size:,} bytes unpacked; expected at most {_LARGEST:,}: save it as CSV"
        )


def _damaged(source: RecordFile, error: Exception) -> InputError:
    return InputError(
        f"{quoted_path(source.name)} is not an .xlsx file: {quoted_error(error)}; expected an undamaged spreadsheet"
    )


def _records(source: RecordFile, book: Any) -> Iterator[Record]:
    names: list[str] | None = None
    used: list[int] = []
    for line, row in enumerate(_rows(source, _sheet(source, book)), 1):
        if all(cell is None for cell in row):
            continue
        if names is None:
            used = [place for place, cell in enumerate(row) if cell is not None]
            names = column_names(source, line, [str(row[place]) for place in used])
            if source.form.header:
                continue
        outside = next(
            (place for place, cell in enumerate(row) if cell is not None and place not in used),
            None,
        )
        if outside is not None:
            raise RecordError(
                source.name,
                line,
                f"the cell in column {outside + 1} has no name in the first row; expected a name for each column",
            )
        yield (
            line,
            {
                name: row[place]
                for name, place in zip(names, used, strict=True)
                if place < len(row) and row[place] is not None
            },
        )


def _sheet(source: RecordFile, book: Any) -> Any:
    names = [sheet.title for sheet in book.worksheets]
    wanted = source.form.table
    if wanted is not None and wanted not in names:
        raise InputError(
            f"{quoted_path(source.name)} has no sheet {quoted(wanted)}; expected one of "
            f"{', '.join(map(quoted, names[:8])) or 'its sheets, of which it has none'}"
        )
    if not names:
        raise InputError(f"{quoted_path(source.name)} has no sheet; expected at least one")
    if wanted is None and len(names) > 1:
        others = ", ".join(map(quoted, names[1:9]))
        source.note(f"the sheet {quoted(names[0])} is read; not read: {others}")
    return book[wanted or names[0]]


def _rows(source: RecordFile, sheet: Any) -> Iterator[tuple[Any, ...]]:
    sheet.reset_dimensions()  # some programs write wrong dimensions
    rows = iter(sheet.iter_rows(values_only=True))
    while True:
        try:
            row = next(rows, None)
        except Exception as error:  # a damaged row, too, may raise almost any exception in openpyxl
            raise _damaged(source, error) from error
        if row is None:
            return
        try:
            yield tuple(json_value(cell) for cell in row)
        except UNSUPPORTED as error:
            raise _damaged(source, error) from error
