"""Parquet files with a column of words and a column of vectors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from gem_index.errors import MissingExtraError, VectorFormatError
from gem_index.files import plain_file
from gem_index.vectors.formats.base import (
    ROWS_AT_ONCE,
    VectorChunk,
    VectorFile,
    check_dimension,
    refuse_not_finite,
)

__all__ = ["read_parquet", "write_parquet"]


def read_parquet(path: str) -> VectorFile:
    """Open a Parquet file: its one string column holds the words, its one column of number lists the vectors."""
    pyarrow, parquet = _pyarrow("reading")
    try:
        with plain_file(path) as plain:
            table = parquet.ParquetFile(plain)
    except (pyarrow.ArrowException, OSError) as error:
        raise VectorFormatError(f"{path} is not a whole Parquet file: {error}") from error
    types = pyarrow.types
    words, vectors = [], []
    for column in table.schema_arrow:
        if types.is_string(column.type) or types.is_large_string(column.type):
            words.append(column.name)
        elif (
            types.is_list(column.type)
            or types.is_large_list(column.type)
            or types.is_fixed_size_list(column.type)
        ) and types.is_floating(column.type.value_type):
            vectors.append(column)
    if len(words) != 1 or len(vectors) != 1:
        raise VectorFormatError(
            f"{path} has the columns {', '.join(f'{c.name} ({c.type})' for c in table.schema_arrow)}; "
            "expected one column of strings (the words) and one of number lists (the vectors)"
        )
    word_column, vector_column = words[0], vectors[0].name
    first = next(table.iter_batches(1, columns=[vector_column]), None)
    if first is None or not len(first) or not first.column(0)[0].is_valid:
        raise VectorFormatError(f"{path} holds no vector in its first row; expected one")
    dimension = check_dimension(len(first.column(0)[0]), f"{path} row 1")
    value = vectors[0].type.value_type
    dtype: np.dtype[Any] = np.dtype(np.float16 if types.is_float16(value) else np.float32)

    def chunks() -> Iterator[VectorChunk]:
        begin = 1
        for batch in table.iter_batches(ROWS_AT_ONCE, columns=[word_column, vector_column]):
            column = batch.column(vector_column)
            spelled = batch.column(word_column).to_pylist()
            lengths = column.value_lengths().to_numpy(zero_copy_only=False)
            for i in range(len(batch)):
                if spelled[i] is None or lengths[i] != dimension:
                    found = "no word" if spelled[i] is None else f"{lengths[i]} numbers"
                    raise VectorFormatError(
                        f"{path} row {begin + i} holds {found}; expected a word and {dimension} numbers"
                    )
            rows = column.flatten().to_numpy(zero_copy_only=False).reshape(-1, dimension)
            rows = rows.astype(dtype)
            refuse_not_finite(rows, f"{path} row", begin)
            begin += len(batch)
            yield spelled, rows

    return VectorFile(path, "parquet", dimension, dtype, chunks, words=table.metadata.num_rows)


def write_parquet(path: Path, vectors: VectorFile) -> None:
    """Write the columns ``word`` and ``vector`` (a list of fixed size)."""
    pyarrow, parquet = _pyarrow("writing")
    numbers = pyarrow.from_numpy_dtype(vectors.dtype)
    kind = pyarrow.list_(numbers, vectors.dimension)
    schema = pyarrow.schema([("word", pyarrow.string()), ("vector", kind)])
    with parquet.ParquetWriter(path, schema) as writer:
        for words, rows in vectors.chunks():
            column = pyarrow.FixedSizeListArray.from_arrays(
                pyarrow.array(rows.astype(vectors.dtype).reshape(-1)), type=kind
            )
            writer.write_batch(pyarrow.record_batch([pyarrow.array(words), column], schema=schema))


def _pyarrow(doing: str) -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtraError(f"{doing} Parquet", "parquet") from error
    return pyarrow, pyarrow.parquet
