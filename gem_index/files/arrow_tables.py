"""Rows as an Arrow table, as a Parquet file, as a data frame."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from gem_index.errors import InputError
from gem_index.files.arrow import load_pyarrow

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

__all__ = ["arrow_column", "arrow_table", "pandas_frame", "write_parquet"]

Column: TypeAlias = "list[Any] | npt.NDArray[Any]"
"""The values of a column: JSON values, or vectors (rows, d)."""

_ROWS = 10_000  # of a block, and of a group of a Parquet file


def arrow_table(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> pa.Table:
    """Return rows as an Arrow table; a column whose values have several types is one of JSON.

    Raises
    ------
    MissingExtraError
        Without pyarrow.
    """
    pa = _pyarrow()
    every = list(rows)
    return pa.table({name: arrow_column([row.get(name) for row in every]) for name in columns})


def arrow_column(values: Sequence[Any]) -> pa.Array:
    """Return values as a column of their type; as JSON if Arrow has no type for all of them.

    Vectors, arrays of one length, are a column of lists of this length.
    """
    column = _column(values)
    return _array(column, _type_of(column))


def write_parquet(
    file: IO[bytes], columns: Sequence[str], rows: Iterable[Mapping[str, Any]]
) -> int:
    """Write rows to a file, and return how many; the columns are those of :func:`arrow_table`.

    The type of a column is known after its last value. So a first pass keeps the rows in a temporary file in the folder
    of the file, and memory holds few rows at a time.

    Raises
    ------
    MissingExtraError
        Without pyarrow.
    """
    pa, parquet = load_pyarrow("writing Parquet")
    count = 0
    types = _Types()
    with tempfile.TemporaryFile(dir=Path(file.name).parent) as kept:
        for block in _blocks(columns, rows):
            _keep(block, kept)
            types.add(block)
            count += len(next(iter(block.values())))
        for block in _kept_blocks(kept):
            types.check(block)
        schema = pa.schema([(name, types.stored(name)) for name in columns])
        with parquet.ParquetWriter(file, schema) as writer:
            for block in _kept_blocks(kept):
                arrays = [_array(block[name], types.of(name)) for name in columns]
                writer.write_table(pa.table(arrays, schema=schema), _ROWS)
    return count


class _Types:
    """The type of each column, from the blocks that were added; None if Arrow has no type for all its values."""

    def __init__(self) -> None:
        self._types: dict[str, Any] = {}
        self._joined: set[str] = set()  # columns of which two blocks have different types

    def add(self, block: Mapping[str, Column]) -> None:
        """Count in the values of a block."""
        for name, values in block.items():
            found = _type_of(values)
            known = self._types.setdefault(name, found)
            if known != found:
                self._types[name] = _common(known, found)
                self._joined.add(name)

    def check(self, block: Mapping[str, Column]) -> None:
        """Give up the type of a column if it does not hold a value of the block, as doubles do not hold all integers."""
        pa = _pyarrow()
        for name in self._joined:
            try:
                _array(block[name], self._types[name])
            except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
                self._types[name] = None

    def of(self, name: str) -> Any:
        """Return the type of a column, or None; Parquet has no objects without fields."""
        found = self._types.get(name, _pyarrow().null())
        return None if found is None or _has_empty_object(found) else found

    def stored(self, name: str) -> Any:
        """Return the type of a column in a file, where JSON is text."""
        found = self.of(name)
        return _pyarrow().string() if found is None else found


def _pyarrow() -> Any:
    return load_pyarrow("an Arrow table")[0]


def _blocks(
    columns: Sequence[str], rows: Iterable[Mapping[str, Any]]
) -> Iterator[dict[str, Column]]:
    each = iter(rows)
    while some := list(islice(each, _ROWS)):
        yield {name: _column([row.get(name) for row in some]) for name in columns}


def _column(values: Sequence[Any]) -> Column:
    return np.stack(values) if len(values) and isinstance(values[0], np.ndarray) else list(values)


def _keep(block: Mapping[str, Column], file: IO[bytes]) -> None:
    """Write a block: a line of JSON, and the vectors after it."""
    vectors = {name: values for name, values in block.items() if isinstance(values, np.ndarray)}
    others = {name: None if name in vectors else values for name, values in block.items()}
    file.write(json.dumps(others).encode() + b"\n")
    for values in vectors.values():
        np.save(file, values, allow_pickle=False)


def _kept_blocks(file: IO[bytes]) -> Iterator[dict[str, Column]]:
    file.seek(0)
    while line := file.readline():
        yield {
            name: np.load(file, allow_pickle=False) if values is None else values
            for name, values in json.loads(line).items()
        }


def _type_of(values: Column) -> Any:
    """Return Arrow's type for values, or None if no type is for all of them."""
    pa = _pyarrow()
    if isinstance(values, np.ndarray):
        return pa.list_(pa.from_numpy_dtype(values.dtype), values.shape[1])
    try:
        return pa.array(values).type
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        return None


def _has_empty_object(type_: Any) -> bool:
    """Return whether a type is, or has within it, a struct without fields."""
    inner = [type_.field(place).type for place in range(type_.num_fields)]
    is_empty = not inner and _pyarrow().types.is_struct(type_)
    return is_empty or any(map(_has_empty_object, inner))


def _common(one: Any, other: Any) -> Any:
    """Return the type that holds the values of two types, or None."""
    pa = _pyarrow()
    if one is None or other is None:
        return None
    try:
        fields = pa.unify_schemas(
            [pa.schema([("", one)]), pa.schema([("", other)])], promote_options="permissive"
        )
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return None
    return fields.field(0).type


def _array(values: Column, type_: Any) -> Any:
    """Return values as a column of a type; as JSON without one."""
    pa = _pyarrow()
    if type_ is None:
        return pa.array([None if value is None else json.dumps(value) for value in values])
    if isinstance(values, np.ndarray):
        return pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), values.shape[1])
    return pa.array(values, type_)


def pandas_frame(table: pa.Table) -> pd.DataFrame:
    """Return an Arrow table as a data frame of pandas; InputError without pandas."""
    try:
        import pandas  # noqa: F401 - pyarrow imports it
    except ImportError as error:
        raise InputError("a data frame needs pandas: pip install pandas") from error
    return table.to_pandas()
