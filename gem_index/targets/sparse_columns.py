"""Sparse vectors of words in two columns of lists, for databases that store columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from gem_index.common.arrays import F64, SparseVector

__all__ = ["WORD_COLUMNS", "word_columns", "word_products", "word_vectors"]

WORD_COLUMNS = ("word_indices", "word_values")
"""The names of the columns: lists of int32, ascending, and of as many float32."""


def word_columns(vectors: Sequence[SparseVector | None]) -> dict[str, Any]:
    """Return the two columns of some vectors as Arrow arrays; no vector may be missing."""
    import pyarrow

    present = [vector for vector in vectors if vector is not None]
    starts = np.cumsum([0, *(len(vector.indices) for vector in present)], dtype=np.int32)
    indices = np.concatenate([np.zeros(0, np.int64), *(v.indices for v in present)])
    values = np.concatenate([np.zeros(0, np.float32), *(v.values for v in present)])
    flat = (indices.astype(np.int32), values.astype(np.float32))
    return {
        name: pyarrow.ListArray.from_arrays(starts, column)
        for name, column in zip(WORD_COLUMNS, flat, strict=True)
    }


def word_vectors(table: Any) -> Iterator[SparseVector]:
    """Iterate over the vectors in the columns of an Arrow table or batch."""
    indices, values = (_lists(table[name]) for name in WORD_COLUMNS)
    starts = indices.offsets.to_numpy().tolist()
    of_indices, of_values = indices.values.to_numpy(), values.values.to_numpy()
    for begin, end in pairwise(starts):
        yield SparseVector(
            of_indices[begin:end].astype(np.int64), of_values[begin:end].astype(np.float32)
        )


def word_products(query: SparseVector, table: Any) -> F64:
    """Return the inner products (n,) of a query with the vectors in the columns of an Arrow table or batch."""
    indices, values = (_lists(table[name]) for name in WORD_COLUMNS)
    starts = indices.offsets.to_numpy()
    if not len(query.indices) or not len(indices.values):
        return np.zeros(len(starts) - 1, np.float64)
    found = indices.values.to_numpy()
    places = np.minimum(np.searchsorted(query.indices, found), len(query.indices) - 1)
    asked = np.where(query.indices[places] == found, query.values[places], np.float32(0))
    products = asked.astype(np.float64) * values.values.to_numpy()
    sums = np.concatenate([[0.0], np.cumsum(products)])
    result: F64 = sums[starts[1:]] - sums[starts[:-1]]
    return result


def _lists(column: Any) -> Any:
    """Return a column as one array of lists, without values before the first list."""
    import pyarrow

    if isinstance(column, pyarrow.ChunkedArray):
        column = column.combine_chunks()
    return pyarrow.ListArray.from_arrays(
        np.asarray(column.offsets) - column.offsets[0].as_py(), column.flatten()
    )
