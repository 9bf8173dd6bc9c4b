"""The metadata fields in a sample of documents, and the number of documents with each value of a field."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from gem_index.files.tables import Tabular
from gem_index.store.documents import DocumentRepository

__all__ = ["FieldCounts", "MetadataField", "ValueCount", "fields_of_sample", "metadata_fields"]

_SAMPLED = 200  # documents
_MOST_FIELDS = 100
_VALUES = 5
_LONGEST_VALUE = 100  # characters, in JSON; longer values are not listed


@dataclass(frozen=True)
class MetadataField:
    """A field of the metadata, in a sample of the documents.

    - ``name``: the name of the field in filters
    - ``kinds``: the kinds of the field's values, such as ``number``, ``ISO date`` or ``text``
    - ``values``: the most frequent short values
    - ``documents``: the share of the documents that have the field, from 0 to 1
    - ``distinct``: the number of different values; each member of a list is a value
    """

    name: str
    kinds: tuple[str, ...]
    values: tuple[Any, ...]
    documents: float
    distinct: int


@dataclass(frozen=True)
class ValueCount:
    """A value of a metadata field, and the number of documents that have this value."""

    value: str | float | bool
    documents: int


@dataclass(frozen=True)
class FieldCounts(Tabular):
    """The number of documents with each value of a metadata field; a table with a row for each value.

    ``documents`` is the number of counted documents, ``missing`` the number of documents without a value, and
    ``distinct`` the number of different values. ``values`` has the most frequent value first; periods are in the order
    of time.
    """

    field: str
    documents: int
    missing: int
    distinct: int
    values: tuple[ValueCount, ...]

    columns = ("value", "documents")

    def rows(self) -> Iterator[dict[str, Any]]:
        """Iterate over the rows of the values."""
        return (asdict(each) for each in self.values)


def metadata_fields(documents: DocumentRepository) -> list[MetadataField]:
    """Return the fields of a sample of documents; see :meth:`gem_index.Collection.metadata_fields`."""
    return fields_of_sample(documents, documents.metadata_sample(_SAMPLED))


def fields_of_sample(documents: DocumentRepository, sample: Sequence[str]) -> list[MetadataField]:
    """Return the fields in a sample of metadata, which are JSON texts; the most frequent field is first."""
    counts: dict[str, Counter[str]] = {}
    for metadata in sample:
        for name, value in _fields(json.loads(metadata)):
            counts.setdefault(name, Counter())[json.dumps(value, ensure_ascii=False)] += 1
    fields = sorted(counts.items(), key=lambda field: -field[1].total())[:_MOST_FIELDS]
    return [
        MetadataField(
            name,
            tuple(sorted(documents.kinds_in(name, sample))),
            tuple(json.loads(value) for value in _short(values)),
            values.total() / len(sample),
            _distinct(values),
        )
        for name, values in fields
    ]


def _fields(metadata: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Iterate over the fields of metadata: the name in filters, and the value."""
    for key, value in metadata.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping) and not set(key).intersection('."['):
            yield from _fields(value, f"{name}.")
        elif not prefix or not set(key).intersection('."['):
            yield name, value


def _distinct(values: Counter[str]) -> int:
    """Return the number of different values, given as JSON texts; each member of a list is a value."""
    found: set[str] = set()
    for value in values:
        known = json.loads(value) if value.startswith("[") else None
        found.update([value] if known is None else map(json.dumps, known))
    return len(found)


def _short(values: Counter[str]) -> list[str]:
    """Return the most frequent values whose JSON is short."""
    short = (value for value, _ in values.most_common() if len(value) <= _LONGEST_VALUE)
    return [value for value, _ in zip(short, range(_VALUES), strict=False)]
