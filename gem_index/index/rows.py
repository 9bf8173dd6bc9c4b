"""Vectors with 16 bits per number, beside an approximate index, for the scores of its candidates."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
import numpy.typing as npt

from gem_index.common.arrays import F32, I64, Mask
from gem_index.errors import CorruptionError

__all__ = ["RowsWriter", "VectorRows", "continued", "linked", "numbered", "rows_digest"]

_SCALE = np.float32(32767)
_TYPE = np.dtype("<i2")
_SUFFIX = ".i16"
_BLOCK = 1 << 20  # bytes


class VectorRows:
    """Vectors of length at most 1 in fixed point: a number x is stored as round(32767 x), in two bytes.

    The error of an inner product of unit vectors is less than 1e-4. The rows are in several files, one after the other.
    A file never changes; a later snapshot links the files of an earlier snapshot.

    Parameters
    ----------
    parts : sequence of int16 arrays (n_i, d)
    """

    def __init__(self, parts: Sequence[npt.NDArray[np.int16]]) -> None:
        self._parts = parts
        self._dimension = parts[0].shape[1] if parts else 0
        self._starts = np.concatenate([[0], np.cumsum([len(part) for part in parts])])

    def __len__(self) -> int:
        return int(self._starts[-1])

    @classmethod
    def open(cls, folder: Path, dimension: int) -> VectorRows:
        """Map the files of a folder.

        Raises
        ------
        CorruptionError
            If a file ends inside a row.
        """
        parts = []
        for path in _files(folder):
            size = path.stat().st_size
            if size % (dimension * _TYPE.itemsize):
                raise CorruptionError(
                    f"{path} has {size} bytes; expected rows of {dimension * _TYPE.itemsize}"
                )
            if size:
                flat = np.asarray(np.memmap(path, _TYPE, "r"))
                parts.append(flat.reshape(-1, dimension))
        return cls(parts)

    def take(self, positions: I64) -> F32:
        """Return the vectors (p, d) at p positions."""
        found = np.empty((len(positions), self._dimension), np.float32)
        for part, mine, places in self._by_part(positions):
            found[mine] = part.take(places, axis=0)
        found /= _SCALE
        return found

    def inner_products(self, positions: I64, query: F32) -> F32:
        """Return the inner products (p,) of a query (d,) with the vectors at some positions.

        Raises
        ------
        CorruptionError
            If a position is not in the files, because a damaged index has proposed it.
        """
        from gem_index.kernels.rows import score_rows

        if positions.max(initial=0) >= len(self):  # the kernels do not check positions
            raise CorruptionError(
                f"the index proposes vector {positions.max()} of {len(self)}; expected a vector that exists"
            )
        found = np.empty(len(positions), np.float32)
        scaled = query / _SCALE
        for part, mine, places in self._by_part(positions):
            scores = np.empty(len(places), np.float32)
            score_rows(part, places, scaled, scores)
            found[mine] = scores
        return found

    def _by_part(self, positions: I64) -> Iterator[tuple[npt.NDArray[np.int16], Mask | slice, I64]]:
        """Yield, for each file with some of the positions: its rows, a mask of these positions, and their places in it."""
        if len(self._parts) == 1:
            yield self._parts[0], slice(None), positions
            return
        owners = np.searchsorted(self._starts, positions, "right") - 1
        for number in np.unique(owners):
            mine = owners == number
            yield self._parts[number], mine, positions[mine] - self._starts[number]


class RowsWriter:
    """Appends vectors to a file of rows; use a ``with`` block, which removes a file that stayed empty.

    Parameters
    ----------
    path : Path
        The file to write. An existing file is replaced by a copy of its first ``keep`` rows.
    dimension : int
    keep : int
        The number of rows that an existing file keeps.
    """

    def __init__(self, path: Path, dimension: int, keep: int = 0) -> None:
        self.path = path
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        size = keep * dimension * _TYPE.itemsize
        self._hash = hashlib.sha256()
        # write a copy, because a snapshot in use may have linked the old file before a process was killed
        new = path.with_name(f".{path.name}.new")
        self._file = new.open("wb")
        for block in _blocks(path, size):
            self._write(block)
        new.replace(path)

    def append(self, vectors: F32) -> None:
        """Write vectors (b, dimension) after the last row."""
        self._write(np.rint(vectors * _SCALE).astype(_TYPE).tobytes())

    def copy(self, path: Path) -> None:
        """Write the rows of another file after the last row."""
        for block in _blocks(path, path.stat().st_size):
            self._write(block)

    def sync(self) -> str:
        """Write everything to the disk; return the SHA-256 of the file so far."""
        self._file.flush()
        os.fsync(self._file.fileno())
        return self._hash.hexdigest()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()
        if not self.path.stat().st_size:
            self.path.unlink()

    def _write(self, content: bytes) -> None:
        self._file.write(content)
        self._hash.update(content)


def continued(old: Path, folder: Path, dimension: int) -> RowsWriter:
    """Link the rows of an old folder into a new folder; return a writer for the rows after them.

    Small files at the end are not linked, but copied into one new file: the first file that is not larger than all
    files after it together, and all files after it. So there are few files, and each row is seldom copied.
    """
    files = _files(old)
    sizes = [path.stat().st_size for path in files]
    kept = next((i for i in range(len(files)) if sizes[i] <= sum(sizes[i + 1 :])), len(files))
    folder.mkdir(mode=0o700)
    for path in files[:kept]:
        (folder / path.name).hardlink_to(path)
    writer = RowsWriter(numbered(folder, kept), dimension)
    for path in files[kept:]:
        writer.copy(path)
    return writer


def linked(folder: Path, olds: Sequence[Path]) -> None:
    """Link the rows of several folders into a new folder, one after the other."""
    folder.mkdir(mode=0o700)
    for number, path in enumerate(path for old in olds for path in _files(old)):
        numbered(folder, number).hardlink_to(path)


def rows_digest(path: Path, rows: int, dimension: int) -> str:
    """Return the SHA-256 of the first ``rows`` rows of a file."""
    found = hashlib.sha256()
    for block in _blocks(path, rows * dimension * _TYPE.itemsize):
        found.update(block)
    return found.hexdigest()


def numbered(folder: Path, number: int) -> Path:
    """Return the path of the file with this number in a folder; numbers begin at 0."""
    return folder / f"{number:04d}{_SUFFIX}"


def _files(folder: Path) -> list[Path]:
    return sorted(folder.glob(f"*{_SUFFIX}"), key=lambda path: int(path.stem))


def _blocks(path: Path, size: int) -> Iterator[bytes]:
    """Iterate over the first ``size`` bytes of a file, in blocks."""
    if not size:
        return
    with path.open("rb") as file:
        while size and (block := file.read(min(size, _BLOCK))):
            size -= len(block)
            yield block
