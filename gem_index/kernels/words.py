"""Inner loops of looking up words in a vocabulary on disk."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gem_index.arrays import F32, I64
from gem_index.kernels.compiled import compiled

__all__ = ["find_words", "hash_words", "sum_rows"]

Bytes = npt.NDArray[np.uint8]
Keys = npt.NDArray[np.uint64]


@compiled
def hash_words(text: Bytes, offsets: I64, out: Keys) -> None:
    """Fill out (words,) with the FNV-1a hash (64 bits) of each word: word i is text[offsets[i]:offsets[i + 1] - 1]."""
    for i in range(out.shape[0]):
        key = np.uint64(14695981039346656037)
        for x in range(offsets[i], offsets[i + 1] - 1):
            key = (key ^ np.uint64(text[x])) * np.uint64(1099511628211)
        out[i] = key


@compiled
def find_words(
    wanted: Bytes,
    wanted_offsets: I64,
    wanted_keys: Keys,
    text: Bytes,
    offsets: I64,
    keys: Keys,
    rows: I64,
    out: I64,
) -> None:
    """Fill out (wanted,) with the row of each wanted word, -1 if the vocabulary does not hold it.

    Parameters
    ----------
    wanted, wanted_offsets, wanted_keys : uint8, int64 and uint64 arrays
        The words in the form of :func:`hash_words`, and their hashes.
    text, offsets : uint8 array, int64 array (V + 1,)
        The vocabulary's words in the same form.
    keys, rows : uint64 and int64 arrays (V,)
        The vocabulary's hashes in ascending order, and the row of each; among equal hashes rows ascend.
    """
    for i in range(out.shape[0]):
        out[i] = -1
        low, high = 0, keys.shape[0]
        while low < high:
            middle = (low + high) // 2
            if keys[middle] < wanted_keys[i]:
                low = middle + 1
            else:
                high = middle
        begin, length = wanted_offsets[i], wanted_offsets[i + 1] - wanted_offsets[i]
        while low < keys.shape[0] and keys[low] == wanted_keys[i]:
            row = rows[low]
            same = offsets[row + 1] - offsets[row] == length
            for x in range(length - 1):
                if not same:
                    break
                same = text[offsets[row] + x] == wanted[begin + x]
            if same:
                out[i] = row
                break
            low += 1


@compiled
def sum_rows(table: F32, rows: I64, counts: I64, out: F32) -> None:
    """Add to each row i of out (n, d) its counts[i] rows of a table (R, d); ``rows`` lists them in order of i."""
    place = 0
    for i in range(out.shape[0]):
        for _ in range(counts[i]):
            row = rows[place]
            for x in range(out.shape[1]):
                out[i, x] += table[row, x]
            place += 1
