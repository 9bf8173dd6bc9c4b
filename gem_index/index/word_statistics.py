"""Compute the word statistics of texts; parts of the texts can be counted separately."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

__all__ = ["WordStatistics"]


@dataclass
class WordStatistics:
    """The numbers of texts and terms, and, for each term, the number of texts that contain it.

    If parts of the texts are counted separately, the sum of their statistics is the statistics of all texts.
    """

    texts: int = 0
    terms: int = 0
    frequencies: Counter[str] = field(default_factory=Counter)

    @property
    def mean_terms(self) -> float:
        """The mean number of terms of a text; 0 without texts."""
        return self.terms / max(self.texts, 1)

    def count(self, terms: Sequence[str]) -> None:
        """Add one text, given by its terms."""
        self.texts += 1
        self.terms += len(terms)
        self.frequencies.update(set(terms))

    def add(self, other: WordStatistics) -> None:
        """Add the statistics of another part."""
        self.texts += other.texts
        self.terms += other.terms
        self.frequencies.update(other.frequencies)
