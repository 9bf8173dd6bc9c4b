"""One generation of a collection: points with the payload ``id``, ``text`` and ``metadata``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from qdrant_client import models

from gem_index.errors import RejectedDocumentsError
from gem_index.targets import (
    Condition,
    Neighbor,
    SparseVector,
    TargetBatch,
    TargetDocument,
    TargetSchema,
)
from gem_index_qdrant.database import Database, TooLargeError, point_id

__all__ = ["QdrantTable", "scrolled"]

_REQUEST = 16_000_000  # bytes; a server takes 32 MB
_NUMBER = 25  # bytes of a vector's element in JSON, at most
_IDS = 10_000  # of one request
_PAGE = 500
_WORDS = "words"
"""The name of the sparse vectors; the dense ones have none."""


class QdrantTable:
    """A collection that Qdrant searches by cosine similarity.

    Qdrant leaves zero vectors as they are, and their cosine similarity to all others is 0.

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
        self._filter: models.Filter | None = None
        self.name = name
        self.schema = schema

    def narrowed(self, conditions: Sequence[Condition]) -> Self:
        """Return the same table, whose ``query`` and ``match`` find only rows that meet the conditions.

        Some conditions are left out: on fields whose names need quotes in Qdrant, and those with more than 20 values,
        because each number is a range.
        """
        narrowed = copy(self)
        met: list[models.Condition] = [
            _met(each)
            for each in conditions
            if each.is_short and re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", each.field)
        ]
        narrowed._filter = models.Filter(must=met) if met else None
        return narrowed

    def create(self) -> None:
        """Create the collection with the schema as its metadata."""
        vectors = models.VectorParams(size=self.schema.dimension, distance=models.Distance.COSINE)
        self._database.call(
            lambda client: client.create_collection(
                self.name,
                vectors_config=vectors,
                sparse_vectors_config={_WORDS: models.SparseVectorParams()}
                if self.schema.words
                else None,
                metadata=dict(self.schema.to_strings()),
            )
        )

    def upsert(self, documents: Sequence[TargetDocument]) -> None:
        """Insert or replace documents, in requests of at most 16 MB; the server answers when they are stored."""
        batch = TargetBatch.of(documents, self.schema)
        for part in batch.parts(_REQUEST, bytes_of_a_number=_NUMBER):
            self._send(part)

    def delete(self, ids: Sequence[str]) -> None:
        """Delete documents."""
        for begin in range(0, len(ids), _IDS):
            points: list[Any] = [point_id(each) for each in ids[begin : begin + _IDS]]
            selector = models.PointIdsList(points=points)
            self._database.call(
                lambda client, selector=selector: client.delete(self.name, selector, wait=True)  # type: ignore[misc]
            )

    def count(self) -> int:
        """Return the number of documents."""
        return int(self._database.call(lambda client: client.count(self.name, exact=True)).count)

    def query(self, vector: npt.NDArray[np.float32], k: int) -> list[Neighbor]:
        """Return the k nearest documents by cosine similarity; a zero vector has the score 0."""
        if k < 1:
            return []
        found = self._database.call(
            lambda client: client.query_points(
                self.name,
                query=vector.tolist(),
                query_filter=self._filter,
                limit=k,
                with_payload=["id"],
            )
        )
        return [Neighbor(str((hit.payload or {})["id"]), hit.score) for hit in found.points]

    def match(self, words: SparseVector, k: int) -> list[Neighbor]:
        """Return the k documents with the largest inner product of words."""
        if k < 1 or not len(words.indices):
            return []
        found = self._database.call(
            lambda client: client.query_points(
                self.name,
                query=_sparse(words),
                using=_WORDS,
                query_filter=self._filter,
                limit=k,
                with_payload=["id"],
            )
        )
        hits = [Neighbor(str((hit.payload or {})["id"]), hit.score) for hit in found.points]
        return [hit for hit in hits if hit.score > 0]

    def documents(self) -> Iterator[TargetDocument]:
        """Iterate over the documents by pages."""
        yield from map(_document, scrolled(self._database, self.name, with_vectors=True))

    def fetch(self, ids: Sequence[str]) -> dict[str, TargetDocument]:
        """Return documents."""
        points: list[Any] = [point_id(each) for each in dict.fromkeys(ids)]
        records = self._database.call(
            lambda client: client.retrieve(self.name, points, with_payload=True, with_vectors=True)
        )
        return {document.id: document for document in map(_document, records)}

    def metadata_of(self, ids: Sequence[str]) -> dict[str, Mapping[str, Any]]:
        """Return the metadata of documents."""
        points: list[Any] = [point_id(each) for each in dict.fromkeys(ids)]
        records = self._database.call(
            lambda client: client.retrieve(self.name, points, with_payload=["id", "metadata"])
        )
        payloads = [record.payload or {} for record in records]
        return {str(payload["id"]): payload["metadata"] for payload in payloads}

    def finish(self) -> None:
        """Do nothing: a server builds its index by itself."""

    def _send(self, batch: TargetBatch) -> None:
        """Upsert documents by one request; if the server accepts only smaller requests, by halves."""
        points = [
            models.PointStruct(
                id=point_id(identifier),
                vector=vector if words is None else {"": vector, _WORDS: _sparse(words)},
                payload={
                    "id": identifier,
                    **({} if text is None else {"text": text}),
                    "metadata": dict(metadata),
                },
            )
            for identifier, vector, text, metadata, words in zip(
                batch.ids,
                batch.vectors.tolist(),
                batch.texts,
                batch.metadata,
                batch.words,
                strict=True,
            )
        ]
        try:
            self._database.call(lambda client: client.upsert(self.name, points, wait=True))
        except TooLargeError as error:
            if len(batch) == 1:
                raise RejectedDocumentsError(self._target, {batch.ids[0]: str(error)}) from error
            middle = len(batch) // 2
            self._send(batch[:middle])
            self._send(batch[middle:])


def _sparse(words: SparseVector) -> models.SparseVector:
    return models.SparseVector(indices=words.indices.tolist(), values=words.values.tolist())


def _met(condition: Condition) -> models.Filter:
    """Return a condition as a filter; Qdrant compares each member of a list."""
    key = f"metadata.{condition.field}"
    if not condition.values:
        bounds = models.Range(gte=condition.least, lte=condition.most)
        return models.Filter(must=[models.FieldCondition(key=key, range=bounds)])
    among: list[models.Condition] = []
    texts = [value for value in condition.values if isinstance(value, str)]
    if texts:
        among.append(models.FieldCondition(key=key, match=models.MatchAny(any=texts)))
    for value in condition.values:
        if isinstance(value, bool):
            among.append(models.FieldCondition(key=key, match=models.MatchValue(value=value)))
        elif not isinstance(value, str):  # as a range, in which 1 and 1.0 are equal
            among.append(models.FieldCondition(key=key, range=models.Range(gte=value, lte=value)))
    return models.Filter(should=among)


def scrolled(database: Database, name: str, *, with_vectors: bool) -> Iterator[models.Record]:
    """Iterate over the points of a collection, read by pages.

    Parameters
    ----------
    database : Database
    name : str
        Of the collection, or an alias of it.
    with_vectors : bool
    """
    offset: Any = None
    while True:
        records, offset = database.call(
            lambda client, offset=offset: client.scroll(  # type: ignore[misc]
                name, limit=_PAGE, offset=offset, with_payload=True, with_vectors=with_vectors
            )
        )
        yield from records
        if offset is None:
            return


def _document(record: models.Record) -> TargetDocument:
    payload = record.payload or {}
    stored: Any = record.vector
    vectors = stored if isinstance(stored, dict) else {"": stored}
    sparse = vectors.get(_WORDS)
    return TargetDocument(
        str(payload["id"]),
        np.array(vectors[""], np.float32),
        payload.get("text"),
        payload["metadata"],
        None if sparse is None else SparseVector.summed(sparse.indices, sparse.values),
    )
