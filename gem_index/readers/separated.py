"""Tables of text whose fields are separated by a character: CSV and TSV."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator
from itertools import chain

from gem_index.errors import Action, Advice, Message, RecordError
from gem_index.errors.quoting import quoted
from gem_index.readers.columns import column_names, row_fields
from gem_index.readers.lines import Record, RecordFile, lines_of

__all__ = ["read_separated"]

_LARGEST_FIELD = 2**31 - 1  # the largest limit that the module csv accepts on every platform
_EXCEL = re.compile(r"sep=([^\r\n])[\r\n]*", re.IGNORECASE)
_NAMES = {"\t": "tabs", ";": "semicolons", "|": "bars"}


def read_separated(delimiters: str, quote: str | None) -> Callable[[RecordFile], Iterator[Record]]:
    """Return the reader of tables.

    Parameters
    ----------
    delimiters : str
        The delimiter is the one of these that the first row has most often outside quotes, or that a line such as ``sep=;``
        before it names, or that the user gives.
    quote : str or None
        The character around fields, unless the user gives another one.
    """

    def read(source: RecordFile) -> Iterator[Record]:
        problems: list[Message] = []
        last = 0

        def decoded() -> Iterator[str]:
            nonlocal last
            for last, text, problem in lines_of(source):
                if problem is not None:
                    if not text:
                        # The following rows depend on this line's quotes, so there is no safe place to continue.
                        raise RecordError(source.name, last, problem)
                    problems.append(problem)
                yield text

        # The limit is for the whole process. It is never lowered, because another thread may need it.
        csv.field_size_limit(max(min(source.limit, _LARGEST_FIELD), csv.field_size_limit()))
        lines = decoded()
        sign = source.form.quoting(quote)
        before, delimiter = _beginning(lines, source, delimiters, sign)
        rows = csv.reader(
            chain(before, lines),
            delimiter=delimiter,
            quotechar=sign,
            quoting=csv.QUOTE_NONE if sign is None else csv.QUOTE_MINIMAL,
            strict=True,
        )
        names: list[str] | None = None
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
            if names is None:
                if problem is not None:
                    raise RecordError(source.name, last, problem)  # all rows depend on it
                names = column_names(source, last, row)
                if source.form.header:
                    continue
            yield last, row_fields(names, row) if problem is None else problem

    return read


def _beginning(
    lines: Iterator[str], source: RecordFile, delimiters: str, sign: str | None
) -> tuple[list[str], str]:
    """Take the lines up to the first row, and return them and the delimiter."""
    before = list(_until_row(lines))
    excel = _EXCEL.fullmatch(before[-1]) if before else None
    if excel is not None:
        before = list(_until_row(lines))
    found = source.form.separator or (excel[1] if excel is not None else None)
    if found is None:
        row = "".join(before)
        if sign is not None:  # a name may contain any character
            row = re.sub(f"{re.escape(sign)}[^{re.escape(sign)}]*{re.escape(sign)}", "", row)
        found = max(delimiters, key=row.count)
        if found != delimiters[0]:
            source.note(f"the fields are separated by {_NAMES[found]}")
    elif excel is not None:
        source.note(f"the fields are separated by {quoted(found)}, as its first line says")
    return before, found


def _until_row(lines: Iterator[str]) -> Iterator[str]:
    """Take blank lines and the line after them."""
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
