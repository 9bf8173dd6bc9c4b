"""Inner loop of tokenization: find and number distinct words without a Python object per token."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gem_index.arrays import I32, I64
from gem_index.kernels.compiled import compiled, compiled_part

__all__ = ["number_words"]

Bytes = npt.NDArray[np.uint8]

_LINE_FEED = 10
_UNDERSCORE = 95


@compiled_part
def _is_word_byte(byte: int, split: bool) -> bool:
    """Tell whether a byte belongs to a word: any but a line feed in split texts, [a-z0-9_] in other texts."""
    if split:
        return byte != _LINE_FEED
    return 97 <= byte <= 122 or 48 <= byte <= 57 or byte == _UNDERSCORE


@compiled_part
def _same(text: Bytes, a: int, b: int, length: int) -> bool:
    """Tell whether two ranges of a text are equal."""
    for x in range(length):  # noqa: SIM110 - a generator does not compile
        if text[a + x] != text[b + x]:
            return False
    return True


@compiled
def number_words(
    text: Bytes,
    starts: I64,
    split: npt.NDArray[np.bool_],
    table: I32,
    ids: I32,
    offsets: I64,
    words: I64,
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
    mask = table.shape[0] - 1
    count = 0
    tokens = 0
    offsets[0] = 0
    for s in range(starts.shape[0] - 1):
        position, end = starts[s], starts[s + 1]
        while position < end:
            if not _is_word_byte(text[position], split[s]):
                position += 1
                continue
            begin = position
            underscores = 0
            key = np.uint64(14695981039346656037)  # FNV-1a
            while position < end and _is_word_byte(text[position], split[s]):
                key = (key ^ np.uint64(text[position])) * np.uint64(1099511628211)
                underscores += text[position] == _UNDERSCORE
                position += 1
            length = position - begin
            if underscores == length:
                continue
            place = np.int64((key ^ (key >> np.uint64(32))) & np.uint64(mask))
            while True:
                word = table[place]
                if word < 0:
                    if 2 * count >= table.shape[0]:
                        return -1
                    table[place] = count
                    words[count, 0], words[count, 1] = begin, position
                    word = count
                    count += 1
                    break
                known = words[word, 0]
                if words[word, 1] - known == length and _same(text, known, begin, length):
                    break
                place = (place + 1) & mask
            ids[tokens] = word
            tokens += 1
        offsets[s + 1] = tokens
    return count
