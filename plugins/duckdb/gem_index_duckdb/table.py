"""One table: id, vector, text and metadata."""
# ruff: noqa: S608 - names are checked and quoted, values are parameters

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gem_index import Neighbour, TargetDocument, TargetSchema
from gem_index.errors import ConfigError
from gem_index_duckdb.database import Database

__all__ = ["COLUMNS", "DuckDbTable"]

COLUMNS = ["id", "vector", "text", "metadata"]
"""The columns of a table, in order."""


class DuckDbTable:
    """A table that DuckDB searches by a scan.

    Parameters
    ----------
    database : Database
    name : str
    schema : TargetSchema
    """

    def __init__(self, database: Database, name: str, schema: TargetSchema) -> None:
        self._database = database
        self._table = f'"{name}"'
        self._type = f"FLOAT[{schema.dimension}]"
        self.schema = schema

    def create(self) -> None:
        """Create the table; the caller has begun a transaction."""
        self._database.rows(
            f"CREATE TABLE {self._table} "
            f"(id VARCHAR PRIMARY KEY, vector {self._type} NOT NULL, text VARCHAR, metadata JSON NOT NULL)"
        )

    def unsupported(self, metadata: Mapping[str, Any]) -> list[str]:
        """Return nothing: metadata is stored as JSON."""
        return []

    def upsert(self, documents: Sequence[TargetDocument]) -> None:
        """Insert or replace documents by one statement."""
        for document in documents:
            if document.vector.shape != (self.schema.dimension,):
                raise ConfigError(
                    f"found a vector of the shape {document.vector.shape}; expected {self.schema.dimension} "
                    "numbers, the table's dimension; push with the encoder that filled the table"
                )
        # Of two rows with the same id in one statement DuckDB would keep the first.
        latest = list({document.id: document for document in documents}.values())
        self._database.rows(
            f"INSERT OR REPLACE INTO {self._table} SELECT unnest($1::VARCHAR[]), unnest($2::{self._type}[]), "
            "unnest($3::VARCHAR[]), unnest($4::VARCHAR[])",
            [
                [document.id for document in latest],
                [document.vector.tolist() for document in latest],
                [document.text for document in latest],
                [json.dumps(dict(document.metadata), ensure_ascii=False) for document in latest],
            ],
        )

    def delete(self, ids: Sequence[str]) -> None:
        """Delete documents by one statement."""
        self._database.rows(
            f"DELETE FROM {self._table} WHERE id IN (SELECT unnest($1::VARCHAR[]))", [list(ids)]
        )

    def count(self) -> int:
        """Return the number of documents."""
        [(count,)] = self._database.rows(f"SELECT count(*) FROM {self._table}")
        return int(count)

    def query(self, vector: npt.NDArray[np.float32], k: int) -> list[Neighbour]:
        """Return the k nearest documents, by inner product; a zero vector has the score 0."""
        rows = self._database.rows(
            f"SELECT id, array_inner_product(vector, $1::{self._type}) AS score FROM {self._table} "
            "ORDER BY score DESC, id LIMIT $2",
            [vector.tolist(), max(0, k)],
        )
        return [Neighbour(identifier, score) for identifier, score in rows]

    def documents(self) -> Iterator[TargetDocument]:
        """Iterate over the documents, all of one state of the database."""
        for rows in self._database.batches(f"SELECT {', '.join(COLUMNS)} FROM {self._table}"):
            for identifier, vector, text, metadata in rows:
                yield TargetDocument(
                    identifier, np.array(vector, np.float32), text, json.loads(metadata)
                )
