"""One collection of Chroma."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from itertools import islice
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from chromadb import Collection, GetResult, Where
from chromadb.api.collection_configuration import CreateHNSWConfiguration

from gem_index.targets import Condition, Neighbor, TargetBatch, TargetDocument, TargetSchema
from gem_index_chroma.connection import Connection
from gem_index_chroma.metadata import changes, is_supported

__all__ = ["CONFIGURATION", "ChromaTable", "pages_of"]

CONFIGURATION: CreateHNSWConfiguration = {
    "space": "cosine",
    "ef_construction": 200,
    "max_neighbors": 32,
    "ef_search": 200,
}
"""Settings of Chroma's index: twice the defaults, so that it finds nearly all nearest vectors among many, too."""

_PAGE = 1000
_LONGEST_REQUEST = 8 * 2**20  # bytes; servers refuse requests of more than about 40 MB


class ChromaTable:
    """A collection of Chroma.

    Parameters
    ----------
    connection : Connection
    collection : chromadb.Collection
    schema : TargetSchema
    """

    def __init__(
        self, connection: Connection, collection: Collection, schema: TargetSchema
    ) -> None:
        self._connection = connection
        self._collection = collection
        self._where: Where | None = None
        self.schema = schema

    def narrowed(self, conditions: Sequence[Condition]) -> Self:
        """Return the same table, whose ``query`` finds only rows that meet the conditions with at most 20 values."""
        narrowed = copy(self)
        met = [_met(each) for each in conditions if each.is_short and is_supported(each.field, 0)]
        narrowed._where = _joined("$and", met) if met else None
        return narrowed

    def rename(self, name: str) -> None:
        """Rename the collection; programs that have it open can still use it."""
        with self._connection.errors():
            self._collection.modify(name=name)

    def upsert(self, documents: Sequence[TargetDocument]) -> None:
        """Insert or replace documents, in requests of the size that Chroma takes."""
        batch = TargetBatch.of(documents, self.schema)
        for part in self._parts(batch):
            with self._connection.errors():
                self._upsert(part)

    def _upsert(self, batch: TargetBatch) -> None:
        metadata = {} if batch.new else self._stored_metadata(batch)
        changed: list[Any] = [
            changes(metadata.get(identifier), new)
            for identifier, new in zip(batch.ids, batch.metadata, strict=True)
        ]
        texts: list[Any] = batch.texts  # Chroma takes None for "no documents"
        write = self._collection.add if batch.new else self._collection.upsert
        write(
            batch.ids,
            embeddings=np.asarray(batch.vectors, np.float32),
            documents=texts,
            metadatas=changed,
        )

    def _stored_metadata(self, batch: TargetBatch) -> dict[str, Any]:
        """Return the stored metadata of documents; delete documents whose stored text an upsert would keep by mistake."""
        stored = self._collection.get(batch.ids, include=["metadatas", "documents"])
        metadata = dict(zip(stored["ids"], stored["metadatas"] or (), strict=True))
        texts = dict(zip(stored["ids"], stored["documents"] or (), strict=True))
        bare = [
            identifier
            for identifier, text in zip(batch.ids, batch.texts, strict=True)
            if text is None and texts.get(identifier) is not None
        ]
        if bare:
            self._collection.delete(bare)
        return {key: value for key, value in metadata.items() if key not in bare}

    def delete(self, ids: Sequence[str]) -> None:
        """Delete documents by id."""
        unique = iter(dict.fromkeys(ids))
        with self._connection.errors():
            size = self._connection.client().get_max_batch_size()
            while part := list(islice(unique, size)):
                self._collection.delete(part)

    def count(self) -> int:
        """Return the number of documents."""
        with self._connection.errors():
            return self._collection.count()

    def query(self, vector: npt.NDArray[np.float32], k: int) -> list[Neighbor]:
        """Return the k nearest documents, by Chroma's index; a zero vector has the score 0."""
        if k < 1:
            return []
        with self._connection.errors():
            found = self._collection.query(
                query_embeddings=vector[np.newaxis],
                n_results=k,
                where=self._where,
                include=["distances"],
            )
        distances = found["distances"] or [[]]
        return [
            Neighbor(identifier, 1.0 - distance)
            for identifier, distance in zip(found["ids"][0], distances[0], strict=True)
        ]

    def documents(self) -> Iterator[TargetDocument]:
        """Iterate over the documents, a page at a time."""
        parts = ["embeddings", "metadatas", "documents"]
        for page in pages_of(self._connection, self._collection, parts):
            yield from _documents(page)

    def fetch(self, ids: Sequence[str]) -> dict[str, TargetDocument]:
        """Return documents."""
        if not ids:
            return {}
        with self._connection.errors():
            found = self._collection.get(
                list(dict.fromkeys(ids)), include=["embeddings", "metadatas", "documents"]
            )
        return {document.id: document for document in _documents(found)}

    def metadata_of(self, ids: Sequence[str]) -> dict[str, Mapping[str, Any]]:
        """Return the metadata of documents."""
        if not ids:
            return {}
        with self._connection.errors():
            found = self._collection.get(list(dict.fromkeys(ids)), include=["metadatas"])
        metadata = found["metadatas"] or ()
        return {key: dict(each or {}) for key, each in zip(found["ids"], metadata, strict=True)}

    def finish(self) -> None:
        """Do nothing: Chroma adds to its index by itself."""

    def _parts(self, batch: TargetBatch) -> Iterator[TargetBatch]:
        """Split documents into requests."""
        with self._connection.errors():
            most = self._connection.client().get_max_batch_size()
        return batch.parts(_LONGEST_REQUEST, bytes_of_a_number=6, most=most)


def _met(condition: Condition) -> Where:
    """Return a condition as a filter of Chroma, in which lists of whole numbers and lists of floats are different types."""
    met: list[Any] = []
    if condition.least is not None:
        met = [{condition.field: {"$gte": condition.least}}]
    if condition.most is not None:
        met = [{condition.field: {"$lte": condition.most}}]
    for value in condition.values:
        as_stored = [value]
        if not isinstance(value, bool | str):
            as_stored = [float(value), *({int(value)} if value == int(value) else ())]
        met += [{condition.field: value}]
        met += [{condition.field: {"$contains": each}} for each in as_stored]
    return _joined("$or", met)


def _joined(operator: str, filters: Sequence[Any]) -> Where:
    """Return filters combined; Chroma refuses to combine a single one."""
    joined: Where = filters[0] if len(filters) == 1 else {operator: list(filters)}
    return joined


def pages_of(
    connection: Connection, collection: Collection, parts: list[Any]
) -> Iterator[GetResult]:
    """Iterate over the documents of a collection, a page at a time.

    Parameters
    ----------
    connection : Connection
    collection : chromadb.Collection
    parts : list of str
        The parts of a document to read beside its id: ``documents``, ``metadatas``, ``embeddings``.
    """
    offset = 0
    while True:
        with connection.errors():
            page = collection.get(limit=_PAGE, offset=offset, include=parts)
        if not page["ids"]:
            return
        yield page
        offset += len(page["ids"])


def _documents(page: GetResult) -> Iterator[TargetDocument]:
    vectors = np.asarray(page["embeddings"], np.float32)
    texts, metadata = page["documents"] or (), page["metadatas"] or ()
    for row in zip(page["ids"], vectors, texts, metadata, strict=True):
        yield TargetDocument(*row[:3], dict(row[3] or {}))
