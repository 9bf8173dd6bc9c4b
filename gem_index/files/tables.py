"""Rows as a table: a CSV, JSON lines or Parquet file, an Arrow table, a data frame."""

from __future__ import annotations

import csv
import io
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gem_index.errors import InputError, MissingExtraError
from gem_index.files.inputs import user_path
from gem_index.files.publishing import publish_file
from gem_index.quoting import quoted_error, quoted_path

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

__all__ = ["ENDINGS", "Tabular", "arrow_column", "arrow_table", "pandas_frame", "write_table"]

Row = Mapping[str, Any]

ENDINGS = (".csv", ".jsonl", ".parquet")
"""Of the files that :func:`write_table` writes."""

_BLOCK = 10_000  # rows of a group of a Parquet file


def write_table(path: str | Path, columns: Sequence[str], rows: Iterable[Row]) -> int:
    """Write rows to a file, and return how many. Atomic: complete on return, absent on error.

    Parameters
    ----------
    path : str or Path
        Ending in ``.csv`` (a header; lists and objects as JSON), ``.jsonl`` (one object per line) or ``.parquet``.
    columns : sequence of str
        The names of the columns, in their order.
    rows : iterable of mapping
        The values by column; a value that a row does not have is empty, in JSON lines it is left out. They are written as
        they come, in constant memory; rows of a Parquet file are collected first, because a column has one type.

    Raises
    ------
    InputError
        If the name has another ending, or the file cannot be written.
    MissingExtraError
        If the file is Parquet and pyarrow is not installed.
    """
    target = user_path(path)
    writers: dict[str, Callable[[IO[bytes], Sequence[str], Iterable[Row]], int]] = {
        ".csv": _write_csv,
        ".jsonl": _write_lines,
        ".parquet": _write_parquet,
    }
    write = writers.get(target.suffix.lower())
    if write is None:
        raise InputError(
            f"the output is {quoted_path(target)}; expected a name ending in {', '.join(ENDINGS)}"
        )
    try:
        with publish_file(target) as file:
            return write(file, columns, rows)
    except OSError as error:
        raise InputError(
            f"cannot write {quoted_path(target)}: {quoted_error(error)}; expected a writable folder with room"
        ) from error


def _write_csv(file: IO[bytes], columns: Sequence[str], rows: Iterable[Row]) -> int:
    text = io.TextIOWrapper(file, "utf-8", newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    count = 0
    for row in rows:
        writer.writerow([_cell(row.get(name)) for name in columns])
        count += 1
    text.flush()
    text.detach()
    return count


def _cell(value: Any) -> str:
    """Return the text of a cell: a text itself, empty for a missing value, else JSON."""
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False, default=_numbers)


def _numbers(vector: npt.NDArray[np.float32]) -> list[float]:
    """Return the numbers of a vector with as many digits as float32 needs."""
    return [float(f"{number:.9g}") for number in vector.tolist()]


def _write_lines(file: IO[bytes], columns: Sequence[str], rows: Iterable[Row]) -> int:
    count = 0
    for row in rows:
        fields = {name: row[name] for name in columns if name in row}
        file.write(json.dumps(fields, ensure_ascii=False, default=_numbers).encode() + b"\n")
        count += 1
    return count


def _write_parquet(file: IO[bytes], columns: Sequence[str], rows: Iterable[Row]) -> int:
    table = arrow_table(columns, rows)
    import pyarrow.parquet

    pyarrow.parquet.write_table(table, file, row_group_size=_BLOCK)
    return int(table.num_rows)


def arrow_table(columns: Sequence[str], rows: Iterable[Row]) -> pa.Table:
    """Return rows as an Arrow table; a column whose values have several types is one of JSON.

    Raises
    ------
    MissingExtraError
        Without pyarrow.
    """
    try:
        import pyarrow as pa
    except ImportError as error:
        raise MissingExtraError("an Arrow table", "parquet") from error
    values: dict[str, list[Any]] = {name: [] for name in columns}
    for row in rows:
        for name, column in values.items():
            column.append(row.get(name))
    return pa.table({name: arrow_column(column) for name, column in values.items()})


def arrow_column(values: Sequence[Any]) -> pa.Array:
    """Return values as a column of their type; as JSON if Arrow has no type for all of them.

    Vectors, arrays of one length, are a column of lists of this length.
    """
    import pyarrow as pa

    if len(values) and isinstance(values[0], np.ndarray):
        return pa.FixedSizeListArray.from_arrays(pa.array(np.concatenate(values)), len(values[0]))
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        return pa.array([None if value is None else json.dumps(value) for value in values])


class Tabular(ABC):
    """Results that are rows of a table."""

    columns: tuple[str, ...]
    """The names of the columns."""

    @abstractmethod
    def rows(self) -> Iterator[dict[str, Any]]:
        """Iterate over the rows, each with a value by column."""

    def to_arrow(self) -> pa.Table:
        """Return the rows as an Arrow table.

        Raises
        ------
        MissingExtraError
            Without pyarrow.
        """
        return arrow_table(self.columns, self.rows())

    def to_pandas(self) -> pd.DataFrame:
        """Return the rows as a data frame of pandas.

        Raises
        ------
        InputError
            Without pandas; MissingExtraError without pyarrow.
        """
        return pandas_frame(self.to_arrow())


def pandas_frame(table: pa.Table) -> pd.DataFrame:
    """Return an Arrow table as a data frame; InputError without pandas."""
    try:
        import pandas  # noqa: F401 - pyarrow imports it
    except ImportError as error:
        raise InputError("a data frame needs pandas: pip install pandas") from error
    return table.to_pandas()
