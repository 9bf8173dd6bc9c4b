"""Queries with the ids of their right documents: from a file, a data frame or Python objects."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from gem_index.common.settings import load_settings
from gem_index.errors import InputError, RecordError
from gem_index.errors.quoting import quoted
from gem_index.readers.objects import rows_of
from gem_index.readers.records import DocumentReader
from gem_index.readers.values import UNSUPPORTED, json_value
from gem_index.text.tokens import check_text, tokenize

__all__ = ["read_expected"]

_QUERY = ("query", "question", "text")
_EXPECTED = ("expected", "ids", "id")
_FORM = 'expected a query and the ids of its right documents, such as {"query": "...", "expected": ["1", "2"]}'


def read_expected(source: Any) -> dict[str, list[str]]:
    """Return the ids of the right documents by query; a query that has several records has the ids of all.

    Parameters
    ----------
    source : str, Path or iterable
        A file (.csv, .tsv, .xlsx, .parquet, .jsonl, .json), a data frame, mappings, or pairs (query, ids). A record has the
        query in ``query``, ``question`` or ``text``. In ``expected``, ``ids`` or ``id`` it has one id, a list of ids (in a
        table as JSON), or nothing if no document is right.

    Raises
    ------
    RecordError
        If a record has another form, or its query has no word.
    InputError
        If there are no records, or the file cannot be read.
    """
    name = str(source) if isinstance(source, str | Path) else "queries"
    found: dict[str, list[str]] = {}
    for place, record in _records(source):
        query, ids = _pair(record)
        if not isinstance(query, str) or ids is None:
            raise RecordError(name, place, f"found {quoted(record)}; {_FORM}")
        if not tokenize(check_text(query, "query")):
            raise RecordError(name, place, f"the query {quoted(query)} has no word; {_FORM}")
        known = found.setdefault(query, [])
        known += [each for each in ids if each not in known]
    if not found:
        raise InputError(f"{name} holds no queries; {_FORM}")
    return found


def _records(source: Any) -> Iterator[tuple[int, Any]]:
    if isinstance(source, str | Path):
        limit = load_settings().max_record_bytes
        reader = DocumentReader([str(source)], text_fields=_QUERY, max_record_bytes=limit)
        yield from reader.records()
        return
    rows: Iterable[Any] = source.items() if isinstance(source, Mapping) else rows_of(source)
    yield from enumerate(rows, 1)


def _pair(record: Any) -> tuple[Any, list[str] | None]:
    """Return the query and the ids of a record; None instead of either if it is missing or has another form."""
    if isinstance(record, tuple | list) and len(record) == 2:
        return record[0], _ids(record[1])
    if not isinstance(record, Mapping):
        return None, None
    query = next((record[key] for key in _QUERY if key in record), None)
    key = next((key for key in _EXPECTED if key in record), None)
    return query, None if key is None else _ids(record[key])


def _ids(value: Any) -> list[str] | None:
    """Return a list of ids; None if the value is not an id, a list of ids, or empty."""
    try:
        value = json_value(value)
        if isinstance(value, str) and value.startswith("["):
            value = json.loads(value)
    except UNSUPPORTED:
        return None
    if value is None or value == "":
        return []
    found = [_id(each) for each in value] if isinstance(value, list) else [_id(value)]
    known = [each for each in found if each is not None]
    return known if len(known) == len(found) else None


def _id(value: object) -> str | None:
    if isinstance(value, float) and value.is_integer():  # a column of numbers that has empty cells
        return str(int(value))
    if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
        return str(value)
    return None
