"""A vocabulary that opens at once: words on disk, found by a hash, without a Python object per word."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from gem_index.errors import VectorFormatError

__all__ = ["Vocabulary", "digest"]

_FILES = ("words.txt", "offsets.npy", "keys.npy", "rows.npy")


def digest(word: str) -> bytes:
    """Return the SHA-256 digest of a word's UTF-8 bytes (32 bytes)."""
    return hashlib.sha256(word.encode()).digest()


class Vocabulary(Sequence[str]):
    """The words of a source in row order.

    A word is found by the first 64 bits of its SHA-256 digest in a sorted array. Two words of one vocabulary never share
    them (checked when it is built); for a word outside, the chance to be taken for one inside is V / 2**64.

    Parameters
    ----------
    text : uint8 array
        All words in UTF-8, each followed by a line feed.
    offsets : int64 array (V + 1,)
        Where each word begins in ``text``.
    keys : uint64 array (distinct words,)
        The words' 64-bit keys in ascending order.
    rows : int64 array (distinct words,)
        The row of each key; where a word came twice, the first.
    """

    def __init__(
        self,
        text: npt.NDArray[np.uint8],
        offsets: npt.NDArray[np.int64],
        keys: npt.NDArray[np.uint64],
        rows: npt.NDArray[np.int64],
    ) -> None:
        self._text = text
        self._offsets = offsets
        self._keys = keys
        self._rows = rows

    @classmethod
    def build(cls, words: Sequence[str]) -> Vocabulary:
        """Index some words; a word that comes again keeps its first row.

        Raises
        ------
        VectorFormatError
            If there are no words, or a word holds a line feed.
        """
        if not words:
            raise VectorFormatError("the vocabulary is empty; expected at least one word")
        encoded = [word.encode() + b"\n" for word in words]
        for row, line in enumerate(encoded):
            if b"\n" in line[:-1]:
                raise VectorFormatError(
                    f"word {row + 1} holds a line feed; expected words of one line"
                )
        text = np.frombuffer(b"".join(encoded), dtype=np.uint8)
        offsets = np.zeros(len(words) + 1, dtype=np.int64)
        np.cumsum([len(line) for line in encoded], out=offsets[1:])
        all_keys = _keys_of([digest(word) for word in words])
        keys, rows = np.unique(all_keys, return_index=True)
        if len(keys) < len(set(words)):
            raise VectorFormatError("two words share their 64-bit key; expected distinct keys")
        return cls(text, offsets, keys, rows.astype(np.int64))

    @classmethod
    def open(cls, folder: Path) -> Vocabulary:
        """Map the files that :meth:`save` wrote; nothing is read before the first look-up."""
        text, *arrays = (folder / name for name in _FILES)
        return cls(
            np.memmap(text, dtype=np.uint8, mode="r"),
            *(np.load(array, mmap_mode="r") for array in arrays),
        )

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

    @property
    def duplicates(self) -> int:
        """How many rows repeat an earlier word and are never looked up."""
        return len(self) - len(self._keys)

    def find(self, digests: Sequence[bytes]) -> npt.NDArray[np.int64]:
        """Return the row of each digest's word, -1 where the vocabulary does not hold it.

        Parameters
        ----------
        digests : sequence of bytes
            n results of :func:`digest`.

        Returns
        -------
        int64 array (n,)
        """
        wanted = _keys_of(digests)
        places = np.minimum(np.searchsorted(self._keys, wanted), len(self._keys) - 1)
        return np.where(self._keys[places] == wanted, self._rows[places], -1)


def _keys_of(digests: Sequence[bytes]) -> npt.NDArray[np.uint64]:
    joined = b"".join([digest[:8] for digest in digests])
    return np.frombuffer(joined, dtype=">u8").astype(np.uint64)
