"""gensim's ``KeyedVectors``: objects in memory, and files written by ``save`` (read without unpickling)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from gem_index.errors import ConfigError, InputError, VectorFormatError
from gem_index.errors.quoting import quoted
from gem_index.vectors.formats.arrays import map_npy, of_arrays
from gem_index.vectors.formats.base import VectorFile, check_matrix
from gem_index.vectors.formats.fasttext import check_ngrams, of_ngram_model
from gem_index.vectors.formats.inputs import open_source_file
from gem_index.vectors.formats.pickled import Record, array_of, read_plain_data

__all__ = ["KeyedVectorsLike", "of_keyed_vectors", "read_gensim"]


@runtime_checkable
class KeyedVectorsLike(Protocol):
    """The attributes of a ``gensim.models.KeyedVectors`` that are read."""

    index_to_key: list[str]
    vectors: npt.NDArray[Any]


def of_keyed_vectors(vectors: object) -> VectorFile:
    """Return a gensim object's words and rows; for a complete model, the words and rows of its word vectors.

    Raises
    ------
    ConfigError
        If it is not such an object.
    """
    vectors = getattr(vectors, "wv", vectors)
    if not isinstance(vectors, KeyedVectorsLike):
        raise ConfigError(
            f"found a {type(vectors).__name__} as word vectors; expected a path, a name, or gensim's KeyedVectors"
        )
    words = [str(word) for word in vectors.index_to_key]
    return of_arrays(type(vectors).__name__, "gensim", words, np.asarray(vectors.vectors))


def read_gensim(path: str) -> VectorFile:
    """Open a file written by ``KeyedVectors.save`` or a model's ``save``, with the array files beside it."""
    with open_source_file(path) as file:
        saved, size = read_plain_data(file, path)
    prefix = path
    if isinstance(saved, Record) and isinstance(saved.state.get("wv"), Record):
        saved, prefix = saved.state["wv"], f"{path}.wv"  # a complete model: use its word vectors
    if not isinstance(saved, Record) or "index_to_key" not in saved.state:
        found = quoted(saved.name) if isinstance(saved, Record) else type(saved).__name__
        raise VectorFormatError(f"{path} holds a {found}; expected gensim's KeyedVectors")
    words = saved.state["index_to_key"]
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise VectorFormatError(
            f"{path}: the words are not a list of strings; expected gensim's KeyedVectors"
        )
    if sum(map(len, words)) > size:  # the same string object many times
        raise VectorFormatError(f"{path}: the words are longer than the file; expected each once")
    if saved.name.endswith("FastTextKeyedVectors"):
        return _fasttext(saved, words, prefix, path)
    return of_arrays(path, "gensim", words, _array(saved, "vectors", prefix))


def _fasttext(saved: Record, words: list[str], prefix: str, path: str) -> VectorFile:
    """Return gensim's FastText vectors, which are saved as the parts from which a word's vector is computed."""
    own, buckets = (_array(saved, name, prefix) for name in ("vectors_vocab", "vectors_ngrams"))
    shortest, longest = check_ngrams(path, saved.state.get("min_n"), saved.state.get("max_n"))
    for array in (own, buckets):
        check_matrix(array, path)
    if own.shape[0] != len(words) or own.shape[1:] != buckets.shape[1:]:
        raise VectorFormatError(
            f"{path} holds {len(words)} words, vectors {own.shape} and n-grams {buckets.shape}; expected them to agree"
        )
    spelled = [word.encode(errors="surrogatepass") for word in words]
    return of_ngram_model(path, "gensim", spelled, own, buckets, shortest, longest)


def _array(saved: Record, name: str, prefix: str) -> npt.NDArray[Any]:
    """Return an array from inside the pickle, or from the file beside it."""
    inside = array_of(saved.state.get(name))
    if inside is not None:
        return inside
    for ending, member in ((".npy", ""), (".npz", "/val.npy")):
        beside = Path(f"{prefix}.{name}{ending}")
        if not beside.is_file():
            continue
        try:
            return map_npy(f"{beside}{member}")
        except InputError as error:
            if isinstance(error, VectorFormatError):
                raise
            raise VectorFormatError(
                f"{beside} holds no array 'val'; expected the file that gensim saved"
            ) from error
    raise VectorFormatError(
        f"{prefix} keeps its vectors in a separate file; expected {Path(prefix).name}.{name}.npy beside it"
    )
