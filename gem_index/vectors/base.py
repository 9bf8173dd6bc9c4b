"""The interface of every source of word vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt

__all__ = ["BoolArray", "FloatArray", "VectorSource"]

FloatArray: TypeAlias = npt.NDArray[np.float32]
BoolArray: TypeAlias = npt.NDArray[np.bool_]


@runtime_checkable
class VectorSource(Protocol):
    """A source of word vectors: a word has the same vector in every process and on every machine."""

    @property
    def dimension(self) -> int:
        """Length of a word's vector."""
        ...

    @property
    def fingerprint(self) -> str:
        """SHA-256 in hexadecimal of everything that determines the result of a look-up."""
        ...

    def lookup(self, tokens: Sequence[str]) -> tuple[FloatArray, BoolArray]:
        """Return the vectors of words.

        Parameters
        ----------
        tokens : sequence of str
            n words, as the tokenizer returns them.

        Returns
        -------
        rows : float32 array (n, dimension)
            Row i is the vector of word i. Finite.
        unknown : bool array (n,)
            True where the source does not know the word; its row is then a substitute.
        """
        ...

    def frequent_words(self) -> Sequence[str] | None:
        """Return the vocabulary, the most frequent word first, or None if the source has no such order."""
        ...
