"""A database that understands SQL, and its tables with vectors, as :class:`~gem_index.targets.SqlTarget` uses them."""
# ruff: noqa: S608 - names are checked and quoted, values are parameters

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from typing import Any, ClassVar, Self

import numpy as np

from gem_index.common.arrays import F32, SparseVector
from gem_index.targets.batch import TargetBatch
from gem_index.targets.narrowing import Condition
from gem_index.targets.protocol import Neighbor, TargetDocument, TargetSchema

__all__ = ["SqlDatabase", "SqlTable"]


class SqlDatabase(ABC):
    """A connection to a database. A statement outside a transaction commits at once. Parameters are ``$1``, ``$2``, …."""

    name: str
    """The name of the database in messages, without credentials."""

    @abstractmethod
    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Execute a statement and return all its rows."""

    @abstractmethod
    def batches(self, statement: str, size: int = 1000) -> Iterator[list[tuple[Any, ...]]]:
        """Execute a query and iterate over its rows in lists; all rows are from one state of the database."""

    @abstractmethod
    def roll_back(self) -> None:
        """Undo the open transaction, unless the database has already ended the transaction; never raise an error."""

    @abstractmethod
    def close(self) -> None:
        """Close the connection."""

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Run the statements of the block in one transaction; if a statement fails, roll all statements back."""
        self.rows("BEGIN")
        try:
            yield
            self.rows("COMMIT")
        except BaseException:
            self.roll_back()
            raise


class SqlTable(ABC):
    """A table with the columns id, vector, text and metadata.

    Parameters
    ----------
    database : SqlDatabase
    table : str
        The table's name, quoted for statements.
    schema : TargetSchema
    """

    def __init__(self, database: SqlDatabase, table: str, schema: TargetSchema) -> None:
        self._database = database
        self._table = table
        self._conditions: Sequence[Condition] = ()
        self.schema = schema

    def narrowed(self, conditions: Sequence[Condition]) -> Self:
        """Return an object of the same table; its ``query`` and ``match`` find only rows that meet all conditions."""
        narrowed = copy(self)
        narrowed._conditions = tuple(conditions)
        return narrowed

    @abstractmethod
    def is_one_of(self, field: str, values: str) -> str:
        """Return the SQL condition that a metadata field has one of some JSON values, or a list with such a value.

        ``field`` is the name of the field, and ``values`` is a list of JSON texts; both are already SQL expressions.
        """

    @abstractmethod
    def number_of(self, field: str) -> str:
        """Return the SQL expression of the number in a metadata field; its value is NULL if the field has no number."""

    def met(self, first: int) -> tuple[str, list[Any]]:
        """Return the SQL condition that rows must meet, and the values of its parameters, which begin at ``$first``."""
        met, values = ["TRUE"], list[Any]()

        def bound(value: Any) -> str:
            values.append(value)
            return f"${first + len(values) - 1}"

        for each in self._conditions:
            field = f"{bound(each.field)}::VARCHAR"
            if each.values:
                texts = [json.dumps(value, ensure_ascii=False) for value in each.values]
                met.append(self.is_one_of(field, f"{bound(texts)}::VARCHAR[]"))
            if each.least is not None:
                met.append(
                    f"{self.number_of(field)} >= {bound(float(each.least))}::{self.number_type}"
                )
            if each.most is not None:
                met.append(
                    f"{self.number_of(field)} <= {bound(float(each.most))}::{self.number_type}"
                )
        return " AND ".join(met), values

    @abstractmethod
    def create(self) -> None:
        """Create the table; the caller has begun a transaction."""

    @abstractmethod
    def store(self, batch: TargetBatch) -> None:
        """Insert or replace rows, in one transaction."""

    @abstractmethod
    def query(self, vector: F32, k: int) -> list[Neighbor]:
        """Return the k nearest rows by inner product; a zero vector has the score 0."""

    def upsert(self, documents: Sequence[TargetDocument]) -> None:
        """Insert or replace rows; of several rows with the same id, store only the last."""
        batch = TargetBatch.of(documents, self.schema)
        if batch:
            self.store(batch)

    def delete(self, ids: Sequence[str]) -> None:
        """Delete rows by one statement."""
        self._database.rows(
            f"DELETE FROM {self._table} WHERE id IN (SELECT unnest($1::VARCHAR[]))", [list(ids)]
        )

    def count(self) -> int:
        """Return the number of rows."""
        [(count,)] = self._database.rows(f"SELECT count(*) FROM {self._table}")
        return int(count)

    def documents(self) -> Iterator[TargetDocument]:
        """Iterate over the rows, all from one state of the database."""
        for rows in self._database.batches(self._whole_rows):
            yield from map(self._document, rows)

    def fetch(self, ids: Sequence[str]) -> dict[str, TargetDocument]:
        """Return rows, by one query."""
        rows = self._database.rows(
            f"{self._whole_rows} WHERE id IN (SELECT unnest($1::VARCHAR[]))", [list(ids)]
        )
        return {document.id: document for document in map(self._document, rows)}

    @property
    def _whole_rows(self) -> str:
        words = "".join(f", {column}" for column in self.word_columns) if self.schema.words else ""
        return f"SELECT id, {self.vector_column}, text, metadata::VARCHAR{words} FROM {self._table}"

    def _document(self, row: Sequence[Any]) -> TargetDocument:
        identifier, vector, text, metadata, *words = row
        return TargetDocument(
            identifier,
            np.array(vector, np.float32),
            text,
            json.loads(metadata),
            self.words_of(*words) if words else None,
        )

    def metadata_of(self, ids: Sequence[str]) -> dict[str, Mapping[str, Any]]:
        """Return the metadata of rows, by one query."""
        rows = self._database.rows(
            f"SELECT id, metadata::VARCHAR FROM {self._table} WHERE id IN (SELECT unnest($1::VARCHAR[]))",
            [list(ids)],
        )
        return {identifier: json.loads(metadata) for identifier, metadata in rows}

    number_type: ClassVar[str] = "DOUBLE"
    """The SQL type of the expression that :meth:`number_of` returns."""

    vector_column: ClassVar[str] = "vector"
    """The SQL expression of a row's vector, as a sequence of numbers."""

    word_columns: ClassVar[tuple[str, ...]] = ()
    """The SQL expressions of a row's sparse vector of words, if the engine has sparse vectors."""

    def words_of(self, *values: Any) -> SparseVector:
        """Return the sparse vector in the values of :attr:`word_columns`."""
        raise NotImplementedError(f"{type(self).__name__} holds no sparse vectors")

    def finish(self) -> None:  # noqa: B027 - most engines have nothing to do
        """Do nothing; an engine with an index overrides this method to build the index."""
