"""The names of a table's columns, from its first row or from the user."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from gem_index.errors import Message, RecordError
from gem_index.errors.quoting import quoted
from gem_index.readers.fields import Fields
from gem_index.readers.lines import RecordFile

__all__ = ["column_names", "row_fields"]


def column_names(source: RecordFile, line: int, first: Sequence[str]) -> list[str]:
    """Return the names of the columns of a table: from its first row, from the user, or made from their numbers.

    Spaces around a name are removed. If a name differs from the field of the id or the text only in upper and lower case, it
    becomes the name of that field. Both changes are noted.

    Raises
    ------
    RecordError
        If the user names another number of columns, or two columns of the header have the same name.
    """
    form = source.form
    if form.column_names is not None:
        if len(form.column_names) != len(first):
            raise RecordError(
                source.name,
                line,
                f"found {len(first)} columns; expected {len(form.column_names)}, one for each name that was given",
            )
        return list(form.column_names)
    if not form.header:
        return [f"column{number}" for number in range(1, len(first) + 1)]
    counts = Counter(first)
    twice = next((name for name in first if name and counts[name] > 1), None)
    if twice is not None:
        raise RecordError(
            source.name,
            line,
            f"the header has several columns {quoted(twice)}; expected different names: rename one",
        )
    names = _recognised(first, source.wanted)
    for found, name in zip(first, names, strict=True):
        if found != name:
            source.note(f"the column {quoted(found)} is read as {quoted(name)}")
    return names


def _recognised(header: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """Return a header without spaces around names, and with the expected spelling of the fields of id and text."""
    alike = Counter(_folded(name) for name in header)
    fields = {_folded(name): name for name in wanted if name not in header}
    stripped = Counter(name.strip() for name in header)
    names = []
    for name in header:
        folded = _folded(name)
        if folded in fields and alike[folded] == 1:
            names.append(fields[folded])
        elif stripped[name.strip()] == 1 and name not in wanted:
            names.append(name.strip())
        else:
            names.append(name)
    return names


def _folded(name: str) -> str:
    return name.strip().casefold()


def row_fields(names: Sequence[str], row: Sequence[object]) -> Fields | Message:
    """Return the fields of a row, or the problem if the number of fields is not the number of columns."""
    if len(row) != len(names):
        return Message(f"found {len(row)} columns; expected {len(names)} as in the first row")
    return dict(zip(names, row, strict=True))
