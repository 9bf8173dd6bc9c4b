"""One generation of a collection: the fields ``pk``, ``id``, ``vector``, ``text`` and ``metadata``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from typing import Any, Self
from uuid import UUID, uuid5

import numpy as np
import numpy.typing as npt
from pymilvus import DataType, MilvusClient

from gem_index.errors import RejectedDocumentsError
from gem_index.targets import (
    Condition,
    Neighbor,
    SparseVector,
    TargetBatch,
    TargetDocument,
    TargetSchema,
)
from gem_index_milvus.database import Database, TooLargeError

__all__ = ["MilvusTable", "pages_of", "primary_key", "read_schema"]

_NAMESPACE = UUID("0f8a4ad3-7d8a-5b4c-8f3e-2f6c1d9be7a4")
_LONGEST = 65_535  # bytes of a VARCHAR
_LARGEST_K = 16_384
_REQUEST = 16_000_000  # bytes; a server takes 64 MB
_IDS = 5000  # of one request
_PAGE = 500
_NO_TERM = 2**31
"""The index that a text without terms has, because Milvus refuses empty sparse vectors; no term has it."""


def primary_key(identifier: str) -> str:
    """Return the primary key of a document, a UUID.

    pymilvus writes keys into filter expressions without escaping them, so a document's id is a field beside it.

    Parameters
    ----------
    identifier : str
        The document's id.
    """
    return str(uuid5(_NAMESPACE, identifier))


def read_schema(description: Mapping[str, Any]) -> TargetSchema | None:
    """Return the record of a push from the description of a collection; None if gem-index did not make the collection."""
    return TargetSchema.from_strings(description.get("properties") or {})


class MilvusTable:
    """A collection that Milvus searches by inner product, which is the cosine similarity of unit vectors.

    The metric is not COSINE because that divides by the length, and a text without words is a zero vector.

    Parameters
    ----------
    database : Database
    name : str
    schema : TargetSchema
    target : str
        The URL without secrets, for errors.
    """

    def __init__(self, database: Database, name: str, schema: TargetSchema, target: str) -> None:
        self._database = database
        self._target = target
        self._loaded = False
        self._filter = ""
        self.name = name
        self.schema = schema

    def narrowed(self, conditions: Sequence[Condition]) -> Self:
        """Return the same table, whose ``query`` and ``match`` find only rows that meet the conditions.

        Some conditions are left out: those whose strings need escapes in Milvus' expressions, and those with more than 20
        values, which milvus-lite compares one by one.
        """
        narrowed = copy(self)
        narrowed._filter = " and ".join(
            _met(each) for each in conditions if each.is_plain and each.is_short
        )
        return narrowed

    def create(self) -> None:
        """Create the collection with its index, and the schema as its properties."""
        fields = MilvusClient.create_schema(auto_id=False, enable_dynamic_field=False)
        fields.add_field("pk", DataType.VARCHAR, is_primary=True, max_length=36)
        fields.add_field("id", DataType.VARCHAR, max_length=_LONGEST)
        fields.add_field("vector", DataType.FLOAT_VECTOR, dim=self.schema.dimension)
        fields.add_field("text", DataType.VARCHAR, max_length=_LONGEST, nullable=True)
        fields.add_field("metadata", DataType.JSON)
        index = MilvusClient.prepare_index_params()
        kind = "FLAT" if self._database.local else "AUTOINDEX"
        index.add_index("vector", index_type=kind, metric_type="IP")
        if self.schema.words:
            fields.add_field("words", DataType.SPARSE_FLOAT_VECTOR)
            index.add_index("words", index_type="SPARSE_INVERTED_INDEX", metric_type="IP")
        self._call(
            "create_collection",
            schema=fields,
            index_params=index,
            properties=self.schema.to_strings(),
            consistency_level="Strong",
        )

    def upsert(self, documents: Sequence[TargetDocument]) -> None:
        """Insert or replace documents, in requests of at most 16 MB."""
        batch = TargetBatch.of(documents, self.schema)
        reasons = {
            identifier: reason
            for identifier, text in zip(batch.ids, batch.texts, strict=True)
            if (reason := _too_long(identifier, text))
        }
        if reasons:
            raise RejectedDocumentsError(self._target, reasons)
        for part in batch.parts(_REQUEST, bytes_of_a_number=4):
            self._send(part)

    def delete(self, ids: Sequence[str]) -> None:
        """Delete documents."""
        for begin in range(0, len(ids), _IDS):
            keys: list[Any] = [primary_key(each) for each in ids[begin : begin + _IDS]]
            self._call("delete", ids=keys)

    def count(self) -> int:
        """Return the number of documents."""
        self._load()
        [row] = self._call("query", output_fields=["count(*)"], consistency_level="Strong")
        return int(row["count(*)"])

    def query(self, vector: npt.NDArray[np.float32], k: int) -> list[Neighbor]:
        """Return the k nearest documents, at most 16,384; a zero vector has the score 0."""
        if k < 1:
            return []
        self._load()
        [hits] = self._call(
            "search",
            data=[vector.tolist()],
            anns_field="vector",
            filter=self._filter,
            limit=min(k, _LARGEST_K),
            output_fields=["id"],
            consistency_level="Strong",
        )
        return [Neighbor(hit["entity"]["id"], hit["distance"]) for hit in hits]

    def match(self, words: SparseVector, k: int) -> list[Neighbor]:
        """Return the k documents with the largest inner product of words, at most 16,384."""
        if k < 1 or not len(words.indices):
            return []
        self._load()
        [hits] = self._call(
            "search",
            data=[_sparse(words)],
            anns_field="words",
            filter=self._filter,
            limit=min(k, _LARGEST_K),
            output_fields=["id"],
            consistency_level="Strong",
        )
        found = [Neighbor(hit["entity"]["id"], hit["distance"]) for hit in hits]
        return [hit for hit in found if hit.score > 0]

    def documents(self) -> Iterator[TargetDocument]:
        """Iterate over the documents by pages."""
        self._load()
        for page in pages_of(self._database, self.name, self._fields):
            yield from map(_document, page)

    def fetch(self, ids: Sequence[str]) -> dict[str, TargetDocument]:
        """Return documents."""
        self._load()
        keys = [primary_key(each) for each in dict.fromkeys(ids)]
        rows = self._call("get", ids=keys, output_fields=self._fields) if keys else []
        return {document.id: document for document in map(_document, rows)}

    @property
    def _fields(self) -> list[str]:
        words = ["words"] if self.schema.words else []
        return ["id", "vector", "text", "metadata", *words]

    def metadata_of(self, ids: Sequence[str]) -> dict[str, Mapping[str, Any]]:
        """Return the metadata of documents."""
        self._load()
        keys = [primary_key(each) for each in dict.fromkeys(ids)]
        rows = self._call("get", ids=keys, output_fields=["id", "metadata"]) if keys else []
        return {row["id"]: row["metadata"] for row in rows}

    def finish(self) -> None:
        """Let milvus-lite write the segments that it searches faster; a server does so by itself."""
        if self._database.local:
            self._call("flush")

    def _call(self, method: str, **arguments: Any) -> Any:
        return self._database.call(method, self.name, **arguments)

    def _load(self) -> None:
        """Load the collection into memory, without which Milvus does not search it."""
        if not self._loaded:
            self._call("load_collection")
            self._loaded = True

    def _send(self, batch: TargetBatch) -> None:
        """Upsert documents by one request; if the server accepts only smaller requests, by halves."""
        rows = [
            {
                "pk": primary_key(identifier),
                "id": identifier,
                "vector": vector,
                "text": text,
                "metadata": dict(metadata),
                **({} if words is None else {"words": _sparse(words)}),
            }
            for identifier, vector, text, metadata, words in zip(
                batch.ids, batch.vectors, batch.texts, batch.metadata, batch.words, strict=True
            )
        ]
        try:
            self._call("insert" if batch.new else "upsert", data=rows)
        except TooLargeError as error:
            if len(batch) == 1:
                raise RejectedDocumentsError(self._target, {batch.ids[0]: str(error)}) from error
            middle = len(batch) // 2
            self._send(batch[:middle])
            self._send(batch[middle:])


def _too_long(identifier: str, text: str | None) -> str:
    """Return why Milvus cannot store a document; empty if it can."""
    for name, value in (("id", identifier), ("text", text or "")):
        size = len(value.encode())
        if size > _LONGEST:
            return f"its {name} has {size} bytes, and Milvus stores at most {_LONGEST}"
    return ""


def _met(condition: Condition) -> str:
    """Return a condition as an expression of Milvus."""
    field = f'metadata["{condition.field}"]'
    if condition.values:
        values = [json.dumps(each, ensure_ascii=False) for each in condition.values]
        equal = " or ".join(
            f"{field} == {each}" for each in values
        )  # milvus-lite does not support 'in' for JSON
        return f"({equal} or json_contains_any({field}, [{', '.join(values)}]))"
    least = "" if condition.least is None else f"{field} >= {condition.least!r}"
    most = "" if condition.most is None else f"{field} <= {condition.most!r}"
    return least or most


def _sparse(words: SparseVector) -> dict[int, float]:
    values = dict(zip(words.indices.tolist(), words.values.tolist(), strict=True))
    return values or {_NO_TERM: 1.0}


def pages_of(database: Database, name: str, fields: list[str]) -> Iterator[list[dict[str, Any]]]:
    """Iterate over some fields of the entities of a collection that is loaded, by pages."""
    pages = database.call(
        "query_iterator",
        name,
        batch_size=_PAGE,
        output_fields=fields,
        consistency_level="Strong",
    )
    try:
        while True:
            with database.named_errors():
                rows = pages.next()
            if not rows:
                return
            yield rows
    finally:
        pages.close()


def _document(row: Mapping[str, Any]) -> TargetDocument:
    words = row.get("words")
    if words is not None:
        values = {index: value for index, value in words.items() if index != _NO_TERM}
        words = SparseVector.summed(list(values), list(values.values()))
    return TargetDocument(
        row["id"],
        np.array(row["vector"], np.float32),
        row["text"],
        row["metadata"],
        words,
    )
