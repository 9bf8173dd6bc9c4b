"""Inner loops over the bytes of words: finding and numbering them, hashing, and looking them up."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gem_index.common.arrays import I32, I64, Mask
from gem_index.kernels.library import kernels, reading, writing

__all__ = ["find_words", "hash_ngrams", "hash_words", "number_words"]

Bytes = npt.NDArray[np.uint8]
Keys = npt.NDArray[np.uint64]


def number_words(
    text: Bytes, starts: I64, split: Mask, table: I32, ids: I32, offsets: I64, words: I64
) -> int:
    """Find the words of texts and number them in the order of first appearance.

    Parameters
    ----------
    text : uint8 array (bytes,)
        All texts, concatenated and lower-case.
    starts : int64 array (texts + 1,)
        The begin of each text.
    split : bool array (texts,)
        True if a text is already split: its words are its lines. Otherwise its words are runs of [a-z0-9_] with at least
        one letter or digit.
    table : int32 array (a power of two,)
        Hash table of two places or more, initially filled with -1.
    ids : int32 array (at least tokens,)
        Filled with the numbers of the texts' words.
    offsets : int64 array (texts + 1,)
        Filled with the begin of each text in ``ids``.
    words : int64 array (at least words, 2)
        Filled with the begin and end of each distinct word in ``text``.

    Returns
    -------
    int
        Number of distinct words; -1 if they would fill more than half of the table.
    """
    count: int = kernels.number_words(
        reading(text),
        reading(starts),
        len(starts) - 1,
        reading(split),
        writing(table),
        len(table),
        writing(ids),
        writing(offsets),
        writing(words),
    )
    return count


def hash_words(text: Bytes, offsets: I64, out: Keys) -> None:
    """Fill out (words,) with the FNV-1a hash (64 bits) of each word: word i is text[offsets[i]:offsets[i + 1] - 1]."""
    kernels.hash_words(reading(text), reading(offsets), len(out), writing(out))


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
    kernels.find_words(
        reading(wanted),
        reading(wanted_offsets),
        reading(wanted_keys),
        len(out),
        reading(text),
        reading(offsets),
        reading(keys),
        reading(rows),
        len(keys),
        writing(out),
    )


def hash_ngrams(
    text: Bytes, offsets: I64, shortest: int, longest: int, buckets: int, out: I64, counts: I64
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
    count: int = kernels.hash_ngrams(
        reading(text),
        reading(offsets),
        len(counts),
        shortest,
        longest,
        buckets,
        writing(out),
        writing(counts),
    )
    return count
