"""Parquet files with a column of words and a column of vectors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from gem_index.errors import VectorFormatError
from gem_index.errors.quoting import quoted
from gem_index.files.arrow import load_pyarrow
from gem_index.vectors.formats.base import (
    ROWS_AT_ONCE,
    VectorChunk,
    VectorFile,
    check_dimension,
    refuse_not_finite,
)
from gem_index.vectors.formats.inputs import foreign_reader, plain_source_file

__all__ = ["read_parquet", "write_parquet"]

_EXPECTED = "a complete, undamaged file"
_ALWAYS_READ = 1 << 20  # always accepted: this many values in a column and bytes in all words,
_MOST_READ = 50  # or this many for each byte of the file
_LONGEST_WORD = 65_536  # bytes


def read_parquet(path: str) -> VectorFile:
    """Open a Parquet file with one string column, the words, and one column of number lists, the vectors."""
    pyarrow, parquet = load_pyarrow("reading Parquet")
    damage = f"{path} is not a complete Parquet file"
    with plain_source_file(path) as plain, foreign_reader(damage, _EXPECTED):
        columns = list(parquet.read_schema(plain))
        # with dictionaries, a word that is repeated a million times in few bytes stays one word in memory
        texts = [column.name for column in columns if _is_text(pyarrow, column)]
        table = parquet.ParquetFile(plain, read_dictionary=texts)
        size = plain.stat().st_size
    types = pyarrow.types
    words, vectors = [], []
    for column in columns:
        if _is_text(pyarrow, column):
            words.append(column.name)
        elif (
            types.is_list(column.type)
            or types.is_large_list(column.type)
            or types.is_fixed_size_list(column.type)
        ) and types.is_floating(column.type.value_type):
            vectors.append(column)
    if len(words) != 1 or len(vectors) != 1:
        named = ", ".join(f"{quoted(c.name, 30)} ({str(c.type)[:30]})" for c in columns[:5])
        raise VectorFormatError(
            f"{path} has the columns {named}{' and others' * (len(columns) > 5)}; "
            "expected one column of strings (the words) and one of number lists (the vectors)"
        )
    word_column, vector_column = words[0], vectors[0].name
    with foreign_reader(damage, _EXPECTED):
        _check_size(path, table, size)
        first = next(table.iter_batches(1, columns=[vector_column]), None)
    if first is None or not len(first) or not first.column(0)[0].is_valid:
        raise VectorFormatError(f"{path} holds no vector in its first row; expected one")
    dimension = check_dimension(len(first.column(0)[0]), f"{path} row 1")
    value = vectors[0].type.value_type
    dtype: np.dtype[Any] = np.dtype(np.float16 if types.is_float16(value) else np.float32)

    def chunks() -> Iterator[VectorChunk]:
        begin, letters, most_letters = 1, 0, max(_ALWAYS_READ, _MOST_READ * size)
        batches = table.iter_batches(ROWS_AT_ONCE, columns=[word_column, vector_column])
        while True:
            with foreign_reader(f"{path} row {begin} cannot be read", _EXPECTED):
                batch = next(batches, None)
                if batch is None:
                    return
                column = batch.column(vector_column)
                spelled = batch.column(word_column)
                letters += _letters(path, begin, spelled)
                if letters > most_letters:
                    raise VectorFormatError(
                        f"{path} row {begin}: the words have {letters:,} bytes so far; expected at most {most_letters:,} "
                        "in a file of its size"
                    )
                spelled = spelled.dictionary_decode().to_pylist()
                lengths = column.value_lengths().to_numpy(zero_copy_only=False)
                flat = column.flatten().to_numpy(zero_copy_only=False)
            for i in range(len(batch)):
                if spelled[i] is None or lengths[i] != dimension:
                    found = "no word" if spelled[i] is None else f"{lengths[i]} numbers"
                    raise VectorFormatError(
                        f"{path} row {begin + i} holds {found}; expected a word and {dimension} numbers"
                    )
            with np.errstate(over="ignore", invalid="ignore"):  # infinity is reported with its row
                rows = flat.reshape(-1, dimension).astype(dtype)
            refuse_not_finite(rows, f"{path} row", begin)
            begin += len(batch)
            yield spelled, rows

    return VectorFile(path, "parquet", dimension, dtype, chunks, words=table.metadata.num_rows)


def _check_size(path: str, table: Any, size: int) -> None:
    """Limit the numbers that a file announces to a multiple of its size: run lengths can expand a few bytes to millions."""
    most = max(_ALWAYS_READ, _MOST_READ * size)
    totals: Counter[int] = Counter()
    for group in range(table.metadata.num_row_groups):
        # opens the columns without reading rows: here damage raises an error; reading the metadata would abort the process
        next(table.reader.iter_batches(0, row_groups=[group], use_threads=False), None)
        row_group = table.metadata.row_group(group)
        for column in range(row_group.num_columns):
            found = row_group.column(column).num_values
            totals[column] += found
            if not 0 <= found <= totals[column] <= most:
                raise VectorFormatError(
                    f"{path} announces {totals[column]:,} values in a column; "
                    f"expected at most {most:,} in a file of its size"
                )


def _is_text(pyarrow: Any, column: Any) -> bool:
    return bool(pyarrow.types.is_string(column.type) or pyarrow.types.is_large_string(column.type))


def _letters(path: str, begin: int, spelled: Any) -> int:
    """Return the number of bytes of a batch's words, which are stored as a dictionary."""
    from pyarrow import compute

    lengths = compute.fill_null(compute.binary_length(spelled.dictionary), 0)
    longest = compute.max(lengths).as_py() or 0
    if longest > _LONGEST_WORD:
        raise VectorFormatError(
            f"{path} has a word of {longest} bytes at row {begin} or later; expected at most {_LONGEST_WORD}"
        )
    return int(compute.sum(lengths.take(spelled.indices)).as_py() or 0)


def write_parquet(path: Path, vectors: VectorFile) -> None:
    """Write the columns ``word`` and ``vector`` (a list of fixed size)."""
    pyarrow, parquet = load_pyarrow("writing Parquet")
    numbers = pyarrow.from_numpy_dtype(vectors.dtype)
    kind = pyarrow.list_(numbers, vectors.dimension)
    schema = pyarrow.schema([("word", pyarrow.string()), ("vector", kind)])
    # words do not repeat, and numbers hardly
    with parquet.ParquetWriter(path, schema, use_dictionary=False) as writer:
        for words, rows in vectors.chunks():
            column = pyarrow.FixedSizeListArray.from_arrays(
                pyarrow.array(rows.astype(vectors.dtype).reshape(-1)), type=kind
            )
            writer.write_batch(pyarrow.record_batch([pyarrow.array(words), column], schema=schema))
