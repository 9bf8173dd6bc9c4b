"""Word vectors of a third party: the count of each letter of the alphabet in a word."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from gem_index.vectors import VectorSource

_LETTERS = "abcdefghijklmnopqrstuvwxyz"


class Letters:
    """Counts letters; a word without any is unknown."""

    dimension = len(_LETTERS)
    fingerprint = hashlib.sha256(b"example-source letters 1").hexdigest()

    def lookup(self, tokens: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        rows = [[token.count(letter) for letter in _LETTERS] for token in tokens]
        counts = np.array(rows, dtype=np.float32).reshape(len(tokens), self.dimension)
        return counts, counts.sum(axis=1) == 0

    def frequent_words(self) -> None:
        return None


def open_letters() -> VectorSource:
    """Open the source; the entry point names this function."""
    return Letters()


def open_broken() -> object:
    """Return something else, like a faulty package."""
    return object()


def open_failing() -> VectorSource:
    """Fail, like a package with another fault."""
    raise ZeroDivisionError
