"""Write documents, and results that name documents, as rows of a table with chosen metadata fields."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from gem_index.common.arrays import F32
from gem_index.documents import Document

__all__ = [
    "OWN_COLUMNS",
    "column_names",
    "rows_of_documents",
    "rows_with_fields",
    "rows_with_vectors",
]

OWN_COLUMNS = ("id", "text")
_BLOCK = 1000  # documents


def column_names(fields: Sequence[str], own: Sequence[str]) -> dict[str, str]:
    """Return the column of each metadata field: the field's name, or ``metadata.NAME`` if another column has this name."""
    return {field: f"metadata.{field}" if field in own else field for field in fields}


def rows_of_documents(
    documents: Iterable[Document], columns: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    """Iterate over the rows of documents: id, text, and the chosen fields that the document has."""
    for document in documents:
        yield {"id": document.id, "text": str(document.text), **_fields(document, columns)}


def rows_with_vectors(
    documents: Iterable[Document],
    columns: Mapping[str, str],
    encode: Callable[[list[str]], F32],
) -> Iterator[dict[str, Any]]:
    """Iterate over the rows of documents; each row also has the document's ``vector``, a float32 array."""
    iterator = iter(documents)
    while block := list(islice(iterator, _BLOCK)):
        vectors = encode([each.text for each in block])
        for row, vector in zip(rows_of_documents(block, columns), vectors, strict=True):
            yield {**row, "vector": vector}


def rows_with_fields(
    rows: Iterable[Mapping[str, Any]],
    columns: Mapping[str, str],
    get: Callable[[list[str]], list[Document]],
) -> Iterator[dict[str, Any]]:
    """Iterate over rows, and add to each row the metadata fields of the document with its ``id``."""
    if not columns:
        yield from map(dict, rows)
        return
    iterator = iter(rows)
    while block := list(islice(iterator, _BLOCK)):
        found = {each.id: each for each in get([row["id"] for row in block])}
        for row in block:
            document = found.get(row["id"])
            yield {**row, **(_fields(document, columns) if document is not None else {})}


def _fields(document: Document, columns: Mapping[str, str]) -> dict[str, Any]:
    found = {column: _value(document.metadata, field) for field, column in columns.items()}
    return {column: value for column, value in found.items() if value is not None}


def _value(metadata: Mapping[str, Any], field: str) -> Any:
    """Return the value of a field, None without the field. The name is as in filters: ``outer.inner`` inside an object."""
    if field in metadata:
        return metadata[field]
    outer, _, inner = field.partition(".")
    below = metadata.get(outer)
    return _value(below, inner) if inner and isinstance(below, Mapping) else None
