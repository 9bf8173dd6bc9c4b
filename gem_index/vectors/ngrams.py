"""Vectors of words from the vectors of their character n-grams."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from gem_index.vectors.base import FloatArray
from gem_index.vectors.rows import Rows

__all__ = ["LONGEST_NGRAM", "NgramTable"]

LONGEST_NGRAM = 32
"""Maximum length of an n-gram in characters; fastText's default is 6."""

_NUMBERS_AT_ONCE = 1 << 23  # 32 MiB of n-grams' vectors


class NgramTable:
    """The vectors of hashed character n-grams.

    Parameters
    ----------
    buckets : Rows
        Row i is the vector of the n-grams whose hash falls into bucket i.
    shortest, longest : int
        Lengths of an n-gram in characters, including the word's boundary marks.
    """

    def __init__(self, buckets: Rows, shortest: int, longest: int) -> None:
        self.buckets = buckets
        self.shortest = shortest
        self.longest = longest

    def compose(self, words: Sequence[str]) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
        """Return the mean of each word's n-gram vectors (n, d), and a mask of words without n-grams (n,)."""
        sums, counts = self.sums([f"<{word}>".encode(errors="surrogatepass") for word in words])
        sums /= np.maximum(counts, 1)[:, None].astype(np.float32)
        # the sum of numbers near the largest float32 may be infinite or NaN
        return np.nan_to_num(sums, copy=False), counts == 0

    def sums(self, words: Sequence[bytes]) -> tuple[FloatArray, npt.NDArray[np.int64]]:
        """Return the sum of each word's n-gram vectors (n, d), and the number of its n-grams (n,).

        Parameters
        ----------
        words : sequence of bytes
            n words in UTF-8 with their boundary marks ``<`` and ``>``.
        """
        sums = np.zeros((len(words), self.buckets.dimension), dtype=np.float32)
        counts = np.zeros(len(words), dtype=np.int64)
        most = max(_NUMBERS_AT_ONCE // self.buckets.dimension, 1)
        rooms = np.array([len(word) for word in words], dtype=np.int64)
        rooms *= self.longest - self.shortest + 1
        ends = np.cumsum(rooms)
        begin = 0
        while begin < len(words):
            limit = int(ends[begin] - rooms[begin]) + most
            end = max(int(np.searchsorted(ends, limit, "right")), begin + 1)
            found, counts[begin:end] = self._hash(words[begin:end], int(rooms[begin:end].sum()))
            some = np.flatnonzero(counts[begin:end])
            with np.errstate(over="ignore", invalid="ignore"):  # the caller checks the sums
                if len(found) > most:  # one word, perhaps of a megabyte
                    for first in range(0, len(found), most):
                        sums[begin] += self.buckets.take(found[first : first + most]).sum(axis=0)
                elif len(some):
                    begins = (np.cumsum(counts[begin:end]) - counts[begin:end])[some]
                    sums[begin + some] = np.add.reduceat(self.buckets.take(found), begins, axis=0)
            begin = end
        return sums, counts

    def _hash(
        self, words: Sequence[bytes], room: int
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return the buckets of all words' n-grams in one array, and the number of n-grams of each word (n,)."""
        from gem_index.kernels.words import hash_ngrams

        text = np.frombuffer(b"".join(words), dtype=np.uint8)
        offsets = np.zeros(len(words) + 1, dtype=np.int64)
        np.cumsum([len(word) for word in words], out=offsets[1:])
        found = np.empty(room, dtype=np.int64)
        counts = np.empty(len(words), dtype=np.int64)
        filled = hash_ngrams(
            text, offsets, self.shortest, self.longest, len(self.buckets), found, counts
        )
        return found[:filled], counts
