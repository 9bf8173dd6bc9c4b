"""Inspect files of records before a collection is built from them."""

from __future__ import annotations

from dataclasses import dataclass

from gem_index.errors import InputError
from gem_index.readers.field_choice import choose_fields
from gem_index.readers.field_summaries import FieldSummaries, FieldSummary
from gem_index.readers.records import DocumentReader

__all__ = ["Inspection", "inspect_records"]

_MOST = 100_000


@dataclass(frozen=True)
class Inspection:
    """The fields of some files of records.

    Attributes
    ----------
    records : int
        How many were read, without bad ones.
    complete : bool
        Whether these are all records.
    bad : int
        How many more are bad.
    fields : list of FieldSummary
        In the order in which they came first.
    id_field : str or None
        The given field of the id, ``id``, or one that is clearly an id; if it is None, a hash of the content is the id.
    text_fields : tuple of str
        The fields of the text: the given ones, ``text``, or those that are clearly text; empty if there are none.
    metadata : tuple of str
        All other fields.
    """

    records: int
    complete: bool
    bad: int
    fields: list[FieldSummary]
    id_field: str | None
    text_fields: tuple[str, ...]
    metadata: tuple[str, ...]


def inspect_records(reader: DocumentReader) -> Inspection:
    """Return the fields of the first 100,000 records of some files: types, samples, and the use of each in a collection.

    Parameters
    ----------
    reader : DocumentReader
        Its fields of id and text need not exist.

    Raises
    ------
    InputError
        If there is no good record, or a file cannot be read.
    """
    found = FieldSummaries()
    complete = True
    for _, record in reader.records():
        if found.records == _MOST:
            complete = False
            break
        found.add(record)
    if not found.records:
        raise InputError(f"{', '.join(reader.names)} has no good record; expected at least one")
    fields = found.summaries(languages=True)
    choice = choose_fields(fields, reader.id_field, reader.text_fields)
    used = {choice.id, *choice.names}
    metadata = tuple(each.name for each in fields if each.name not in used)
    return Inspection(
        found.records, complete, reader.skipped, fields, choice.id, choice.text, metadata
    )
