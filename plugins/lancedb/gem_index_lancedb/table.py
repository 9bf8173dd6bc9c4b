"""One table: id, vector, text and metadata."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from datetime import timedelta
from itertools import repeat
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gem_index.targets import (
    WORD_COLUMNS,
    Condition,
    Neighbor,
    SparseVector,
    TargetBatch,
    TargetDocument,
    TargetSchema,
    word_columns,
    word_products,
    word_vectors,
)
from gem_index_lancedb.database import Database
from gem_index_lancedb.embedding import recorded_function

__all__ = ["LanceDbTable", "arrow_schema", "read_schema"]

_PAGE = 1000
_KEPT = timedelta(days=1)
"""Old versions of a table are deleted after this time; until then, programs that have one open can read it."""
_WRITES = 500
"""A table is compacted after this number of writes, and at the end of a push."""


def arrow_schema(schema: TargetSchema) -> pa.Schema:
    """Return the schema of a table, whose metadata holds the values of ours and the embedding function.

    A text without words has no vector. LanceDB's default is the Euclidean distance, with which a vector of zeros would come
    first for a query that is unlike all other texts.
    """
    fields = [
        pa.field("id", pa.string(), nullable=False),
        pa.field("vector", pa.list_(pa.float32(), schema.dimension)),
        pa.field("text", pa.string()),
        pa.field("metadata", pa.json_(), nullable=False),
    ]
    if schema.words:
        fields += [
            pa.field(name, pa.list_(kind))
            for name, kind in zip(WORD_COLUMNS, (pa.int32(), pa.float32()), strict=True)
        ]
    function = {"embedding_functions": recorded_function(schema.fingerprint)}
    return pa.schema(fields, metadata={**schema.to_strings(), **function})


def read_schema(schema: pa.Schema) -> TargetSchema | None:
    """Return the values that :func:`arrow_schema` wrote; None if the table is not one of ours."""
    metadata = {key.decode(): value.decode() for key, value in (schema.metadata or {}).items()}
    return TargetSchema.from_strings(metadata)


class LanceDbTable:
    """A table that LanceDB searches by a scan.

    Parameters
    ----------
    database : Database
    table : lancedb.table.Table
    schema : TargetSchema
    """

    def __init__(self, database: Database, table: Any, schema: TargetSchema) -> None:
        self._database = database
        self._table = table
        self._writes = 0
        self._filter = ""
        self.schema = schema

    def narrowed(self, conditions: Sequence[Condition]) -> Self:
        """Return the same table, whose ``query`` and ``match`` find only rows that meet the conditions.

        Conditions that a JSON path cannot express are left out: fractions, strings that need escapes, and more than 20
        values, because one path per value is slow.
        """
        narrowed = copy(self)
        narrowed._filter = " AND ".join(filter(None, map(_met, conditions)))
        return narrowed

    def upsert(self, documents: Sequence[TargetDocument]) -> None:
        """Insert or replace documents, all of them in one version of the table."""
        batch = TargetBatch.of(documents, self.schema)
        if not batch:
            return
        vectors = np.asarray(batch.vectors, np.float32)
        missing = ~np.asarray(vectors.any(axis=1))
        options: dict[str, Any] = {}
        if missing.any():
            options["on_bad_vectors"] = "null"  # which LanceDB looks for, in all vectors
            # LanceDB would embed the texts itself if all vectors were missing. NaN is not missing, and stored as such.
            vectors = np.where(missing[:, None], np.float32(np.nan), vectors)
        schema = arrow_schema(self.schema)
        rows = pa.table(
            [
                pa.array(batch.ids, pa.string()),
                pa.FixedSizeListArray.from_arrays(vectors.ravel(), self.schema.dimension),
                pa.array(batch.texts, pa.string()),
                pa.ExtensionArray.from_storage(pa.json_(), pa.array(batch.as_json, pa.string())),
                *(word_columns(batch.words).values() if self.schema.words else ()),
            ],
            schema=schema,
        )
        with self._database.errors():
            if batch.new:
                self._table.add(rows, **options)
            else:
                (
                    self._table.merge_insert("id")
                    .when_matched_update_all()
                    .when_not_matched_insert_all()
                    .execute(rows, **options)
                )
            self._count_write()

    def delete(self, ids: Sequence[str]) -> None:
        """Delete documents by id."""
        for begin in range(0, len(ids), _PAGE):
            with self._database.errors():
                self._table.delete(_among(ids[begin : begin + _PAGE]))
                self._count_write()

    def count(self) -> int:
        """Return the number of documents."""
        with self._database.errors():
            return int(self._table.count_rows())

    def query(self, vector: npt.NDArray[np.float32], k: int) -> list[Neighbor]:
        """Return the k nearest documents, by inner product with every vector; one without words has the score 0."""
        if k < 1:
            return []
        with self._database.errors():
            search = (
                self._table.search(vector, vector_column_name="vector")
                .distance_type("dot")
                .bypass_vector_index()
                .select(["id", "_distance"])
                .limit(k)
            )
            if self._filter:
                search = search.where(self._filter, prefilter=True)
            hits = [Neighbor(row["id"], 1.0 - row["_distance"]) for row in search.to_list()]
            if len(hits) < k or hits[-1].score < 0:
                without_words = " AND ".join(filter(None, ["vector IS NULL", self._filter]))
                rows = self._table.search().where(without_words).select(["id"]).limit(k)
                hits += [Neighbor(row["id"], 0.0) for row in rows.to_list()]
        return sorted(hits, key=lambda hit: -hit.score)[:k]

    def match(self, words: SparseVector, k: int) -> list[Neighbor]:
        """Return the k documents with the largest inner product of words, by a scan."""
        with self._database.errors():
            columns = self._table.search().select(["id", *WORD_COLUMNS])
            if self._filter:
                columns = columns.where(self._filter)
            table = columns.limit(max(1, self._table.count_rows())).to_arrow()
        scores = word_products(words, table)
        best = np.argsort(-scores, kind="stable")[: max(0, k)]
        best = best[scores[best] > 0]
        ids = table["id"].take(best).to_pylist()
        return list(map(Neighbor, ids, scores[best].tolist()))

    def documents(self) -> Iterator[TargetDocument]:
        """Iterate over the documents of one version of the table."""
        for batch in self.batches():
            yield from self._documents_of(batch)

    def fetch(self, ids: Sequence[str]) -> dict[str, TargetDocument]:
        """Return documents."""
        if not ids:
            return {}
        columns = [field.name for field in arrow_schema(self.schema)]
        with self._database.errors():
            found = self._table.search().where(_among(ids)).select(columns)
            rows = found.limit(len(ids)).to_arrow().combine_chunks().to_batches()
        return {document.id: document for each in rows for document in self._documents_of(each)}

    def _documents_of(self, batch: pa.RecordBatch) -> Iterator[TargetDocument]:
        vectors = _dense(batch["vector"], np.float32(0))
        texts, metadata = batch["text"].to_pylist(), map(json.loads, batch["metadata"].to_pylist())
        words = word_vectors(batch) if self.schema.words else repeat(None, len(batch))
        rows = zip(batch["id"].to_pylist(), vectors, texts, metadata, words, strict=True)
        for row in rows:
            yield TargetDocument(*row)

    def metadata_of(self, ids: Sequence[str]) -> dict[str, Mapping[str, Any]]:
        """Return the metadata of documents."""
        if not ids:
            return {}
        with self._database.errors():
            found = self._table.search().where(_among(ids)).select(["id", "metadata"])
            rows = found.limit(len(ids)).to_arrow()
        texts = zip(rows["id"].to_pylist(), rows["metadata"].to_pylist(), strict=True)
        return {identifier: json.loads(metadata) for identifier, metadata in texts}

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Iterate over the rows."""
        reader = None
        while True:
            with self._database.errors():
                if reader is None:
                    columns = [field.name for field in arrow_schema(self.schema)]
                    rows = self._table.search().select(columns)
                    reader = rows.limit(max(1, self._table.count_rows())).to_batches(_PAGE)
                batch = next(reader, None)
            if batch is None:
                return
            yield batch

    def reader(self) -> pa.RecordBatchReader:
        """Return the rows as LanceDB takes them when it creates a table: NaN for a missing vector."""
        schema = arrow_schema(self.schema)

        def convert() -> Iterator[pa.RecordBatch]:
            for batch in self.batches():
                vectors = _dense(batch["vector"], np.float32(np.nan)).ravel()
                arrays = [
                    batch["id"],
                    pa.FixedSizeListArray.from_arrays(vectors, self.schema.dimension),
                    batch["text"],
                    batch["metadata"],
                    *(batch[name] for name in WORD_COLUMNS if self.schema.words),
                ]
                yield pa.RecordBatch.from_arrays(arrays, schema=schema)

        return pa.RecordBatchReader.from_batches(schema, convert())

    def finish(self) -> None:
        """Merge small files, bring indexes of the user up to date, and delete versions that are older than a day."""
        with self._database.errors():
            self._table.optimize(cleanup_older_than=_KEPT)
        self._writes = 0

    def _count_write(self) -> None:
        self._writes += 1
        if self._writes >= _WRITES:
            self.finish()


def _dense(vectors: pa.FixedSizeListArray, missing: np.float32) -> npt.NDArray[np.float32]:
    """Return vectors as an array (n, d), with a number in place of the missing ones."""
    present = vectors.is_valid().to_numpy(zero_copy_only=False)
    dense = np.full((len(vectors), vectors.type.list_size), missing, np.float32)
    dense[present] = vectors.flatten().to_numpy().reshape(-1, vectors.type.list_size)
    return dense


def _met(condition: Condition) -> str:
    """Return a condition as SQL with JSON paths, which compare the members of a list one by one.

    LanceDB's JSON paths have only whole numbers, so bounds are widened. Empty if a value cannot be written.
    """
    if not (condition.is_plain and condition.is_short):
        return ""
    path = f'$."{condition.field}"'
    if condition.least is not None:
        return _exists(f"{path} ? (@ >= {math.floor(condition.least)})")
    if condition.most is not None:
        return _exists(f"{path} ? (@ <= {math.ceil(condition.most)})")
    values = [int(each) if _is_whole(each) else each for each in condition.values]
    if any(isinstance(each, float) for each in values):
        return ""
    found = [json.dumps(each, ensure_ascii=False) for each in values]
    return f"({' OR '.join(_exists(f'{path}[*] ? (@ == {each})') for each in found)})"


def _is_whole(value: str | float) -> bool:
    return isinstance(value, float) and value.is_integer()


def _exists(path: str) -> str:
    return f"json_exists(metadata, {_quote(path)})"


def _among(ids: Sequence[str]) -> str:
    """Return the condition that a row has one of some ids."""
    return f"id IN ({', '.join(map(_quote, ids))})"


def _quote(text: str) -> str:
    """Return a string of SQL; only a quote has a special meaning, and is doubled."""
    return "'" + text.replace("'", "''") + "'"
