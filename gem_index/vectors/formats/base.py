"""What every reader of word vectors returns, and what all of them check."""

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
        A piece that is not counted: the one that stands for unknown text.
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
        Characters of an n-gram, the word's boundaries included.
    rows : callable
        Iterates over the n-grams' vectors in blocks (b, dimension), bucket by bucket.
    """

    shortest: int
    longest: int
    rows: Callable[[], Iterator[npt.NDArray[np.floating]]]


@dataclass(frozen=True)
class VectorFile:
    """Word vectors as published, read in chunks.

    Attributes
    ----------
    origin : str
        Where they were read: a file, folder, package or object.
    format : str
        One of ``FORMATS``.
    dimension : int
        Length of a vector.
    dtype : numpy dtype
        float32, or float16 where no more is stored.
    chunks : callable
        Iterates over ``(words, rows)``: b words and their (b, dimension) vectors, finite, in the file's order. Raises
        VectorFormatError naming line, row or byte.
    words : int, optional
        How many words are announced, for showing progress; not to be trusted.
    table : callable, optional
        Where several words share a row: returns the words and the row of each; the chunks then carry no words.
    composition : Pieces or Ngrams, optional
        How words that have no row of their own get a vector.
    oddities : Counter
        What was tolerated while reading the chunks, by name.
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
    """Return a word as text: UTF-8, else Latin-1, which some published files mix in and which is then counted."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        oddities["latin1"] += 1
        return raw.decode("latin-1")


def check_dimension(dimension: int, place: str) -> int:
    """Return a dimension that vectors can have.

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
    """Iterate over the rows of a matrix and their words; without words the rows come alone."""
    for begin in range(0, len(matrix), ROWS_AT_ONCE):
        with np.errstate(over="ignore", invalid="ignore"):  # infinity is reported by its row
            rows = np.asarray(matrix[begin : begin + ROWS_AT_ONCE]).astype(dtype)
        refuse_not_finite(rows, place, begin + 1)
        yield words[begin : begin + ROWS_AT_ONCE], rows


def check_matrix(matrix: Matrix, place: str) -> np.dtype[np.floating]:
    """Return the precision to keep of a matrix: float16 where it holds no more, else float32.

    Raises
    ------
    VectorFormatError
        If it is no matrix of numbers.
    """
    if matrix.ndim != 2 or matrix.dtype.kind != "f" or not matrix.size:
        raise VectorFormatError(
            f"{place} holds {matrix.dtype} {matrix.shape}; expected a float16 or float32 matrix (words, dimension)"
        )
    check_dimension(matrix.shape[1], place)
    return np.dtype(np.float16 if matrix.dtype == np.float16 else np.float32)


def refuse_not_finite(rows: npt.NDArray[np.floating], place: str, first: int) -> None:
    """Raise VectorFormatError where a row holds NaN or infinity; row 0 is called ``place`` and the number ``first``."""
    finite = np.isfinite(rows).all(axis=1)
    if not finite.all():
        raise VectorFormatError(
            f"{place} {first + int(np.argmin(finite))} holds NaN or infinity; expected finite numbers"
        )
