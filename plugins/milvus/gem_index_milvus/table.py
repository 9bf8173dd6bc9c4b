"""One generation of a collection: the fields ``pk``, ``id``, ``vector``, ``text`` and ``metadata``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID, uuid5

import numpy as np
import numpy.typing as npt
from pymilvus import DataType, MilvusClient

from gem_index import Neighbour, TargetDocument, TargetSchema
from gem_index.errors import RejectedDocumentsError
from gem_index_milvus.database import Database, TooLargeError

__all__ = ["MilvusTable", "primary_key", "read_schema"]

_NAMESPACE = UUID("0f8a4ad3-7d8a-5b4c-8f3e-2f6c1d9be7a4")
_LONGEST = 65_535  # bytes of a VARCHAR
_LARGEST_JSON = 65_536  # bytes
_LARGEST_K = 16_384
_REQUEST = 16_000_000  # bytes; a server takes 64 MB
_IDS = 5000  # of one request
_PAGE = 500


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
    """Return what a push recorded in a collection, from its description by pymilvus; None if it is not one of ours."""
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
        self.name = name
        self.schema = schema

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
        self._call(
            "create_collection",
            schema=fields,
            index_params=index,
            properties=self.schema.to_strings(),
            consistency_level="Strong",
        )

    def unsupported(self, metadata: Mapping[str, Any]) -> list[str]:
        """Return the fields with integers beyond 64 bits, and the largest ones while the metadata exceeds 65,536 bytes."""
        refused = [name for name, value in metadata.items() if not _is_exact(value)]
        kept = {name: value for name, value in metadata.items() if name not in refused}
        while kept and _size(kept) > _LARGEST_JSON:
            largest = max(kept, key=lambda name: _size({name: kept[name]}))
            refused.append(largest)
            del kept[largest]
        return [name for name in metadata if name in refused]

    def upsert(self, documents: Sequence[TargetDocument]) -> None:
        """Insert or replace documents, in requests of at most 16 MB."""
        for document in documents:
            self.schema.check_vector(document.vector)
        latest = list({document.id: document for document in documents}.values())
        reasons = {document.id: reason for document in latest if (reason := _too_long(document))}
        if reasons:
            raise RejectedDocumentsError(self._target, reasons)
        for part in self._parts(latest):
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

    def query(self, vector: npt.NDArray[np.float32], k: int) -> list[Neighbour]:
        """Return the k nearest documents, at most 16,384; a zero vector has the score 0."""
        if k < 1:
            return []
        self._load()
        [hits] = self._call(
            "search",
            data=[vector.tolist()],
            limit=min(k, _LARGEST_K),
            output_fields=["id"],
            consistency_level="Strong",
        )
        return [Neighbour(hit["entity"]["id"], hit["distance"]) for hit in hits]

    def documents(self) -> Iterator[TargetDocument]:
        """Iterate over the documents by pages."""
        self._load()
        pages = self._call(
            "query_iterator",
            batch_size=_PAGE,
            output_fields=["id", "vector", "text", "metadata"],
            consistency_level="Strong",
        )
        try:
            while True:
                with self._database.named_errors():
                    rows = pages.next()
                if not rows:
                    return
                for row in rows:
                    yield TargetDocument(
                        row["id"],
                        np.array(row["vector"], np.float32),
                        row["text"],
                        row["metadata"],
                    )
        finally:
            pages.close()

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

    def _parts(self, documents: Sequence[TargetDocument]) -> Iterator[list[TargetDocument]]:
        """Divide documents into parts whose requests are small enough."""
        part: list[TargetDocument] = []
        held = 0
        for document in documents:
            strings = len(document.id.encode()) + len((document.text or "").encode())
            size = strings + _size(document.metadata) + 4 * self.schema.dimension + 100
            if part and held + size > _REQUEST:
                yield part
                part, held = [], 0
            part.append(document)
            held += size
        if part:
            yield part

    def _send(self, documents: Sequence[TargetDocument]) -> None:
        """Upsert documents by one request, or by halves where the server takes only smaller ones."""
        rows = [
            {
                "pk": primary_key(document.id),
                "id": document.id,
                "vector": document.vector.tolist(),
                "text": document.text,
                "metadata": dict(document.metadata),
            }
            for document in documents
        ]
        try:
            self._call("upsert", data=rows)
        except TooLargeError as error:
            if len(documents) == 1:
                raise RejectedDocumentsError(self._target, {documents[0].id: str(error)}) from error
            middle = len(documents) // 2
            self._send(documents[:middle])
            self._send(documents[middle:])


def _too_long(document: TargetDocument) -> str:
    """Return why Milvus cannot store a document; empty if it can."""
    for name, value in (("id", document.id), ("text", document.text or "")):
        size = len(value.encode())
        if size > _LONGEST:
            return f"its {name} has {size} bytes, and Milvus stores at most {_LONGEST}"
    return ""


def _size(metadata: Mapping[str, Any]) -> int:
    return len(json.dumps(dict(metadata), ensure_ascii=False).encode())


def _is_exact(value: Any) -> bool:
    if isinstance(value, Mapping):
        return all(map(_is_exact, value.values()))
    if isinstance(value, list | tuple):
        return all(map(_is_exact, value))
    return not isinstance(value, int) or -(2**63) <= value < 2**64
