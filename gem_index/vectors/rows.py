"""Stored rows of vectors: float32, float16, or int8 with a factor for each row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from gem_index.errors import VectorFormatError
from gem_index.files.npy import NpyWriter, map_array
from gem_index.vectors.base import FloatArray

__all__ = ["Loss", "RowWriter", "Rows", "quantised"]

_BLOCK = 1 << 14
_INT8 = 127


class Rows:
    """A matrix of vectors that is read as float32, in any stored type.

    Parameters
    ----------
    matrix : float32, float16 or int8 array (R, d)
    factors : float32 array (R,), optional
        Factor of each row of an int8 matrix.
    """

    def __init__(
        self, matrix: npt.NDArray[Any], factors: npt.NDArray[np.float32] | None = None
    ) -> None:
        self.matrix = matrix
        self.factors = factors

    @classmethod
    def open(cls, folder: Path, name: str) -> Self:
        """Map the files that :class:`RowWriter` wrote."""
        matrix = map_array(folder / f"{name}.npy")
        factors = None
        if matrix.dtype == np.int8:
            factors = map_array(folder / f"{name}-factors.npy")
        return cls(matrix, factors)

    def __len__(self) -> int:
        return len(self.matrix)

    @property
    def dimension(self) -> int:
        """Length of a row."""
        return int(self.matrix.shape[1])

    def take(self, rows: npt.NDArray[np.int64]) -> FloatArray:
        """Return the given rows as float32 (n, d)."""
        taken = self.matrix[rows].astype(np.float32)
        if self.factors is not None:
            taken *= self.factors[rows][:, None]
        return taken

    @property
    def form(self) -> str:
        """Kind and shape of the matrix."""
        return f"{self.matrix.dtype.str} {self.matrix.shape}"

    def contents(self) -> Iterator[bytes]:
        """Iterate over the bytes of the rows and of their factors."""
        for array in (self.matrix, self.factors):
            if array is not None:
                for begin in range(0, len(array), _BLOCK):
                    yield np.ascontiguousarray(array[begin : begin + _BLOCK]).tobytes()


def quantised(
    rows: npt.NDArray[np.floating], dtype: np.dtype[Any]
) -> tuple[npt.NDArray[Any], npt.NDArray[np.float32] | None]:
    """Return rows converted for storage, and for int8 the factor of each row: its largest number divided by 127."""
    if dtype != np.int8:
        with np.errstate(over="ignore"):  # infinity is reported with its row
            return rows.astype(dtype), None
    factors = (np.abs(rows).max(axis=1) / _INT8).astype(np.float32)
    divisors = np.where(factors > 0, factors, 1)[:, None]
    return np.rint(rows / divisors).clip(-_INT8, _INT8).astype(np.int8), factors


@dataclass
class Loss:
    """The relative error of storing in fewer bits: the length of each row's error divided by the row's length."""

    rows: int = 0
    total: float = 0.0
    largest: float = 0.0

    def add(self, rows: npt.NDArray[np.floating], kept: FloatArray) -> None:
        """Add rows and the values that are read back from storage."""
        norms = np.linalg.norm(rows.astype(np.float64), axis=1)
        errors = np.linalg.norm(rows.astype(np.float64) - kept, axis=1)[norms > 0]
        relative = errors / norms[norms > 0]
        self.rows += len(relative)
        self.total += float(relative.sum())
        self.largest = max(self.largest, float(relative.max(initial=0.0)))

    def summary(self) -> dict[str, float]:
        """Return the mean and the largest relative error."""
        return {"mean": self.total / max(self.rows, 1), "largest": self.largest}


class RowWriter:
    """Writer of blocks of rows into ``NAME.npy`` (with ``NAME-factors.npy`` for int8), which measures the loss.

    Parameters
    ----------
    folder : Path
    name : str
    dimension : int
    dtype : numpy dtype
        float32, float16 or int8.
    """

    def __init__(self, folder: Path, name: str, dimension: int, dtype: np.dtype[Any]) -> None:
        self.dtype = dtype
        self.loss = Loss()
        self._factors: list[npt.NDArray[np.float32]] = []
        self._factors_file = folder / f"{name}-factors.npy"
        self._file = (folder / f"{name}.npy").open("wb")
        self._writer = NpyWriter(self._file, dimension, dtype)

    def append(self, rows: npt.NDArray[np.floating]) -> None:
        """Write a block of rows (b, dimension).

        Raises
        ------
        VectorFormatError
            If a number is too large for the type.
        """
        stored, factors = quantised(rows, self.dtype)
        if self.dtype == np.float16 and not np.isfinite(stored).all():
            row = self._writer.rows + 1 + int(np.argmin(np.isfinite(stored).all(axis=1)))
            raise VectorFormatError(
                f"row {row} holds a number too large for float16 (65504); expected the dtype float32, or a scale below 1"
            )
        self._writer.append(stored)
        if factors is not None:
            self._factors.append(factors)
        if stored.dtype.itemsize < rows.dtype.itemsize:
            self.loss.add(rows, Rows(stored, factors).take(np.arange(len(stored))))

    def __enter__(self) -> Self:
        self._writer.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._file:
            self._writer.__exit__(kind, error, trace)
        if kind is None and self._factors:
            np.save(self._factors_file, np.concatenate(self._factors))

    @property
    def rows(self) -> int:
        """Number of rows written."""
        return self._writer.rows
