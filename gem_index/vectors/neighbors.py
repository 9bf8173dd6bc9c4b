"""The nearest words of a word, and analogies: a quick check that vectors are plausible."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gem_index.errors import InputError
from gem_index.errors.quoting import quoted
from gem_index.text.tokens import frequent_english
from gem_index.vectors.base import FloatArray, VectorSource
from gem_index.vectors.combined import CombinedVectors
from gem_index.vectors.mapped import MappedVectors

__all__ = ["nearest_words", "solve_analogy"]

_BLOCK = 20_000


def nearest_words(source: VectorSource, word: str, k: int) -> list[tuple[str, float]]:
    """Return the k words with the largest cosine similarity to a word, best first.

    Parameters
    ----------
    source : VectorSource
        Its vocabulary is searched; if it composes every word, the packaged list of frequent English words.
    word : str
        Not among the results.
    k : int
        At least 1.

    Raises
    ------
    InputError
        If the source does not know the word, or k is below 1.
    """
    return _nearest(source, _look_up_known(source, [word])[0], {word}, k)


def solve_analogy(source: VectorSource, a: str, b: str, c: str, k: int) -> list[tuple[str, float]]:
    """Return the k words that are to c as b is to a, best first.

    They have the largest cosine similarity to b - a + c, with all vectors of length 1 (3CosAdd of Mikolov, Yih and Zweig,
    "Linguistic Regularities in Continuous Space Word Representations", NAACL 2013). The parameters are the same as for
    :func:`nearest_words`; the three given words are not among the results.
    """
    first, second, third = _look_up_known(source, [a, b, c])
    return _nearest(source, second - first + third, {a, b, c}, k)


def _look_up_known(source: VectorSource, words: list[str]) -> FloatArray:
    for word in words:
        if not word or not word.isprintable():
            raise InputError(f"the word is {quoted(word)}; expected a word of printable characters")
    rows, unknown = source.lookup(words)
    if unknown.any():
        word = words[int(np.argmax(unknown))]
        raise InputError(f"the vectors do not hold the word {quoted(word)}; expected one they hold")
    return _normalise(rows)


def _nearest(
    source: VectorSource, target: FloatArray, without: set[str], k: int
) -> list[tuple[str, float]]:
    if k < 1:
        raise InputError(f"k is {k}; expected at least 1")
    target = _normalise(target[None])[0]
    vocabulary = _vocabulary(source)
    scores = np.empty(len(vocabulary))
    for begin in range(0, len(vocabulary), _BLOCK):
        block, _ = source.lookup(vocabulary[begin : begin + _BLOCK])
        scores[begin : begin + _BLOCK] = _normalise(block) @ target
    order = np.argsort(-scores, kind="stable")
    # A word that occurs twice in the vocabulary has one vector and therefore one entry.
    found: dict[str, float] = {}
    for i in order:
        if vocabulary[int(i)] not in without:
            found.setdefault(vocabulary[int(i)], float(scores[i]))
        if len(found) == k:
            break
    return list(found.items())


def _vocabulary(source: VectorSource) -> Sequence[str]:
    if isinstance(source, CombinedVectors):
        return _vocabulary(source.sources[0])
    if isinstance(source, MappedVectors):
        return source.vocabulary
    return source.frequent_words() or frequent_english()


def _normalise(rows: FloatArray) -> FloatArray:
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(norms > 0, norms, 1), dtype=np.float32)
