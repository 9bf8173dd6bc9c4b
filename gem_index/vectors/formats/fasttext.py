"""fastText's ``.bin`` models: words, their own vectors and hashed character n-grams.

The layout is the one of ``FastText::saveModel`` (github.com/facebookresearch/fastText, version 12 of the format).
"""

from __future__ import annotations

import io
import struct
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gem_index.errors import VectorFormatError
from gem_index.errors.quoting import quoted
from gem_index.vectors.formats.base import (
    ROWS_AT_ONCE,
    Ngrams,
    VectorChunk,
    VectorFile,
    check_dimension,
    refuse_not_finite,
    word_of_bytes,
)
from gem_index.vectors.formats.inputs import plain_source_file
from gem_index.vectors.ngrams import LONGEST_NGRAM, NgramTable
from gem_index.vectors.rows import Rows

__all__ = ["FASTTEXT_MAGIC", "check_ngrams", "of_ngram_model", "read_fasttext"]

_MAGIC_NUMBER = 793712314
FASTTEXT_MAGIC = struct.pack("<i", _MAGIC_NUMBER)
_VERSIONS = (11, 12)
_WORD, _LABEL = 0, 1
_END_OF_SENTENCE = b"</s>"  # has no n-grams
_LONGEST_WORD = 65_536  # bytes
_MOST_BUCKETS = 1 << 31
_NGRAMS_PER_WORD = 1_000  # average limit, with an allowance of ten words for small models


class _Model:
    """The parts of a model file; the matrix of words and n-gram buckets stays on disk."""

    def __init__(self, path: str, file: io.BufferedReader) -> None:
        self.path = path
        magic, version = self._unpack(file, "<ii")
        if magic != _MAGIC_NUMBER or version not in _VERSIONS:
            raise VectorFormatError(
                f"{path} is not a fastText model of version 12 (found the number {magic}, version {version})"
            )
        args = self._unpack(file, "<12id")
        supervised = args[6] == 3
        self.dimension = check_dimension(args[0], f"{path} byte 8")
        self.buckets, self.shortest, self.longest = args[8], args[9], args[10]
        if version == 11 and supervised:
            self.longest = 0  # as fastText itself does for older classifiers
        check_ngrams(f"{path} byte 44", self.shortest, self.longest)
        size, words, _labels, _tokens, pruned = self._unpack(file, "<iiiqq")
        if not 0 < words <= size or not 0 <= self.buckets < _MOST_BUCKETS or pruned > 0:
            kind = "is quantised or pruned" if pruned > 0 else f"announces {words} words of {size}"
            raise VectorFormatError(
                f"{path} {kind}; expected a plain fastText model: use the .bin it was made from"
            )
        self.words = [word for word, kind in self._entries(file, size) if kind == _WORD]
        if len(self.words) != words:
            raise VectorFormatError(f"{path} announces {words} words, found {len(self.words)}")
        (quantised,) = self._unpack(file, "<?")
        if quantised:
            raise VectorFormatError(
                f"{path} is quantised; expected a plain fastText model: use the .bin it was made from"
            )
        rows, columns = self._unpack(file, "<qq")
        if columns != self.dimension or rows not in (words, words + self.buckets):
            raise VectorFormatError(
                f"{path} byte {file.tell() - 16} announces a matrix of {rows} x {columns}; "
                f"expected {words + self.buckets} x {self.dimension}"
            )
        if rows == words:
            self.longest = 0
        self.offset = file.tell()
        self.rows = rows
        self._check_end(file)

    def _check_end(self, file: io.BufferedReader) -> None:
        """Check that the file has the length that its two matrices need; the second one is not read."""
        size = file.seek(0, io.SEEK_END)
        end = self.offset + 4 * self.rows * self.dimension
        if end <= size:
            file.seek(end)
            (quantised,) = self._unpack(file, "<?")
            if quantised:
                return
            rows, columns = self._unpack(file, "<qq")
            end = file.tell() + 4 * rows * columns
        if end != size:
            raise VectorFormatError(
                f"{self.path} has {size} bytes; expected {end}: the file may be truncated"
            )

    def _unpack(self, file: io.BufferedReader, form: str) -> tuple[int, ...]:
        size = struct.calcsize(form)
        data = file.read(size)
        if len(data) != size:
            raise VectorFormatError(
                f"{self.path} ends at byte {file.tell()}; expected a complete fastText model"
            )
        return struct.unpack(form, data)

    def _entries(self, file: io.BufferedReader, size: int) -> Iterator[tuple[bytes, int]]:
        """Iterate over word and kind: a string ended by a zero byte, its count (8 bytes), its kind (1 byte)."""
        buffer, position = b"", 0
        for number in range(1, size + 1):
            while (end := buffer.find(b"\0", position)) < 0 or end + 10 > len(buffer):
                block = file.read(1 << 20)
                if not block or len(buffer) - position > _LONGEST_WORD + 10:
                    raise VectorFormatError(
                        f"{self.path} ends inside or has no end of word {number} of {size}; "
                        f"expected a complete fastText model, with words of up to {_LONGEST_WORD} bytes"
                    )
                buffer, position = buffer[position:] + block, 0
            if end - position > _LONGEST_WORD:
                raise VectorFormatError(
                    f"{self.path}: word {number} has {end - position} bytes; expected at most {_LONGEST_WORD}"
                )
            yield buffer[position:end], buffer[end + 9]
            position = end + 10
        file.seek(position - len(buffer), io.SEEK_CUR)


def read_fasttext(path: str) -> VectorFile:
    """Open a fastText model; a word's vector is the mean of its own vector and its n-grams' vectors."""
    with plain_source_file(path) as plain, plain.open("rb") as file:
        model = _Model(path, file)
        # the mapping stays valid after the file is closed
        matrix: npt.NDArray[np.float32] = np.memmap(
            file, "<f4", "r", offset=model.offset, shape=(model.rows, model.dimension)
        )
    return of_ngram_model(
        path, "fasttext", model.words, matrix[: len(model.words)], matrix[len(model.words) :],
        model.shortest, model.longest, without_ngrams=_END_OF_SENTENCE,
    )  # fmt: skip


def check_ngrams(place: str, shortest: Any, longest: Any) -> tuple[int, int]:
    """Return the lengths of n-grams after checking them; longest is 0 if there are no n-grams.

    Raises
    ------
    VectorFormatError
        If they are longer than 32 characters, or not numbers.
    """
    numbers = isinstance(shortest, int) and isinstance(longest, int)
    if not (numbers and (0 <= shortest <= longest <= LONGEST_NGRAM or not longest)):
        raise VectorFormatError(
            f"{place} announces n-grams of {quoted(shortest)} to {quoted(longest)} characters; "
            f"expected at most {LONGEST_NGRAM}"
        )
    return shortest, longest


def _check_work(origin: str, words: Sequence[bytes], shortest: int, longest: int) -> None:
    """Limit the work of composing the words: published models have about forty n-grams per word."""
    most = sum(map(len, words)) * (longest - shortest + 1)
    if longest and most > _NGRAMS_PER_WORD * (len(words) + 10):
        raise VectorFormatError(
            f"{origin} has {len(words)} words of up to {max(map(len, words))} bytes with n-grams of {shortest} to "
            f"{longest} characters; expected at most {_NGRAMS_PER_WORD} n-grams per word: this is not a model of words"
        )


def of_ngram_model(
    origin: str,
    format: str,
    words: Sequence[bytes],
    own: npt.NDArray[np.floating],
    buckets: npt.NDArray[np.floating],
    shortest: int,
    longest: int,
    without_ngrams: bytes | None = None,
) -> VectorFile:
    """Return words with their own and their n-grams' vectors as a vector file; longest is 0 if there are no n-grams."""
    _check_work(origin, words, shortest, longest)
    oddities: Counter[str] = Counter()
    table = NgramTable(Rows(buckets), shortest, longest)

    def chunks() -> Iterator[VectorChunk]:
        oddities.clear()
        for begin in range(0, len(words), ROWS_AT_ONCE):
            part = words[begin : begin + ROWS_AT_ONCE]
            rows = np.array(own[begin : begin + len(part)], dtype=np.float32)
            if longest:
                bounded = [b"" if word == without_ngrams else b"<%b>" % word for word in part]
                sums, counts = table.sums(bounded)
                with np.errstate(
                    over="ignore", invalid="ignore"
                ):  # infinity is reported with its word
                    rows += sums
                rows /= (counts + 1)[:, None].astype(np.float32)
            refuse_not_finite(rows, f"{origin} word", begin + 1)
            yield [word_of_bytes(word, oddities) for word in part], rows

    def blocks() -> Iterator[npt.NDArray[np.floating]]:
        for begin in range(0, len(buckets), ROWS_AT_ONCE):
            block = np.array(buckets[begin : begin + ROWS_AT_ONCE], dtype=np.float32)
            refuse_not_finite(block, f"{origin} n-gram bucket", begin + 1)
            yield block

    return VectorFile(
        origin,
        format,
        own.shape[1],
        np.dtype(np.float32),
        chunks,
        words=len(words),
        composition=Ngrams(shortest, longest, blocks) if longest else None,
        oddities=oddities,
    )
