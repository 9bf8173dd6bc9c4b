"""A vocabulary that opens without reading its words: they stay on disk and are found by a hash."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from gem_index.errors import InputError, VectorFormatError
from gem_index.files.npy import map_array

__all__ = ["Vocabulary"]

_FILES = ("words.txt", "offsets.npy", "keys.npy", "rows.npy")


class Vocabulary(Sequence[str]):
    """The words of a source in row order.

    A word is found by its 64-bit hash in a sorted array and then compared byte by byte.

    Parameters
    ----------
    text : uint8 array
        All words in UTF-8, each followed by a line feed.
    offsets : int64 array (V + 1,)
        The begin of each word in ``text``.
    keys : uint64 array (V,)
        The words' hashes in ascending order.
    rows : int64 array (V,)
        The row of each key; a repeated word is found in its first row.
    """

    def __init__(
        self,
        text: npt.NDArray[np.uint8],
        offsets: npt.NDArray[np.int64],
        keys: npt.NDArray[np.uint64],
        rows: npt.NDArray[np.int64],
    ) -> None:
        # mapped arrays as plain arrays: for the compiler a memmap would be another type
        self._text = text.view(np.ndarray)
        self._offsets = offsets.view(np.ndarray)
        self._keys = keys.view(np.ndarray)
        self._rows = rows.view(np.ndarray)

    @classmethod
    def build(cls, words: Sequence[str]) -> Vocabulary:
        """Index words; a repeated word keeps its first row.

        Raises
        ------
        VectorFormatError
            If there are no words, or a word holds a line feed.
        """
        if not words:
            raise VectorFormatError("the vocabulary is empty; expected at least one word")
        for row, word in enumerate(words):
            if "\n" in word:
                raise VectorFormatError(
                    f"word {row + 1} holds a line feed; expected words of one line"
                )
        text, offsets = _lines(words)
        keys = _keys(text, offsets)
        rows = np.argsort(keys, kind="stable")
        return cls(text, offsets, keys[rows], rows.astype(np.int64))

    @classmethod
    def open(cls, folder: Path) -> Vocabulary:
        """Map the files that :meth:`save` wrote; of these only the first word is read, and looked up.

        Raises
        ------
        InputError
            If its hash is missing: with hashes of an earlier version, every word would be unknown.
        """
        text, *arrays = (folder / name for name in _FILES)
        opened = cls(
            np.memmap(text, dtype=np.uint8, mode="r"),
            *(map_array(array) for array in arrays),
        )
        opened._check_hash()
        return opened

    def _check_hash(self) -> None:
        [key] = _keys(self._text[: self._offsets[1]], self._offsets[:2])
        place = np.searchsorted(self._keys, key)
        if place == len(self._keys) or self._keys[place] != key:
            raise InputError("its words are stored with hashes that this version does not make")

    def save(self, folder: Path) -> None:
        """Write the vocabulary's files into a folder."""
        text, *arrays = (folder / name for name in _FILES)
        self._text.tofile(text)
        for path, array in zip(arrays, (self._offsets, self._keys, self._rows), strict=True):
            np.save(path, array)

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __getitem__(self, row):  # type: ignore[no-untyped-def]  # the overloads of Sequence say nothing to a reader here
        """Return the word of a row, or the words of a slice of rows."""
        if isinstance(row, slice):
            return [self[i] for i in range(*row.indices(len(self)))]
        if row < 0:
            row += len(self)
        if not 0 <= row < len(self):
            raise IndexError(row)
        begin, end = self._offsets[row], self._offsets[row + 1]
        return self._text[begin : end - 1].tobytes().decode()

    def __iter__(self) -> Iterator[str]:
        return (self[row] for row in range(len(self)))

    def duplicates(self) -> int:
        """Return the number of words that repeat an earlier word."""
        same = np.flatnonzero(self._keys[1:] == self._keys[:-1])
        suspects = np.unique(np.concatenate([self._rows[same], self._rows[same + 1]]))
        found = self.find([self[row] for row in suspects.tolist()])
        return int((found != suspects).sum())

    def contents(self) -> Iterator[bytes]:
        """Iterate over the words' text."""
        for begin in range(0, len(self._text), 1 << 24):
            yield self._text[begin : begin + (1 << 24)].tobytes()

    def find(self, words: Sequence[str]) -> npt.NDArray[np.int64]:
        """Return the row of each word, -1 if the vocabulary does not hold it.

        Parameters
        ----------
        words : sequence of str
            n words without line feeds.

        Returns
        -------
        int64 array (n,)
        """
        from gem_index.kernels.words import find_words

        text, offsets = _lines(words)
        if len(offsets) != len(words) + 1:  # a word with a line feed is never in a vocabulary
            found = np.full(len(words), -1, dtype=np.int64)
            whole = [i for i, word in enumerate(words) if "\n" not in word]
            found[whole] = self.find([words[i] for i in whole])
            return found
        found = np.empty(len(words), dtype=np.int64)
        keys = _keys(text, offsets)
        find_words(text, offsets, keys, self._text, self._offsets, self._keys, self._rows, found)
        return found


def _lines(words: Sequence[str]) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """Return words as one text with a line feed after each, and the begin of each word."""
    joined = ("\n".join(words) + "\n" if words else "").encode(errors="surrogatepass")
    text = np.frombuffer(joined, dtype=np.uint8)
    ends = np.flatnonzero(text == 10) + 1
    offsets = np.zeros(len(ends) + 1, dtype=np.int64)
    offsets[1:] = ends
    return text, offsets


def _keys(text: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64]) -> npt.NDArray[np.uint64]:
    from gem_index.kernels.words import hash_words

    keys = np.empty(len(offsets) - 1, dtype=np.uint64)
    hash_words(text, offsets, keys)
    return keys
