"""Labeled examples: documents by id, or texts, each with the label that a person gave it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gem_index.common.settings import load_settings
from gem_index.errors import InputError, RecordError
from gem_index.errors.quoting import quoted
from gem_index.readers.objects import rows_of
from gem_index.readers.records import DocumentReader
from gem_index.readers.values import UNSUPPORTED, json_value

__all__ = ["Example", "read_examples"]

_FORM = 'expected an id or a text with its label, such as {"id": "7", "label": "billing"}'


@dataclass(frozen=True)
class Example:
    """A label, and the id of a document, a text, or both."""

    label: str
    id: str | None
    text: str | None


def read_examples(source: Any, field: str) -> list[Example]:
    """Return the labeled examples of a source; records without a label are left out.

    Parameters
    ----------
    source : str, Path or iterable
        A file (.csv, .tsv, .xlsx, .parquet, .jsonl, .json), a data frame, or mappings. A record has the label in ``label``
        or in ``field``, and ``id``, ``text`` or both.
    field : str
        Another name of the label.

    Raises
    ------
    RecordError
        If a record has neither an id nor a text, or its label is not a string, a number or a boolean.
    InputError
        If no record has a label, or the file cannot be read.
    """
    name = str(source) if isinstance(source, str | Path) else "examples"
    found = []
    for place, record in _records(source):
        example = _example(record, field)
        if isinstance(example, Example):
            found.append(example)
        elif example:
            raise RecordError(name, place, f"found {quoted(record)}; {_FORM}")
    if not found:
        raise InputError(f"{name} has no labels; {_FORM}")
    return found


def _records(source: Any) -> Iterator[tuple[int, Any]]:
    if isinstance(source, str | Path):
        limit = load_settings().max_record_bytes
        yield from DocumentReader([str(source)], max_record_bytes=limit).records()
        return
    yield from enumerate(rows_of(source), 1)


def _example(record: Any, field: str) -> Example | bool:
    """Return the example of a record; False for one without a label, True for a wrong one."""
    if not isinstance(record, Mapping):
        return True
    try:
        label, identifier, text = (
            json_value(value)  # NaN of a frame is None
            for value in (
                record.get("label", record.get(field)),
                record.get("id"),
                record.get("text"),
            )
        )
    except UNSUPPORTED:
        return True
    if label in (None, ""):
        return False
    if isinstance(identifier, float) and identifier.is_integer():
        identifier = int(identifier)
    kinds = ((label, str | int | float), (identifier, str | int | None), (text, str | None))
    if not all(isinstance(value, kind) for value, kind in kinds):
        return True
    if identifier in (None, "") and not text:
        return True
    known = None if identifier in (None, "") else str(identifier)
    return Example(str(label), known, str(text) if text else None)
