"""Several sources side by side: the paper's L.F.P. is LexVec + fastText + PSL (spec section 2)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from gem_index.errors import ConfigError
from gem_index.vectors.base import BoolArray, FloatArray, VectorSource

__all__ = ["CombinedVectors"]


class CombinedVectors:
    """The concatenation of several sources' vectors; each source maps its own unknown words.

    Parameters
    ----------
    sources : sequence of VectorSource
        At least two; their order is the order of the concatenation.
    """

    def __init__(self, sources: Sequence[VectorSource]) -> None:
        if len(sources) < 2:
            raise ConfigError(f"found {len(sources)} source to combine; expected at least two")
        self.sources = tuple(sources)
        self.dimension = sum(source.dimension for source in self.sources)
        parts = "+".join(source.fingerprint for source in self.sources)
        self.fingerprint = hashlib.sha256(f"combined {parts}".encode()).hexdigest()

    def lookup(self, tokens: Sequence[str]) -> tuple[FloatArray, BoolArray]:
        """Return the concatenated vectors; a word is unknown where no source holds it."""
        found = [source.lookup(tokens) for source in self.sources]
        rows = np.concatenate([rows for rows, _ in found], axis=1)
        return rows, np.logical_and.reduce([unknown for _, unknown in found])

    def frequent_words(self) -> Sequence[str] | None:
        """Return the vocabulary of the first source that has an order of frequency."""
        orders = (source.frequent_words() for source in self.sources)
        return next((words for words in orders if words is not None), None)
