"""The error for records without a field of the text: it names their fields, and suggests the id and the text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import islice

from gem_index.errors import Action, Advice, Message, MissingFieldError, RecordError
from gem_index.errors.quoting import quoted
from gem_index.readers.field_choice import choose_fields
from gem_index.readers.field_summaries import FieldSummaries
from gem_index.readers.fields import Fields
from gem_index.readers.lines import Record

__all__ = ["missing_field"]

_SAMPLED = 200
_NO_NAME = re.compile(r"[0-9.,:/ -]+|(?:\S+\s+){4,}\S+")  # a number or a date, or five words


def missing_field(
    name: str,
    line: int,
    wanted: str,
    fields: Fields,
    rest: Iterable[Record],
    *,
    id: str | None,
    text: Sequence[str],
    is_table: bool,
) -> RecordError:
    """Return the error of records that do not have a wanted field.

    Parameters
    ----------
    name : str
        The file.
    line : int
        Of the first record.
    wanted : str
    fields : dict
        Of the first record.
    rest : iterable of Record
        The following records; some of them are read.
    id, text
        The given fields.
    is_table : bool
        Whether the names of the fields come from the first row of a table.
    """
    more = (each for _, each in islice(rest, _SAMPLED) if not isinstance(each, Message))
    summaries = FieldSummaries([fields, *more]).summaries(languages=False)
    if is_table and any(_NO_NAME.fullmatch(each.name) for each in summaries):
        names = ", ".join(quoted(each.name) for each in summaries[:8])
        problem = (
            f"no field {quoted(wanted)}, found {names}; expected names of columns in the first row"
        )
        return RecordError(name, line, Message(problem, Advice(Action.NAME_NO_HEADER)))
    found = [
        f"{quoted(each.name)} ({each.type}{f' {each.samples[0]}' if each.samples else ''})"
        for each in summaries
    ]
    choice = choose_fields(summaries, id, text)
    named = choice.id if choice.id != "id" or wanted == id else None
    return MissingFieldError(name, line, wanted, found, named, choice.text)
