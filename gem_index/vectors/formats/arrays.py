"""Matrices with a separate word list: ``words.txt`` + ``matrix.npy``, or any NumPy or safetensors file with a word list."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gem_index.errors import VectorFormatError
from gem_index.errors.quoting import quoted
from gem_index.files.inputs import COMPRESSED
from gem_index.vectors.formats.base import VectorFile, check_matrix, matrix_chunks
from gem_index.vectors.formats.inputs import foreign_reader, plain_source_file

__all__ = [
    "map_npy",
    "named_tensors",
    "of_arrays",
    "read_folder",
    "read_npy",
    "read_safetensors",
    "read_tensors",
    "write_folder",
]

_TENSOR_KINDS = frozenset(
    ["F16", "F32", "F64", "I8", "I16", "I32", "I64", "U8", "U16", "U32", "U64", "BOOL"]
)


def read_folder(path: str) -> VectorFile:
    """Open a folder with ``words.txt`` and ``matrix.npy`` or ``matrix.safetensors``; line i of the words names row i."""
    folder = Path(path)
    words_file = folder / "words.txt"
    for name, read in (
        ("matrix.npy", lambda path: map_npy(str(path))),
        ("matrix.safetensors", _tensor),
    ):
        if words_file.is_file() and (folder / name).is_file():
            return of_arrays(path, "folder", _lines(words_file), read(folder / name), folder / name)
    raise VectorFormatError(
        f"the folder {path} holds no words.txt + matrix.npy; expected both (line i of words.txt naming row i), "
        "or a model2vec, sentence-transformers or spaCy folder"
    )


def read_npy(path: str) -> VectorFile:
    """Open a NumPy matrix with a word list in the same folder."""
    words = _words_beside(Path(path))
    return of_arrays(path, "npy", words, map_npy(path), path)


def read_safetensors(path: str) -> VectorFile:
    """Open a safetensors file that holds one matrix, with a word list in the same folder."""
    words = _words_beside(Path(path))
    with plain_source_file(path) as plain:
        return of_arrays(path, "safetensors", words, _tensor(plain), path)


def of_arrays(
    origin: str,
    format: str,
    words: Sequence[str],
    matrix: npt.NDArray[Any],
    matrix_file: str | Path | None = None,
) -> VectorFile:
    """Return words and their matrix as a vector file."""
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


def map_npy(place: str) -> npt.NDArray[Any]:
    """Map a NumPy array file, compressed or not; ``FILE.npz/NAME.npy`` names an array of several.

    Raises
    ------
    VectorFormatError
        If it is not such a file, holds less than its header announces, or holds values that are not numbers.
    """
    with (
        plain_source_file(place) as plain,
        foreign_reader(f"{place} is not a NumPy array file", "a complete .npy file of numbers"),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")  # about headers written by Python 2
        matrix: npt.NDArray[Any] = np.lib.format.open_memmap(plain, mode="r")
    return matrix


def read_tensors(path: Path, *names: str) -> dict[str, npt.NDArray[Any]]:
    """Return the tensors of a safetensors file that have one of the names, or all if no names are given.

    Raises
    ------
    VectorFormatError
        If it is not such a file, or a tensor has a dtype that NumPy does not have.
    """
    from safetensors import safe_open

    tensors: dict[str, npt.NDArray[Any]] = {}
    problem = f"{path} is not a safetensors file"
    with (
        foreign_reader(problem, "a complete one of float16 or float32 numbers"),
        safe_open(path, "numpy") as file,
    ):
        for name in file.keys():  # noqa: SIM118 - it is not a dictionary
            kind = file.get_slice(name).get_dtype()
            if names and name not in names:
                continue
            if kind not in _TENSOR_KINDS:
                raise VectorFormatError(
                    f"{path} holds numbers of the kind {quoted(kind)}, which NumPy does not have; expected F16 or F32: "
                    "save it as float32"
                )
            tensors[name] = file.get_tensor(name)
    return tensors


def _tensor(path: Path) -> npt.NDArray[Any]:
    tensors = read_tensors(path)
    if len(tensors) != 1:
        raise VectorFormatError(
            f"{path} holds {named_tensors(tensors)}; expected one matrix (words, dimension)"
        )
    return next(iter(tensors.values()))


def named_tensors(tensors: Iterable[str]) -> str:
    """Return the names of tensors for a message."""
    names = list(tensors)
    shown = ", ".join(name if name.isidentifier() else quoted(name, 30) for name in names[:5])
    shown = shown if len(shown) <= 150 else shown[:147] + "..."
    return f"the tensors {shown or '(none)'}{' and others' * (len(names) > 5)}"


def _words_beside(path: Path) -> list[str]:
    if path.suffix in COMPRESSED:
        path = path.with_suffix("")
    names = (f"{path.stem}.words.txt", f"{path.stem}.txt", f"{path.stem}.vocab", "words.txt")
    for name in names:
        if (path.parent / name).is_file():
            return _lines(path.parent / name)
    raise VectorFormatError(
        f"{path} is a matrix without words; expected one word per line in a file beside it: {' or '.join(names)}"
    )


def _lines(path: Path) -> list[str]:
    try:
        # split only at line feeds: a word may contain other characters that Unicode treats as line ends
        text = path.read_bytes().decode("utf-8-sig").removesuffix("\n")
    except UnicodeDecodeError as error:
        raise VectorFormatError(f"{path} is not UTF-8 at byte {error.start}") from error
    lines = text.split("\n")
    if all(line.endswith("\r") for line in lines):
        lines = [line[:-1] for line in lines]
    return lines


def write_folder(folder: Path, vectors: VectorFile) -> None:
    """Write ``words.txt`` and ``matrix.npy`` into a folder."""
    from gem_index.files.npy import NpyWriter

    with (
        (folder / "words.txt").open("w", encoding="utf-8", newline="\n") as words_file,
        (folder / "matrix.npy").open("wb") as file,
        NpyWriter(file, vectors.dimension, vectors.dtype) as matrix_file,
    ):
        for words, rows in vectors.chunks():
            words_file.writelines(f"{word}\n" for word in words)
            matrix_file.append(rows)
