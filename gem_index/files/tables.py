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

from gem_index.errors import InputError
from gem_index.errors.quoting import quoted_error, quoted_path
from gem_index.files.arrow_tables import arrow_table, pandas_frame, write_parquet
from gem_index.files.inputs import user_path
from gem_index.files.publishing import publish_file

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

__all__ = ["ENDINGS", "Tabular", "write_table"]

Row = Mapping[str, Any]

ENDINGS = (".csv", ".jsonl", ".parquet")
"""Of the files that :func:`write_table` writes."""


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
        they come, in constant memory. For a Parquet file, a temporary file in the same folder has them meanwhile.

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
        ".parquet": write_parquet,
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
