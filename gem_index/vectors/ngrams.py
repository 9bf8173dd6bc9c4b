"""Vectors of words from the vectors of their character n-grams."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from gem_index.vectors.base import FloatArray
from gem_index.vectors.rows import Rows

__all__ = ["NgramTable"]


class NgramTable:
    """The vectors of hashed character n-grams.

    Parameters
    ----------
    buckets : Rows
        Row i is the vector of the n-grams whose hash falls into bucket i.
    shortest, longest : int
        Characters of an n-gram, the word's boundaries included.
    """

    def __init__(self, buckets: Rows, shortest: int, longest: int) -> None:
        self.buckets = buckets
        self.shortest = shortest
        self.longest = longest

    def compose(self, words: Sequence[str]) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
        """Return the mean of each word's n-grams (n, d), and where a word has none."""
        sums, counts = self.sums([f"<{word}>".encode(errors="surrogatepass") for word in words])
        sums /= np.maximum(counts, 1)[:, None].astype(np.float32)
        return sums, counts == 0

    def sums(self, words: Sequence[bytes]) -> tuple[FloatArray, npt.NDArray[np.int64]]:
        """Return the sum of the vectors of each word's n-grams (n, d), and how many there are (n,).

        Parameters
        ----------
        words : sequence of bytes
            n words in UTF-8 with their boundary marks ``<`` and ``>``.
        """
        from gem_index.kernels.ngrams import hash_ngrams

        text = np.frombuffer(b"".join(words), dtype=np.uint8)
        offsets = np.zeros(len(words) + 1, dtype=np.int64)
        np.cumsum([len(word) for word in words], out=offsets[1:])
        found = np.empty(len(text) * (self.longest - self.shortest + 1), dtype=np.int64)
        counts = np.empty(len(words), dtype=np.int64)
        filled = hash_ngrams(
            text, offsets, self.shortest, self.longest, len(self.buckets), found, counts
        )
        sums = np.zeros((len(words), self.buckets.dimension), dtype=np.float32)
        some = np.flatnonzero(counts)
        if len(some):
            begins = (np.cumsum(counts) - counts)[some]
            sums[some] = np.add.reduceat(self.buckets.take(found[:filled]), begins, axis=0)
        return sums, counts
