"""One table: id, vector, text and metadata, and its index."""
# ruff: noqa: S608 - names are checked and quoted, values are parameters

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from pgvector import HalfVector, Vector
from pgvector import SparseVector as PgSparseVector
from psycopg.types.json import Jsonb

from gem_index.errors import ConfigError, RejectedDocumentsError
from gem_index.targets import Neighbor, SparseVector, SqlTable, TargetBatch, TargetSchema
from gem_index_postgresql.database import Database

__all__ = ["LARGEST", "TERMS", "PostgresqlTable"]

LARGEST = {"vector": 2000, "halfvec": 4000}
"""The largest number of dimensions that pgvector's HNSW accepts, by type."""
_NEIGHBOURS, _CANDIDATES = 32, 200
"""Of the HNSW graph. With pgvector's own 16 and 64 a search finds 0.94 of the ten nearest among 10,000 sentences."""
_VALUES: dict[str, Callable[[Any], Any]] = {"vector": Vector, "halfvec": HalfVector}
TERMS = 1_000_000_000
"""The most dimensions of a sparsevec."""
_MOST_TERMS = 16_000
"""The most values of a sparsevec."""
_AS_JSON = partial(Jsonb, dumps=str)  # of a text that is JSON


class PostgresqlTable(SqlTable):
    """A table that pgvector searches by its HNSW index or by a scan.

    Parameters
    ----------
    database : Database
    table : str
    schema : TargetSchema
    kind : {"vector", "halfvec"}, optional
        The type of the vectors; of a new table ``vector`` by default.
    index : {"hnsw", "exact"}, optional
        HNSW by default.
    """

    number_type = "NUMERIC"
    vector_column = "vector::float4[]"
    word_columns = ("words::text",)

    def __init__(
        self,
        database: Database,
        table: str,
        schema: TargetSchema,
        kind: str | None = None,
        index: str | None = None,
    ) -> None:
        super().__init__(database, table, schema)
        self._postgresql = database
        self._kind = kind
        self._index = index

    def create(self) -> None:
        """Create the table; the caller has begun a transaction."""
        kind = self._kind or "vector"
        dimension, largest = self.schema.dimension, LARGEST[kind]
        if self._index != "exact" and dimension > largest:
            raise ConfigError(
                f"found vectors of {dimension} dimensions; expected at most {largest} for HNSW on the type {kind}; "
                "use type=halfvec, or index=exact"
            )
        self._database.rows(
            f"CREATE TABLE {self._table} (id text PRIMARY KEY, vector {kind}({dimension}) NOT NULL, "
            f"text text, metadata jsonb NOT NULL{self._words_type(', words ')})"
        )

    def store(self, batch: TargetBatch) -> None:
        """Insert documents by COPY; documents that may exist already go through a temporary table and one INSERT."""
        self._refuse_zero_bytes(batch)
        kind, database = self._type_as_asked(), self._postgresql
        vectors = map(_VALUES[kind], batch.vectors)
        types, further = [kind, "text"], [vectors, batch.texts]
        names = ["id", "vector", "text"]
        if self.schema.words:
            self._refuse_many_terms(batch)
            names, types = [*names, "words"], [*types, "sparsevec"]
            further.append(map(_to_sparsevec, batch.words))
        columns = f"({', '.join((*names, 'metadata'))})"
        if batch.new:
            database.copy(
                f"COPY {self._table} {columns} FROM STDIN WITH (FORMAT BINARY)",
                ["text", *types, "jsonb"],
                zip(batch.ids, *further, map(_AS_JSON, batch.as_json), strict=True),
            )
            return
        rows = zip(batch.ids, *further, batch.as_json, strict=True)
        with database.transaction():
            database.rows(
                f"CREATE TEMPORARY TABLE gem_batch (id text, vector {kind}, text text"
                f"{self._words_type(', words ')}, metadata text) ON COMMIT DROP"
            )
            database.copy(
                f"COPY gem_batch {columns} FROM STDIN WITH (FORMAT BINARY)",
                ["text", *types, "text"],
                rows,
            )
            changes = ", ".join(f"{name} = excluded.{name}" for name in (*names[1:], "metadata"))
            database.rows(
                f"INSERT INTO {self._table} {columns} SELECT {', '.join(names)}, metadata::jsonb FROM gem_batch "
                f"ON CONFLICT (id) DO UPDATE SET {changes}"
            )

    def query(self, vector: npt.NDArray[np.float32], k: int) -> list[Neighbor]:
        """Return the k nearest documents, by inner product; a zero vector has the score 0."""
        met, values = self.met(3)
        distance = f"vector <#> $1::float4[]::{self._existing_type()}"
        if self._conditions:
            # by a scan: the index would first find rows, and then the filter would remove most of them
            distance = f"({distance}) + 0"
        rows = self._database.rows(
            f"SELECT id, -({distance}) FROM {self._table} WHERE {met} ORDER BY {distance} LIMIT $2",
            [vector.tolist(), max(0, k), *values],
        )
        return [Neighbor(identifier, float(score)) for identifier, score in rows]

    def match(self, words: SparseVector, k: int) -> list[Neighbor]:
        """Return the k documents with the largest inner product of words, by a scan."""
        asked = f"$1::sparsevec({TERMS})"
        met, values = self.met(3)
        rows = self._database.rows(
            f"SELECT id, -(words <#> {asked}) FROM {self._table} WHERE {met} AND words <#> {asked} < 0 "
            f"ORDER BY words <#> {asked} LIMIT $2",
            [_to_sparsevec(words).to_text(), max(0, k), *values],
        )
        return [Neighbor(identifier, float(score)) for identifier, score in rows]

    def words_of(self, text: str) -> SparseVector:
        """Return the sparse vector that a text such as ``{1:0.5,7:1}/1000000000`` describes."""
        found = PgSparseVector.from_text(text)
        return SparseVector(
            np.array(found.indices(), np.int64), np.array(found.values(), np.float32)
        )

    def is_one_of(self, field: str, values: str) -> str:
        """Compare JSON values; a list also equals each of its members."""
        return f"metadata -> {field} @> ANY ({values}::jsonb[])"

    def number_of(self, field: str) -> str:
        """Return a number."""
        found = f"metadata -> {field}"
        return f"CASE WHEN jsonb_typeof({found}) = 'number' THEN ({found})::NUMERIC END"

    def finish(self) -> None:
        """Create the HNSW index if it is missing: after the first rows, which is faster than before them."""
        if self._index == "exact" or self._has_index():
            return
        self._database.rows(
            f"CREATE INDEX ON {self._table} USING hnsw (vector {self._existing_type()}_ip_ops) "
            f"WITH (m = {_NEIGHBOURS}, ef_construction = {_CANDIDATES})"
        )

    def _has_index(self) -> bool:
        found = self._database.rows(
            "SELECT 1 FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid JOIN pg_am ON pg_am.oid = relam "
            "WHERE indrelid = $1::regclass AND amname = 'hnsw' AND indisvalid",
            [self._table],
        )
        return bool(found)

    def _type_as_asked(self) -> str:
        """Return the type of the vectors; raise ConfigError if the options of the URL differ from the existing table."""
        kind = self._existing_type()
        if self._kind not in (None, kind):
            raise ConfigError(
                f"found vectors of the type {kind} in {self._table}; expected {self._kind}, as the URL says; "
                "leave type= out, or push in full"
            )
        if self._index == "exact" and self._has_index():
            raise ConfigError(
                f"found an HNSW index on {self._table}; expected none with index=exact; "
                "leave index= out, drop the index, or push in full"
            )
        return kind

    def _existing_type(self) -> str:
        """Return the type of the vectors of the table, which an earlier push may have chosen."""
        rows = self._database.rows(
            "SELECT format_type(atttypid, NULL) FROM pg_attribute WHERE attrelid = $1::regclass AND attname = 'vector'",
            [self._table],
        )
        name = str(rows[0][0]).rpartition(".")[2]
        if name not in _VALUES:
            raise ConfigError(
                f"found the column vector of {self._table} of the type {name}; expected vector or halfvec; push in full"
            )
        return name

    def _words_type(self, begin: str) -> str:
        """Return the SQL of a column for sparse vectors, to append to a text; empty if the table has none."""
        return f"{begin}sparsevec({TERMS})" if self.schema.words else ""

    def _refuse_many_terms(self, batch: TargetBatch) -> None:
        """Raise an error that names the documents that have more terms than a sparsevec holds."""
        bad = {
            identifier: f"has {len(words.indices)} terms, and pgvector stores at most {_MOST_TERMS}: divide texts into "
            "pieces, or push dense vectors only"
            for identifier, words in zip(batch.ids, batch.words, strict=True)
            if words is not None and len(words.indices) > _MOST_TERMS
        }
        if bad:
            raise RejectedDocumentsError(self._postgresql.name, bad)

    def _refuse_zero_bytes(self, batch: TargetBatch) -> None:
        """Raise an error that names the documents that PostgreSQL's texts cannot hold."""
        bad = {
            identifier: "holds a zero byte, which PostgreSQL does not store"
            for identifier, text, metadata in zip(
                batch.ids, batch.texts, batch.as_json, strict=True
            )
            if "\0" in identifier or "\0" in (text or "") or "\\u0000" in metadata
        }
        if bad:
            raise RejectedDocumentsError(self._postgresql.name, bad)


def _to_sparsevec(words: SparseVector | None) -> PgSparseVector:
    """Return a sparse vector as pgvector stores it, whose dimensions are fewer than the indices of terms."""
    assert words is not None
    folded = words.folded(TERMS)
    return PgSparseVector(
        dict(zip(folded.indices.tolist(), folded.values.tolist(), strict=True)), TERMS
    )
