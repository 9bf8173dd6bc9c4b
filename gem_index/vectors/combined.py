"""Several sources side by side: the paper's L.F.P. is LexVec + fastText + PSL (docs/algorithm.md, section 2)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from gem_index.errors import ConfigError
from gem_index.vectors.base import BoolArray, FloatArray, VectorSource
from gem_index.vectors.options import check_factor

__all__ = ["CombinedVectors"]


class CombinedVectors:
    """The concatenation of several sources' vectors, each times its weight; each source maps its own unknown words.

    Parameters
    ----------
    sources : sequence of VectorSource
        At least one; their order is the order of the concatenation.
    weights : sequence of float, optional
        A factor from 1e-9 to 1e9 for each; 1 by default.
    """

    def __init__(
        self, sources: Sequence[VectorSource], weights: Sequence[float] | None = None
    ) -> None:
        self.sources = tuple(sources)
        self.weights = tuple(weights or (1.0,) * len(self.sources))
        if not self.sources or len(self.weights) != len(self.sources):
            raise ConfigError(
                f"found {len(self.sources)} sources and {len(self.weights)} weights to combine; "
                "expected at least one source and as many weights"
            )
        for weight in self.weights:
            check_factor("a weight", weight)
        self.dimension = sum(source.dimension for source in self.sources)
        parts = "+".join(
            f"{source.fingerprint}*{weight!r}"
            for source, weight in zip(self.sources, map(float, self.weights), strict=True)
        )
        self.fingerprint = hashlib.sha256(f"combined {parts}".encode()).hexdigest()

    def __repr__(self) -> str:
        return f"CombinedVectors({', '.join(map(repr, self.sources))})"

    def lookup(self, tokens: Sequence[str]) -> tuple[FloatArray, BoolArray]:
        """Return the concatenated vectors; a word is unknown if no source knows it."""
        found = [source.lookup(tokens) for source in self.sources]
        rows = [
            part if weight == 1 else part * np.float32(weight)
            for (part, _), weight in zip(found, self.weights, strict=True)
        ]
        return np.concatenate(rows, axis=1), np.logical_and.reduce(
            [unknown for _, unknown in found]
        )

    def frequent_words(self) -> Sequence[str] | None:
        """Return the vocabulary of the first source that has a frequency order."""
        orders = (source.frequent_words() for source in self.sources)
        return next((words for words in orders if words is not None), None)
