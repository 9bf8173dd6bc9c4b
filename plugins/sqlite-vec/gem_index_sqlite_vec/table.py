"""One generation of a table: the documents, their vectors in a virtual table of sqlite-vec, and the words of each term."""

# ruff: noqa: S608 - names are checked and quoted, values are parameters

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from itertools import compress
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from gem_index.targets import (
    Condition,
    Neighbor,
    SparseVector,
    TargetBatch,
    TargetDocument,
    TargetSchema,
)
from gem_index_sqlite_vec.database import Database

__all__ = ["SqliteVecTable"]

_LARGEST_K = 4096  # the largest k of sqlite-vec's own nearest-neighbour query


class SqliteVecTable:
    """A table of documents and a vec0 table with the same row ids.

    A zero vector is not in the vec0 table: its cosine distance is NULL there, which would come first.

    Parameters
    ----------
    database : Database
    name : str
        Of the table of documents; that of the vectors is ``<name>_vectors``, and that of the words ``<name>_words``.
    schema : TargetSchema
    """

    def __init__(self, database: Database, name: str, schema: TargetSchema) -> None:
        self._database = database
        self._documents = f'"{name}"'
        self._vectors = f'"{name}_vectors"'
        self._words = f'"{name}_words"'
        self._conditions: Sequence[Condition] = ()
        self.schema = schema

    def narrowed(self, conditions: Sequence[Condition]) -> Self:
        """Return the same table, whose ``query`` and ``match`` find only rows that meet all conditions."""
        narrowed = copy(self)
        narrowed._conditions = tuple(conditions)
        return narrowed

    def create(self) -> None:
        """Create the tables; the caller has begun a transaction."""
        self._database.rows(
            f"CREATE TABLE {self._documents} "
            "(rowid INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, text TEXT, metadata TEXT NOT NULL)"
        )
        self._database.rows(
            f"CREATE VIRTUAL TABLE {self._vectors} "
            f"USING vec0(embedding float[{self.schema.dimension}] distance_metric=cosine)"
        )
        if self.schema.words:
            self._database.rows(
                f"CREATE TABLE {self._words} (term INTEGER NOT NULL, document INTEGER NOT NULL, value REAL NOT NULL, "
                "PRIMARY KEY (term, document)) WITHOUT ROWID"
            )
            self._database.rows(
                f'CREATE INDEX {self._words[:-1]}_of_document" ON {self._words} (document)'
            )

    def upsert(self, documents: Sequence[TargetDocument]) -> None:
        """Insert or replace documents, all of them in one transaction."""
        batch = TargetBatch.of(documents, self.schema)
        database = self._database
        with database.transaction():
            if not batch.new:
                self._remove(batch.ids)
            [(last,)] = database.rows(f"SELECT coalesce(max(rowid), 0) FROM {self._documents}")
            rows = range(last + 1, last + 1 + len(batch))
            database.insert(
                self._documents,
                ("rowid", "id", "text", "metadata"),
                zip(rows, batch.ids, batch.texts, batch.as_json, strict=True),
            )
            has_words = np.asarray(batch.vectors.any(axis=1)).tolist()
            vectors = zip(rows, _to_blobs(batch.vectors), strict=True)
            database.insert(self._vectors, ("rowid", "embedding"), compress(vectors, has_words))
            if self.schema.words:
                database.insert(
                    self._words,
                    ("term", "document", "value"),
                    (
                        (term, row, value)
                        for row, words in zip(rows, batch.words, strict=True)
                        if words is not None
                        for term, value in zip(
                            words.indices.tolist(), words.values.tolist(), strict=True
                        )
                    ),
                )

    def delete(self, ids: Sequence[str]) -> None:
        """Delete documents, all of them in one transaction."""
        with self._database.transaction():
            self._remove(ids)

    def _remove(self, ids: Sequence[str]) -> None:
        """Delete documents; the caller has begun a transaction."""
        keys = [(identifier,) for identifier in ids]
        row = f"(SELECT rowid FROM {self._documents} WHERE id = ?)"
        self._database.execute_many(f"DELETE FROM {self._vectors} WHERE rowid = {row}", keys)
        if self.schema.words:
            self._database.execute_many(f"DELETE FROM {self._words} WHERE document = {row}", keys)
        self._database.execute_many(f"DELETE FROM {self._documents} WHERE id = ?", keys)

    def count(self) -> int:
        """Return the number of documents."""
        [(count,)] = self._database.rows(f"SELECT count(*) FROM {self._documents}")
        return int(count)

    def query(self, vector: npt.NDArray[np.float32], k: int) -> list[Neighbor]:
        """Return the k nearest documents, by sqlite-vec's exact search; a zero vector has the score 0."""
        if k < 1:
            return []
        met, values = self._narrowing("rowid")
        if not vector.any():
            rows = self._database.rows(
                f"SELECT id FROM {self._documents} WHERE {met} LIMIT ?2",
                (None, k, *values),
            )
            return [Neighbor(identifier, 0.0) for (identifier,) in rows]
        if k <= _LARGEST_K:
            distance, nearest = "distance", f"WHERE embedding MATCH ?1 AND k = ?2 AND {met}"
        else:
            distance = "vec_distance_cosine(embedding, ?1)"
            nearest = f"WHERE {met} ORDER BY {distance} LIMIT ?2"
        with self._database.transaction(write=False):
            rows = self._database.rows(
                f"WITH near AS MATERIALIZED (SELECT rowid AS place, {distance} AS distance "
                f"FROM {self._vectors} {nearest}) "
                f"SELECT d.id, near.distance FROM near JOIN {self._documents} AS d ON d.rowid = near.place",
                (*_to_blobs(vector[None]), k, *values),
            )
            hits = [Neighbor(identifier, 1.0 - far) for identifier, far in rows]
            if len(hits) < k or any(hit.score < 0 for hit in hits):
                hits += self._without_words(k)
        return sorted(hits, key=lambda hit: -hit.score)[:k]

    def match(self, words: SparseVector, k: int) -> list[Neighbor]:
        """Return the k documents with the largest inner product of words, from the table of words."""
        asked = json.dumps(list(zip(words.indices.tolist(), words.values.tolist(), strict=True)))
        met, values = self._narrowing("w.document")
        rows = self._database.rows(
            "SELECT d.id, found.score FROM (SELECT w.document, sum(w.value * (q.value ->> 1)) AS score "
            f"FROM json_each(?1) AS q JOIN {self._words} AS w ON w.term = q.value ->> 0 "
            f"WHERE {met} GROUP BY w.document ORDER BY score DESC LIMIT ?2) AS found "
            f"JOIN {self._documents} AS d ON d.rowid = found.document ORDER BY found.score DESC",
            (asked, max(0, k), *values),
        )
        return [Neighbor(identifier, score) for identifier, score in rows]

    def finish(self) -> None:
        """Do nothing."""

    def documents(self) -> Iterator[TargetDocument]:
        """Iterate over the documents, all of one state of the database."""
        yield from map(self._document, self._database.iterate(self._whole_rows))

    def fetch(self, ids: Sequence[str]) -> dict[str, TargetDocument]:
        """Return documents, all of one state of the database."""
        rows = self._database.rows(
            f"{self._whole_rows} WHERE d.id IN (SELECT value FROM json_each(?))",
            (json.dumps(list(ids)),),
        )
        return {document.id: document for document in map(self._document, rows)}

    @property
    def _whole_rows(self) -> str:
        words = (
            f"(SELECT json_group_array(json_array(term, value)) FROM {self._words} WHERE document = d.rowid)"
            if self.schema.words
            else "NULL"
        )
        return (
            f"SELECT d.id, d.text, d.metadata, v.embedding, {words} FROM {self._documents} AS d "
            f"LEFT JOIN {self._vectors} AS v ON v.rowid = d.rowid"
        )

    def _document(self, row: Sequence[Any]) -> TargetDocument:
        identifier, text, metadata, blob, words = row
        vector = (
            np.zeros(self.schema.dimension, np.float32)
            if blob is None
            else np.frombuffer(blob, "<f4").astype(np.float32)
        )
        found = None
        if words is not None:
            terms, values = zip(*json.loads(words), strict=True) if words != "[]" else ((), ())
            found = SparseVector.summed(terms, values)
        return TargetDocument(identifier, vector, text, json.loads(metadata), found)

    def metadata_of(self, ids: Sequence[str]) -> dict[str, Mapping[str, Any]]:
        """Return the metadata of documents, all of one state of the database."""
        statement = f"SELECT id, metadata FROM {self._documents} WHERE id = ?"
        with self._database.transaction(write=False):
            rows = [row for each in ids for row in self._database.rows(statement, (each,))]
        return {identifier: json.loads(metadata) for identifier, metadata in rows}

    def _without_words(self, k: int) -> list[Neighbor]:
        """Return up to k of the documents whose vector is zero."""
        met, values = self._narrowing("rowid")
        rows = self._database.rows(
            f"SELECT id FROM {self._documents} "
            f"WHERE rowid NOT IN (SELECT rowid FROM {self._vectors}) AND {met} LIMIT ?2",
            (None, k, *values),
        )
        return [Neighbor(identifier, 0.0) for (identifier,) in rows]

    def _narrowing(self, row: str) -> tuple[str, list[Any]]:
        """Return the SQL condition that a row meets all conditions, and its values, whose numbers begin at 3.

        ``json_each`` returns a value that is no list as its only member. Texts are larger than all numbers.
        """
        met, values = [], list[Any]()
        for each in self._conditions:
            values.append(f'$."{each.field}"')
            member = f"FROM json_each(metadata, ?{2 + len(values)}) WHERE"
            for comparison, bound in ((">=", each.least), ("<=", each.most)):
                if bound is not None:
                    values.append(bound)
                    met.append(f"EXISTS (SELECT 1 {member} value {comparison} ?{2 + len(values)})")
            if each.values:
                values.append(json.dumps(each.values))
                among = f"(SELECT value FROM json_each(?{2 + len(values)}))"
                met.append(f"EXISTS (SELECT 1 {member} value IN {among})")
        if not met:
            return "TRUE", values
        return f"{row} IN (SELECT rowid FROM {self._documents} WHERE {' AND '.join(met)})", values


def _to_blobs(vectors: npt.NDArray[np.float32]) -> list[bytes]:
    """Return each of some vectors (n, d) as sqlite-vec stores it."""
    rows = np.ascontiguousarray(vectors, "<f4")
    blobs: list[bytes] = rows.view(f"V{rows.itemsize * rows.shape[1]}").ravel().tolist()
    return blobs
