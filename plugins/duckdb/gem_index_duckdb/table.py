"""One table: id, vector, text and metadata."""
# ruff: noqa: S608 - names are checked and quoted, values are parameters

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from gem_index import Neighbour, TargetDocument
from gem_index.targets import SqlTable

__all__ = ["DuckDbTable"]


class DuckDbTable(SqlTable):
    """A table that DuckDB searches by a scan."""

    @property
    def _type(self) -> str:
        return f"FLOAT[{self.schema.dimension}]"

    def create(self) -> None:
        """Create the table; the caller has begun a transaction."""
        self._database.rows(
            f"CREATE TABLE {self._table} "
            f"(id VARCHAR PRIMARY KEY, vector {self._type} NOT NULL, text VARCHAR, metadata JSON NOT NULL)"
        )

    def store(self, documents: Sequence[TargetDocument]) -> None:
        """Insert or replace documents by one statement."""
        self._database.rows(
            f"INSERT OR REPLACE INTO {self._table} SELECT unnest($1::VARCHAR[]), unnest($2::{self._type}[]), "
            "unnest($3::VARCHAR[]), unnest($4::VARCHAR[])",
            [
                [document.id for document in documents],
                [document.vector.tolist() for document in documents],
                [document.text for document in documents],
                [json.dumps(dict(each.metadata), ensure_ascii=False) for each in documents],
            ],
        )

    def query(self, vector: npt.NDArray[np.float32], k: int) -> list[Neighbour]:
        """Return the k nearest documents, by inner product; a zero vector has the score 0."""
        rows = self._database.rows(
            f"SELECT id, array_inner_product(vector, $1::{self._type}) AS score FROM {self._table} "
            "ORDER BY score DESC, id LIMIT $2",
            [vector.tolist(), max(0, k)],
        )
        return [Neighbour(identifier, score) for identifier, score in rows]
