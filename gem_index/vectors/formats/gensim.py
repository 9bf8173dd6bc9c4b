"""gensim's ``KeyedVectors``: objects in memory, and the files that ``save`` writes (read without unpickling)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from gem_index.errors import VectorFormatError
from gem_index.files import open_input
from gem_index.vectors.formats.arrays import of_arrays
from gem_index.vectors.formats.base import VectorFile
from gem_index.vectors.formats.pickled import Record, array_of, read_plain_data

__all__ = ["KeyedVectorsLike", "of_keyed_vectors", "read_gensim"]


@runtime_checkable
class KeyedVectorsLike(Protocol):
    """What is read of a ``gensim.models.KeyedVectors``."""

    index_to_key: list[str]
    vectors: npt.NDArray[Any]


def of_keyed_vectors(vectors: KeyedVectorsLike) -> VectorFile:
    """Return a gensim object's words and rows."""
    words = [str(word) for word in vectors.index_to_key]
    return of_arrays(type(vectors).__name__, "gensim", words, np.asarray(vectors.vectors))


def read_gensim(path: str) -> VectorFile:
    """Open what ``KeyedVectors.save`` or ``Word2Vec.save`` wrote, with the array files that lie beside it."""
    with open_input(path) as file:
        saved = read_plain_data(file, path)
    prefix = path
    if isinstance(saved, Record) and isinstance(saved.state.get("wv"), Record):
        saved, prefix = saved.state["wv"], f"{path}.wv"  # a whole model: its word vectors
    if not isinstance(saved, Record) or "index_to_key" not in saved.state:
        found = saved.name if isinstance(saved, Record) else type(saved).__name__
        raise VectorFormatError(f"{path} holds a {found}; expected gensim's KeyedVectors")
    return of_arrays(path, "gensim", _words(saved, path), _matrix(saved, prefix))


def _words(saved: Record, path: str) -> Sequence[str]:
    words = saved.state["index_to_key"]
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise VectorFormatError(f"{path}: the words are no list of strings; expected gensim's")
    return words


def _matrix(saved: Record, prefix: str) -> npt.NDArray[Any]:
    inside = array_of(saved.state.get("vectors"))
    if inside is not None:
        return inside
    beside = Path(f"{prefix}.vectors.npy")
    if not beside.is_file():
        raise VectorFormatError(
            f"{prefix} names its vectors in a file of their own; expected {beside.name} beside it"
        )
    try:
        matrix: npt.NDArray[Any] = np.load(beside, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise VectorFormatError(f"{beside} is not a NumPy array file: {error}") from error
    return matrix
