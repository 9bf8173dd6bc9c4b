"""Counts of the terms of texts, in little memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gem_index.arrays import F64, I32, I64
from gem_index.text.analyzer import Analyzer

__all__ = ["CountedTexts"]

_OF_TERM = 130  # bytes of a term and its number in a dictionary, estimated


class CountedTexts:
    """Counts of the terms of texts; never changed.

    Parameters
    ----------
    analyzer : Analyzer
    texts : sequence of str (n,)

    Attributes
    ----------
    lengths : float64 array (n,)
        The number of terms of each text.
    begins : int64 array (t + 1,)
        Where each of the t terms begins in ``places``, and where the last one ends.
    places : int32 array (p,)
        The places of the texts that contain a term, ascending for each term, term after term.
    times : int32 array (p,)
        How often the text at each place contains the term.
    """

    lengths: F64
    begins: I64
    places: I32
    times: I32

    def __init__(self, analyzer: Analyzer, texts: Sequence[str]) -> None:
        terms = [analyzer.terms(text) for text in texts]
        counts = [len(of_one) for of_one in terms]
        self.lengths = np.array(counts, np.float64)
        self._codes: dict[str, int] = {}
        codes = np.array(
            [self._codes.setdefault(term, len(self._codes)) for of_one in terms for term in of_one],
            np.int64,
        )
        places = np.repeat(np.arange(len(texts)), counts)
        # a term and a place are one number: after sorting, the places of a term are together
        pairs, times = np.unique(codes * len(texts) + places, return_counts=True)
        self.begins = np.searchsorted(pairs, np.arange(len(self._codes) + 1) * len(texts))
        self.places = (pairs % max(len(texts), 1)).astype(np.int32)
        self.times = times.astype(np.int32)

    @property
    def terms(self) -> list[str]:
        """The terms of all texts."""
        return list(self._codes)

    @property
    def nbytes(self) -> int:
        """The memory of the counts in bytes, estimated."""
        arrays = (self.lengths, self.begins, self.places, self.times)
        return sum(array.nbytes for array in arrays) + _OF_TERM * len(self._codes)

    def of(self, term: str) -> tuple[I32, I32]:
        """Return the places, ascending, of the texts that contain a term, and its count in each."""
        code = self._codes.get(term)
        begin, end = (0, 0) if code is None else self.begins[code : code + 2]
        return self.places[begin:end], self.times[begin:end]
