"""One table: id, vector, text and metadata."""
# ruff: noqa: S608 - names are checked and quoted, values are parameters

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gem_index.targets import (
    WORD_COLUMNS,
    Neighbor,
    SparseVector,
    SqlTable,
    TargetBatch,
    TargetSchema,
    word_columns,
)
from gem_index_duckdb.database import Database

__all__ = ["DuckDbTable"]


class DuckDbTable(SqlTable):
    """A table that DuckDB searches by a scan.

    Parameters
    ----------
    database : Database
    table : str
    schema : TargetSchema
    """

    word_columns = WORD_COLUMNS

    def __init__(self, database: Database, table: str, schema: TargetSchema) -> None:
        super().__init__(database, table, schema)
        self._duckdb = database

    @property
    def _type(self) -> str:
        return f"FLOAT[{self.schema.dimension}]"

    def create(self) -> None:
        """Create the table; the caller has begun a transaction."""
        words = ", word_indices INTEGER[], word_values FLOAT[]" if self.schema.words else ""
        self._database.rows(
            f"CREATE TABLE {self._table} "
            f"(id VARCHAR PRIMARY KEY, vector {self._type} NOT NULL, text VARCHAR, metadata JSON NOT NULL{words})"
        )

    def store(self, batch: TargetBatch) -> None:
        """Insert or replace documents by one statement."""
        vectors = np.asarray(batch.vectors, np.float32)
        columns = {
            "id": pa.array(batch.ids, pa.string()),
            "vector": pa.FixedSizeListArray.from_arrays(vectors.ravel(), self.schema.dimension),
            "text": pa.array(batch.texts, pa.string()),
            "metadata": pa.array(batch.as_json, pa.string()),
        }
        if self.schema.words:
            columns |= word_columns(batch.words)
        self._duckdb.insert(self._table, pa.table(columns), replace=not batch.new)

    def query(self, vector: npt.NDArray[np.float32], k: int) -> list[Neighbor]:
        """Return the k nearest documents, by inner product; a zero vector has the score 0."""
        met, values = self.met(3)
        rows = self._database.rows(
            f"SELECT id, array_inner_product(vector, $1::{self._type}) AS score FROM {self._table} WHERE {met} "
            "ORDER BY score DESC, id LIMIT $2",
            [vector.tolist(), max(0, k), *values],
        )
        return [Neighbor(identifier, score) for identifier, score in rows]

    def match(self, words: SparseVector, k: int) -> list[Neighbor]:
        """Return the k documents with the largest inner product of words, by a scan."""
        met, values = self.met(4)
        rows = self._database.rows(
            "SELECT id, sum(value * weight) AS score FROM (SELECT id, unnest(word_indices) AS term, "
            f"unnest(word_values)::DOUBLE AS value FROM {self._table} WHERE {met}) "
            "JOIN (SELECT unnest($1::INTEGER[]) AS term, unnest($2::FLOAT[]) AS weight) USING (term) "
            "GROUP BY id ORDER BY score DESC, id LIMIT $3",
            [words.indices.tolist(), words.values.tolist(), max(0, k), *values],
        )
        return [Neighbor(identifier, score) for identifier, score in rows]

    def words_of(self, indices: list[int], values: list[float]) -> SparseVector:
        """Return the sparse vector in two lists."""
        return SparseVector(np.array(indices, np.int64), np.array(values, np.float32))

    def is_one_of(self, field: str, values: str) -> str:
        """Compare the field and the members of its list as texts, and also as numbers, because 1 and 1.0 are equal."""
        member = f"json_extract_string(metadata, {_path(field)} || '[*]')"
        found = f"list_append({member}, json_extract_string(metadata, {_path(field)}))"
        wanted = f"list_transform({values}, lambda value: json_extract_string(value, '$'))"
        return f"(list_has_any({found}, {wanted}) OR list_has_any({_numbers(found)}, {_numbers(wanted)}))"

    def number_of(self, field: str) -> str:
        """Return the number in a field; for a text, the number that is written in it."""
        return f"TRY_CAST(json_extract_string(metadata, {_path(field)}) AS DOUBLE)"


def _path(field: str) -> str:
    return f"""'$."' || {field} || '"'"""


def _numbers(texts: str) -> str:
    return f"list_filter(list_transform({texts}, lambda text: TRY_CAST(text AS DOUBLE)), lambda number: number IS NOT NULL)"
