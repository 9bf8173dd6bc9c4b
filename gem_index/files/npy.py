"""Files of NumPy: ``.npy`` mapped, and written block by block with any number of rows; ``.npz`` read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import IO, Any, BinaryIO, Self

import numpy as np
import numpy.typing as npt

from gem_index.common.forking import ForkSafeLock

__all__ = ["NpyWriter", "map_array", "read_arrays"]

_PARSING = ForkSafeLock()


def map_array(path: Path) -> npt.NDArray[Any]:
    """Map a file for reading, as an array of its shape and dtype.

    One thread at a time: NumPy parses the header as Python, and CPython 3.11.7 raises SystemError where two threads do so
    while the garbage collector runs (github.com/python/cpython/issues/106905).

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If it is not such a file, or holds objects.
    """
    with _PARSING, _empty_is_no_array(path):
        mapped: npt.NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    return mapped


def read_arrays(file: Path | IO[bytes], *names: str) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays of a ``.npz`` file that have one of the names, or all if no names are given.

    One thread at a time, as in :func:`map_array`.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError, zipfile.BadZipFile
        If it is not such a file, or holds objects.
    """
    with (
        _PARSING,
        _empty_is_no_array(file),
        np.load(file, allow_pickle=False) as found,
    ):
        return {name: found[name] for name in found.files if not names or name in names}


@contextmanager
def _empty_is_no_array(file: Path | IO[bytes]) -> Iterator[None]:
    """Raise ValueError for an empty file, for which NumPy raises EOFError."""
    try:
        yield
    except EOFError as error:
        name = file if isinstance(file, Path) else "the file"
        raise ValueError(f"{name} is empty; expected an array") from error


class NpyWriter:
    """Writer of consecutive blocks of rows; the file is a complete array when the ``with`` block ends.

    NumPy leaves room in the header for the first axis to grow, so the header is written again at the end.

    Parameters
    ----------
    file : binary file
        Opened for writing, at its start; the caller closes it.
    dimension : int
        Length of a row.
    dtype : numpy dtype
    """

    def __init__(self, file: BinaryIO, dimension: int, dtype: npt.DTypeLike) -> None:
        self._file = file
        self._dimension = dimension
        self._dtype = np.dtype(dtype)
        self.rows = 0
        self._write_header()

    def append(self, block: npt.NDArray[np.floating]) -> None:
        """Write a block of rows (b, dimension)."""
        self._file.write(np.ascontiguousarray(block, dtype=self._dtype).data)
        self.rows += len(block)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self._file.seek(0)
            self._write_header()

    def _write_header(self) -> None:
        header = {
            "descr": np.lib.format.dtype_to_descr(self._dtype),
            "fortran_order": False,
            "shape": (self.rows, self._dimension),
        }
        np.lib.format.write_array_header_1_0(self._file, header)
