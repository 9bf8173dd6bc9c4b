"""Matrices with a word list beside them: ``words.txt`` + ``matrix.npy``, and any NumPy or safetensors file with one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
import numpy.typing as npt

from gem_index.errors import VectorFormatError
from gem_index.files import COMPRESSED, plain_file
from gem_index.vectors.formats.base import VectorFile, check_matrix, matrix_chunks

__all__ = ["of_arrays", "read_folder", "read_npy", "read_safetensors", "write_folder"]


def read_folder(path: str) -> VectorFile:
    """Open a folder with ``words.txt`` and ``matrix.npy`` or ``matrix.safetensors``: line i of the first names row i."""
    folder = Path(path)
    words_file = folder / "words.txt"
    for name, read in (("matrix.npy", _npy), ("matrix.safetensors", _tensor)):
        if words_file.is_file() and (folder / name).is_file():
            return of_arrays(path, "folder", _lines(words_file), read(folder / name), folder / name)
    raise VectorFormatError(
        f"the folder {path} holds no words.txt + matrix.npy; expected both (line i of words.txt naming row i), "
        "or a model2vec, sentence-transformers or spaCy folder"
    )


def read_npy(path: str) -> VectorFile:
    """Open a NumPy matrix with its word list beside it."""
    words = _words_beside(Path(path))
    with plain_file(path) as plain:
        return of_arrays(path, "npy", words, _npy(plain), path)


def read_safetensors(path: str) -> VectorFile:
    """Open a safetensors file that holds one matrix, with its word list beside it."""
    words = _words_beside(Path(path))
    with plain_file(path) as plain:
        return of_arrays(path, "safetensors", words, _tensor(plain), path)


def of_arrays(
    origin: str,
    format: str,
    words: Sequence[str],
    matrix: npt.NDArray[Any],
    matrix_file: str | Path | None = None,
) -> VectorFile:
    """Return words and the matrix of their rows as a vector file."""
    place = str(matrix_file or origin)
    dtype = check_matrix(matrix, place)
    if len(words) != len(matrix):
        raise VectorFormatError(
            f"{origin} holds {len(words)} words and {len(matrix)} rows; expected as many of both"
        )
    return VectorFile(
        origin,
        format,
        matrix.shape[1],
        dtype,
        lambda: matrix_chunks(matrix, words, f"{place} row", dtype),
        words=len(words),
    )


def _npy(path: Path) -> npt.NDArray[Any]:
    try:
        matrix: npt.NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError, OverflowError, SyntaxError, TypeError, TokenError) as error:
        raise VectorFormatError(f"{path} is not a NumPy array file: {error}") from error
    return matrix


def _tensor(path: Path) -> npt.NDArray[Any]:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "numpy") as file:
            names = list(file.keys())
            if len(names) != 1:
                raise VectorFormatError(
                    f"{path} holds the tensors {', '.join(names) or '(none)'}; expected one matrix (words, dimension)"
                )
            matrix: npt.NDArray[Any] = file.get_tensor(names[0])
    except (SafetensorError, OSError) as error:
        raise VectorFormatError(f"{path} is not a safetensors file: {error}") from error
    except (TypeError, AttributeError) as error:
        raise VectorFormatError(
            f"{path} holds numbers of a kind that NumPy does not have ({error}); expected float16 or float32"
        ) from error
    return matrix


def _words_beside(path: Path) -> list[str]:
    if path.suffix in COMPRESSED:
        path = path.with_suffix("")
    names = (f"{path.stem}.words.txt", f"{path.stem}.txt", f"{path.stem}.vocab", "words.txt")
    for name in names:
        if (path.parent / name).is_file():
            return _lines(path.parent / name)
    raise VectorFormatError(
        f"{path} is a matrix without words; expected a word a line in a file beside it: {' or '.join(names)}"
    )


def _lines(path: Path) -> list[str]:
    try:
        # split at line feeds alone: a word may hold any other character that Unicode counts as a line end
        text = path.read_bytes().decode("utf-8-sig").removesuffix("\n")
    except UnicodeDecodeError as error:
        raise VectorFormatError(f"{path} is not UTF-8 at byte {error.start}") from error
    lines = text.split("\n")
    if all(line.endswith("\r") for line in lines):
        lines = [line[:-1] for line in lines]
    return lines


def write_folder(folder: Path, vectors: VectorFile) -> None:
    """Write ``words.txt`` and ``matrix.npy`` into a folder."""
    from gem_index.npy import NpyWriter

    with (
        (folder / "words.txt").open("w", encoding="utf-8", newline="\n") as words_file,
        (folder / "matrix.npy").open("wb") as file,
        NpyWriter(file, vectors.dimension, vectors.dtype) as matrix_file,
    ):
        for words, rows in vectors.chunks():
            words_file.writelines(f"{word}\n" for word in words)
            matrix_file.append(rows)
