"""Word vectors as rows with a vocabulary, mapped from the disk (docs/algorithm.md, section 2)."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from gem_index.errors import ConfigError, VectorFormatError
from gem_index.vectors.base import BoolArray, FloatArray
from gem_index.vectors.formats.base import Ngrams, VectorChunk, VectorFile
from gem_index.vectors.ngrams import NgramTable
from gem_index.vectors.options import SourceOptions, row_of_unknown
from gem_index.vectors.rows import Rows, quantised
from gem_index.vectors.runs import vectors_of_runs
from gem_index.vectors.vocabulary import Vocabulary

__all__ = ["MappedVectors", "fingerprint_of"]

_BLOCK = 2048


class MappedVectors:
    """Rows of word vectors, with a vocabulary. By default, the SHA-256 digest of an unknown word selects its row.

    Parameters
    ----------
    rows : Rows
        R vectors of d dimensions.
    vocabulary : Vocabulary
        W words.
    options : SourceOptions, optional
    row_of_word : int64 array (W,), optional
        The row of each word, needed if several words share a row. By default, word i has row i.
    ngrams : NgramTable, optional
        The table from which vectors of unknown words are composed, if the options require it.
    fingerprint : str, optional
        The fingerprint of these rows, words and options, if the caller knows it already.

    Raises
    ------
    ConfigError
        If the options require composed words and there are no n-grams.
    """

    def __init__(
        self,
        rows: Rows,
        vocabulary: Vocabulary,
        options: SourceOptions | None = None,
        *,
        row_of_word: npt.NDArray[np.int64] | None = None,
        ngrams: NgramTable | None = None,
        fingerprint: str | None = None,
    ) -> None:
        self.rows = rows
        self.vocabulary = vocabulary
        self.options = (options or SourceOptions()).decided(has_ngrams=ngrams is not None)
        self.row_of_word = row_of_word
        self.ngrams = ngrams
        if self.options.oov == "subword" and ngrams is None:
            raise ConfigError(
                "oov is 'subword' and these vectors have no n-grams; expected hash or zero"
            )
        self.fingerprint = fingerprint or fingerprint_of(self._contents(), self.options)

    def __repr__(self) -> str:
        return f"MappedVectors({len(self.vocabulary):,} words, {self.dimension} dimensions)"

    @property
    def dimension(self) -> int:
        """The number of dimensions of a word's vector."""
        return self.rows.dimension

    @classmethod
    def from_words(
        cls,
        words: Sequence[str],
        matrix: npt.NDArray[np.floating],
        options: SourceOptions | None = None,
    ) -> MappedVectors:
        """Make a source from words and rows in memory.

        Raises
        ------
        VectorFormatError
            If the numbers of words and rows differ, or a number is not finite.
        """
        if matrix.ndim != 2 or len(words) != len(matrix) or not np.isfinite(matrix).all():
            raise VectorFormatError(
                f"found {len(words)} words and a matrix of shape {matrix.shape}; "
                "expected a finite (words, dimension) matrix"
            )
        options = options or SourceOptions()
        if options.limit is not None:
            words, matrix = words[: options.limit], matrix[: options.limit]
        own = np.float16 if matrix.dtype == np.float16 else np.float32
        rows = Rows(*quantised(matrix, np.dtype(options.dtype or own)))
        return cls(rows, Vocabulary.build(words), options)

    def lookup(self, tokens: Sequence[str]) -> tuple[FloatArray, BoolArray]:
        """Return the vectors of words; see :class:`~gem_index.vectors.base.VectorSource`.

        Two kinds of words outside the vocabulary also count as known: words whose vectors are composed of n-grams, and
        runs of characters (in scripts without blanks) that contain known words.
        """
        words = self.options.spelled(tokens)
        rows = self._find(words)
        unknown = rows < 0
        missing = np.flatnonzero(unknown)
        if not len(missing):
            return self.options.adjust(self.rows.take(rows)), unknown
        spelled = [words[i] for i in missing.tolist()]
        silent = self.options.silent(words, unknown)
        if self.options.oov == "hash":
            rows[missing] = [row_of_unknown(word, len(self.rows)) for word in spelled]
            vectors = self.rows.take(rows)
        else:
            rows[missing] = 0
            vectors = self.rows.take(rows)
            vectors[missing] = 0
        if self.ngrams is not None and self.options.oov == "subword":
            vectors[missing], unknown[missing] = self.ngrams.compose(spelled)
        vectors[silent] = 0
        if self.options.runs == "split":
            places, means = vectors_of_runs(spelled, self._find, self.rows.take)
            if len(places):
                vectors[missing[places]], unknown[missing[places]] = means, False
        return self.options.adjust(vectors), unknown

    def _find(self, words: Sequence[str]) -> npt.NDArray[np.int64]:
        """Return the row of each word, -1 for an unknown word."""
        found = self.vocabulary.find(words)
        if self.options.case == "fallback":
            for change in (str.lower, str.capitalize):
                missing = np.flatnonzero(found < 0)
                if len(missing):
                    found[missing] = self.vocabulary.find(
                        [change(words[i]) for i in missing.tolist()]
                    )
        if self.row_of_word is None:
            return found
        return np.where(found < 0, -1, self.row_of_word[found])

    def frequent_words(self) -> Sequence[str] | None:
        """Return the vocabulary if its words are in the order of frequency; None if they are in alphabetical order."""
        sample = self.vocabulary[:2000]
        ascending = sum(a < b for a, b in itertools.pairwise(sample))
        # In the order of frequency, about half of the neighbouring pairs of words ascend; in alphabetical order, nearly all.
        if len(sample) < 20 or ascending > 0.9 * (len(sample) - 1):
            return None
        return self.vocabulary

    def as_file(self, origin: str, format: str) -> VectorFile:
        """Return the vectors, changed by the options, as a file to write or to import."""
        plain = not self.options.unit and self.options.scale == 1
        half = self.rows.matrix.dtype == np.float16 and plain
        words = self.vocabulary

        def chunks() -> Iterator[VectorChunk]:
            for begin in range(0, len(words), _BLOCK):
                places = np.arange(begin, min(begin + _BLOCK, len(words)))
                rows = places if self.row_of_word is None else self.row_of_word[places]
                taken = self.options.adjust(self.rows.take(rows))
                yield words[begin : begin + _BLOCK], taken.astype(dtype)

        dtype: np.dtype[np.floating] = np.dtype(np.float16 if half else np.float32)
        # A composed vector is a mean of n-grams. With `unit`, the n-grams are left out, because no change of them gives
        # every mean the length 1. A factor (`scale`) is possible: each n-gram is multiplied by it.
        ngrams = None
        if self.ngrams is not None and not self.options.unit:
            table = self.ngrams
            ngrams = Ngrams(
                table.shortest, table.longest, lambda: self._blocks_of_ngrams(table.buckets)
            )
        return VectorFile(
            origin, format, self.dimension, dtype, chunks, words=len(words), composition=ngrams
        )

    def _blocks_of_ngrams(self, buckets: Rows) -> Iterator[FloatArray]:
        for begin in range(0, len(buckets), _BLOCK):
            places = np.arange(begin, min(begin + _BLOCK, len(buckets)))
            yield buckets.take(places) * np.float32(self.options.scale)

    def _contents(self) -> Iterator[bytes]:
        yield f"gem-index word vectors {self.rows.form}\n".encode()
        yield from self.rows.contents()
        yield from self.vocabulary.contents()
        if self.row_of_word is not None:
            yield b"rows of words\n"
            yield np.ascontiguousarray(self.row_of_word, dtype="<i8").tobytes()
        if self.ngrams is not None:
            form = f"{self.ngrams.shortest} {self.ngrams.longest} {self.ngrams.buckets.form}"
            yield f"ngrams {form}\n".encode()
            yield from self.ngrams.buckets.contents()


def fingerprint_of(contents: Iterable[bytes], options: SourceOptions) -> str:
    """Return the SHA-256 of everything that determines look-ups; ``contents`` already reflect ``limit`` and ``dtype``."""
    state = hashlib.sha256()
    for part in contents:
        state.update(part)
    for name, value in options.given().items():
        if name not in ("limit", "dtype"):
            state.update(f"\n{name}={value}".encode())
    return state.hexdigest()
