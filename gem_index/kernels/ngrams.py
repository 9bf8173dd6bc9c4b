"""Inner loop of composing words from character n-grams."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gem_index.arrays import I64
from gem_index.kernels.compiled import compiled, compiled_part

__all__ = ["hash_ngrams"]

Bytes = npt.NDArray[np.uint8]


@compiled_part
def _hashed(key: np.uint64, byte: np.uint8) -> np.uint64:
    """Add a byte to a 32-bit FNV-1a hash."""
    signed = np.uint64(byte) | np.uint64(0xFFFFFF00) if byte > 127 else np.uint64(byte)
    return ((key ^ signed) * np.uint64(16777619)) & np.uint64(0xFFFFFFFF)


@compiled
def hash_ngrams(
    text: Bytes,
    offsets: I64,
    shortest: int,
    longest: int,
    buckets: int,
    out: I64,
    counts: I64,
) -> int:
    """Fill out with the buckets of the words' n-grams, word by word, and return their number.

    An n-gram is a run of ``shortest`` to ``longest`` characters of a word (which includes its boundary marks); a single
    mark is not an n-gram. Its bucket is its 32-bit FNV-1a hash, with bytes as signed numbers as in fastText, modulo
    ``buckets``.

    Parameters
    ----------
    text, offsets : uint8 array, int64 array (words + 1,)
        The words in UTF-8; word i is text[offsets[i]:offsets[i + 1]].
    out : int64 array
        Has room for (bytes of a word) x (longest - shortest + 1) entries for every word.
    counts : int64 array (words,)
        Filled with the number of n-grams of each word.
    """
    filled = 0
    for word in range(counts.shape[0]):
        begin, end = offsets[word], offsets[word + 1]
        before = filled
        for first in range(begin, end):
            if text[first] & 0xC0 == 0x80:
                continue  # inside a character
            last = first
            characters = 1
            key = np.uint64(2166136261)
            while last < end and characters <= longest:
                key = _hashed(key, text[last])
                last += 1
                while last < end and text[last] & 0xC0 == 0x80:
                    key = _hashed(key, text[last])
                    last += 1
                mark = characters == 1 and (first == begin or last == end)
                if characters >= shortest and not mark:
                    out[filled] = np.int64(key) % buckets
                    filled += 1
                characters += 1
        counts[word] = filled - before
    return filled
