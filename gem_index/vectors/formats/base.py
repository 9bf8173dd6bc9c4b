"""The common result of all readers of word vectors, and their common checks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from gem_index.errors import VectorFormatError

__all__ = [
    "MAX_DIMENSION",
    "ROWS_AT_ONCE",
    "Ngrams",
    "Pieces",
    "VectorChunk",
    "VectorFile",
    "check_dimension",
    "check_matrix",
    "matrix_chunks",
    "refuse_not_finite",
    "word_of_bytes",
]

VectorChunk: TypeAlias = tuple[Sequence[str], npt.NDArray[np.floating]]
Matrix: TypeAlias = npt.NDArray[np.generic]

MAX_DIMENSION = 65_536
ROWS_AT_ONCE = 2048


@dataclass(frozen=True)
class Pieces:
    """Words are composed of a tokenizer's pieces: row i of the matrix is the vector of piece i.

    Parameters
    ----------
    tokenizer : Path
        A ``tokenizers`` JSON file.
    rule : str
        ``sum`` or ``mean`` of the pieces' vectors.
    left_out : int, optional
        A piece that does not count: the one for unknown text.
    """

    tokenizer: Path
    rule: str
    left_out: int | None = None


@dataclass(frozen=True)
class Ngrams:
    """Unknown words are composed of hashed character n-grams.

    Source: Bojanowski et al., "Enriching Word Vectors with Subword Information", TACL 2017.

    Parameters
    ----------
    shortest, longest : int
        Lengths of an n-gram in characters, including the word's boundary marks.
    rows : callable
        Iterates over the n-grams' vectors in blocks (b, dimension), bucket by bucket.
    """

    shortest: int
    longest: int
    rows: Callable[[], Iterator[npt.NDArray[np.floating]]]


@dataclass(frozen=True)
class VectorFile:
    """Word vectors in a published format, read in chunks.

    Attributes
    ----------
    origin : str
        Where they come from: a file, folder, package or object.
    format : str
        One of ``FORMATS``.
    dimension : int
        Length of a vector.
    dtype : numpy dtype
        float32, or float16 if the file stores float16.
    chunks : callable
        Iterates over ``(words, rows)``: b words and their (b, dimension) vectors, finite, in the file's order. Raises
        VectorFormatError with the line, row or byte.
    words : int, optional
        The number of words that the file announces, only for showing progress: it may be wrong.
    table : callable, optional
        For words that share rows: returns the words and the row of each; the chunks then hold no words.
    composition : Pieces or Ngrams, optional
        How vectors are composed for words without a row.
    oddities : Counter
        Counts of the problems that were tolerated while reading the chunks, by name.
    """

    origin: str
    format: str
    dimension: int
    dtype: np.dtype[np.floating]
    chunks: Callable[[], Iterator[VectorChunk]]
    words: int | None = None
    table: Callable[[], tuple[Sequence[str], npt.NDArray[np.int64]]] | None = None
    composition: Pieces | Ngrams | None = None
    oddities: Counter[str] = field(default_factory=Counter)


def word_of_bytes(raw: bytes, oddities: Counter[str]) -> str:
    """Decode a word as UTF-8, else as Latin-1, which some published files contain; the latter is counted."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        oddities["latin1"] += 1
        return raw.decode("latin-1")


def check_dimension(dimension: int, place: str) -> int:
    """Return a dimension after checking its range.

    Raises
    ------
    VectorFormatError
        If it is out of range.
    """
    if not 1 <= dimension <= MAX_DIMENSION:
        raise VectorFormatError(
            f"{place} announces {dimension} dimensions; expected 1 to {MAX_DIMENSION}"
        )
    return dimension


def matrix_chunks(
    matrix: Matrix, words: Sequence[str], place: str, dtype: npt.DTypeLike
) -> Iterator[VectorChunk]:
    """Iterate over blocks of words and rows of a matrix; ``words`` may be empty."""
    for begin in range(0, len(matrix), ROWS_AT_ONCE):
        with np.errstate(over="ignore", invalid="ignore"):  # infinity is reported with its row
            rows = np.asarray(matrix[begin : begin + ROWS_AT_ONCE]).astype(dtype)
        refuse_not_finite(rows, place, begin + 1)
        yield words[begin : begin + ROWS_AT_ONCE], rows


def check_matrix(matrix: Matrix, place: str) -> np.dtype[np.floating]:
    """Return the type in which to store a matrix: float16 if it is float16, else float32.

    Raises
    ------
    VectorFormatError
        If it is not a matrix of floating-point numbers.
    """
    if matrix.ndim != 2 or matrix.dtype.kind != "f" or not matrix.size:
        raise VectorFormatError(
            f"{place} holds {matrix.dtype} {matrix.shape}; expected a float16 or float32 matrix (words, dimension)"
        )
    check_dimension(matrix.shape[1], place)
    return np.dtype(np.float16 if matrix.dtype == np.float16 else np.float32)


def refuse_not_finite(rows: npt.NDArray[np.floating], place: str, first: int) -> None:
    """Raise VectorFormatError if a row holds NaN or infinity; the message calls row i ``place`` ``first + i``."""
    finite = np.isfinite(rows).all(axis=1)
    if not finite.all():
        raise VectorFormatError(
            f"{place} {first + int(np.argmin(finite))} holds NaN or infinity; expected finite numbers"
        )
