"""Count the terms of texts, in little memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gem_index.common.arrays import F64, I32, I64
from gem_index.text.analyzer import Analyzer

__all__ = ["CountedTexts"]

_OF_TERM = 130  # bytes of a dictionary entry (a term and its number), estimated


class CountedTexts:
    """How often each term occurs in each of some texts; an object never changes.

    Parameters
    ----------
    analyzer : Analyzer
    texts : sequence of str (n,)

    Attributes
    ----------
    lengths : float64 array (n,)
        The number of terms of each text.
    begins : int64 array (t + 1,)
        The positions in ``places`` where the lists of the t terms begin, and where the last list ends.
    places : int32 array (p,)
        For each term, the ascending positions of the texts that contain the term. The lists of all terms stand one
        after the other.
    times : int32 array (p,)
        For each member of ``places``, how often the text contains the term.
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
        # each number stands for a term and a text, and numbers of the same term are neighbours when they are sorted
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
        """Return the ascending positions of the texts that contain a term, and the count of the term in each of them."""
        code = self._codes.get(term)
        begin, end = (0, 0) if code is None else self.begins[code : code + 2]
        return self.places[begin:end], self.times[begin:end]
