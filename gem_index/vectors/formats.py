"""Readers of word-vector files: GloVe text, word2vec text, folders of ``words.txt`` + ``matrix.npy``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from gem_index.errors import VectorFormatError
from gem_index.files import open_input

__all__ = ["VectorChunk", "VectorFile", "read_vectors"]

VectorChunk: TypeAlias = tuple[list[str], npt.NDArray[np.floating]]

_LINES = 2048  # rows of a folder that are read at a time
_BYTES = 4 * 1024 * 1024  # of a text file
_MAX_DIMENSION = 65_536
_HEADER = re.compile(rb"^\s*(\d+)\s+(\d+)\s*$")


@dataclass(frozen=True)
class VectorFile:
    """Word vectors as published, read in chunks.

    Attributes
    ----------
    path : Path
        The file or folder.
    format : str
        ``glove``, ``word2vec-text`` or ``folder``.
    dimension : int
        Length of a vector.
    dtype : numpy dtype
        float32, or float16 where the file stores no more.
    chunks : callable
        Iterates over ``(words, rows)``: b words and their (b, dimension) vectors, finite, in the file's order. Raises
        VectorFormatError naming line or row.
    """

    path: Path
    format: str
    dimension: int
    dtype: np.dtype[np.floating]
    chunks: Callable[[], Iterator[VectorChunk]]


def read_vectors(path: str | Path) -> VectorFile:
    """Open word vectors, recognising their format from the content.

    Raises
    ------
    InputError
        If the path cannot be read.
    VectorFormatError
        If it is none of the formats.
    """
    path = Path(path).expanduser()
    return _folder(path) if path.is_dir() else _text_file(path)


def _folder(path: Path) -> VectorFile:
    words_file, matrix_file = path / "words.txt", path / "matrix.npy"
    if not words_file.is_file() or not matrix_file.is_file():
        raise VectorFormatError(
            f"the folder {path} holds no words.txt + matrix.npy; expected both, line i of words.txt naming row i"
        )
    try:
        matrix = np.load(matrix_file, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise VectorFormatError(f"{matrix_file} is not a NumPy array file: {error}") from error
    if (
        matrix.ndim != 2
        or matrix.dtype not in (np.float16, np.float32, np.float64)
        or not matrix.size
    ):
        raise VectorFormatError(
            f"{matrix_file} holds {matrix.dtype} {matrix.shape}; expected a float16 or float32 matrix (words, dimension)"
        )
    try:
        # split at line feeds alone: a word may hold any other character that Unicode counts as a line end
        words = words_file.read_bytes().decode().removesuffix("\n").split("\n")
    except UnicodeDecodeError as error:
        raise VectorFormatError(f"{words_file} is not UTF-8 at byte {error.start}") from error
    if len(words) != len(matrix):
        raise VectorFormatError(
            f"{words_file} holds {len(words)} words and {matrix_file} {len(matrix)} rows; expected as many of both"
        )
    dtype: np.dtype[np.floating] = np.dtype(np.float32)
    if matrix.dtype == np.float16:
        dtype = matrix.dtype

    def chunks() -> Iterator[VectorChunk]:
        for begin in range(0, len(words), _LINES):
            rows = np.asarray(matrix[begin : begin + _LINES]).astype(dtype)
            _refuse_not_finite(rows, lambda i: f"{matrix_file} row {i + 1}", begin)
            yield words[begin : begin + _LINES], rows

    return VectorFile(path, "folder", matrix.shape[1], dtype, chunks)


def _text_file(path: Path) -> VectorFile:
    with open_input(str(path)) as file:
        first = file.readline(1 << 20)
    if not first:
        raise VectorFormatError(f"{path} is empty; expected a word and its vector on each line")
    header = _HEADER.match(first)
    if header:
        count, dimension = int(header[1]), int(header[2])
        if not 1 <= dimension <= _MAX_DIMENSION:
            raise VectorFormatError(
                f"{path} line 1 announces {dimension} dimensions; expected 1 to {_MAX_DIMENSION}"
            )
    else:
        count, dimension = None, len(first.split()) - 1
        if not 1 <= dimension <= _MAX_DIMENSION or not _is_number(first.split()[-1]):
            raise VectorFormatError(
                f"{path} line 1 is no word followed by numbers; expected GloVe or word2vec text "
                "(or a folder with words.txt + matrix.npy)"
            )

    def chunks() -> Iterator[VectorChunk]:
        total = 0
        with open_input(str(path)) as file:
            begin = 1
            if header:
                file.readline()
                begin = 2
            while block := file.read(_BYTES):
                block += file.readline()
                lines = block.count(b"\n") + (not block.endswith(b"\n"))
                chunk = _parse_quickly(block, lines, dimension)
                if chunk is None:
                    chunk = _parse(path, block.removesuffix(b"\n").split(b"\n"), begin, dimension)
                total += len(chunk[0])
                begin += lines
                yield chunk
        if count is not None and total != count:
            raise VectorFormatError(
                f"{path} line 1 announces {count} words, found {total}; expected as many: the file may be cut"
            )

    name = "word2vec-text" if header else "glove"
    return VectorFile(path, name, dimension, np.dtype(np.float32), chunks)


def _parse_quickly(block: bytes, lines: int, dimension: int) -> VectorChunk | None:
    """Parse lines of the simplest form in compiled code; None where one of them needs a closer look."""
    from gem_index.kernels.numbers import EXACT_POWERS, parse_lines

    if not block.endswith(b"\n"):
        block += b"\n"
    spans = np.empty((lines, 2), dtype=np.int64)
    rows = np.empty((lines, dimension), dtype=np.float32)
    parsed = parse_lines(np.frombuffer(block, dtype=np.uint8), EXACT_POWERS, spans, rows)
    if parsed != lines or not np.isfinite(rows).all():
        return None
    try:
        return [block[begin:end].decode() for begin, end in spans.tolist()], rows
    except UnicodeDecodeError:
        return None


def _parse(path: Path, block: list[bytes], begin: int, dimension: int) -> VectorChunk:
    """Parse lines ``word v_1 … v_d``; a word may hold spaces (GloVe 840B), its vector is the last d fields."""
    words: list[str] = []
    numbers: list[str] = []
    for line_number, raw in enumerate(block, begin):
        try:
            line = raw.decode().rstrip(" \r\n\t")
        except UnicodeDecodeError as error:
            raise VectorFormatError(
                f"{path} line {line_number} is not UTF-8 at byte {error.start} of the line; "
                "expected UTF-8: convert the file first"
            ) from error
        fields = line.rsplit(" ", dimension)
        if len(fields) != dimension + 1:
            raise VectorFormatError(
                f"{path} line {line_number} holds {max(len(line.split()) - 1, 0)} numbers; expected {dimension}"
            )
        words.append(fields[0])
        numbers.append(line[len(fields[0]) + 1 :])
    try:
        rows = np.loadtxt(numbers, dtype=np.float32, comments=None, delimiter=" ", ndmin=2)
    except ValueError:
        for line_number, text in enumerate(numbers, begin):
            for field in text.split(" "):
                if not _is_number(field.encode()):
                    raise VectorFormatError(
                        f"{path} line {line_number} holds {field!r} where a number was expected"
                    ) from None
        raise
    _refuse_not_finite(rows, lambda i: f"{path} line {i + begin}", 0)
    return words, rows


def _refuse_not_finite(
    rows: npt.NDArray[np.floating], place: Callable[[int], str], offset: int
) -> None:
    finite = np.isfinite(rows).all(axis=1)
    if not finite.all():
        row = int(np.argmin(finite))
        raise VectorFormatError(
            f"{place(row + offset)} holds NaN or infinity; expected finite numbers"
        )


def _is_number(field: bytes) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True
