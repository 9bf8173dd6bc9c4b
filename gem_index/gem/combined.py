"""Several encoders as one: their unit vectors side by side."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Self

import numpy as np
import numpy.typing as npt

from gem_index.errors import ConfigError
from gem_index.gem.encoder import GemEncoder
from gem_index.gem.matches import MatchExplanation, explain_match
from gem_index.text import check_texts
from gem_index.vectors.base import FloatArray

__all__ = ["CombinedEncoder"]


class CombinedEncoder:
    """Encoders side by side, so that a cosine is the weighted mean of their cosines.

    Each removes what sentences share in its own word vectors, which one encoder over concatenated vectors cannot: there the
    directions of one source hide those of another.

    Parameters
    ----------
    encoders : sequence of GemEncoder
        At least one; d_1, d_2, … dimensions.
    weights : sequence of float, optional
        Weights of the cosines, above 0; equal by default.

    Raises
    ------
    ConfigError
        If there are no encoders, or not as many weights above 0.

    Examples
    --------
    >>> CombinedEncoder([trained, words], [1.0, 0.5]).fit(corpus)  # doctest: +SKIP
    """

    def __init__(
        self, encoders: Sequence[GemEncoder], weights: Sequence[float] | None = None
    ) -> None:
        self.encoders = tuple(encoders)
        self.weights = tuple(map(float, weights or [1.0] * len(self.encoders)))
        valid = all(np.isfinite(weight) and weight > 0 for weight in self.weights)
        if not self.encoders or len(self.weights) != len(self.encoders) or not valid:
            raise ConfigError(
                f"found {len(self.encoders)} encoders and the weights {list(self.weights)}; "
                "expected at least one encoder and a weight above 0 for each"
            )

    def __repr__(self) -> str:
        parts = (
            f"{encoder!r} * {weight:g}"
            for encoder, weight in zip(self.encoders, self.weights, strict=True)
        )
        return f"CombinedEncoder({', '.join(parts)})"

    @property
    def dimension(self) -> int:
        """Length of a sentence vector: d_1 + d_2 + …."""
        return sum(encoder.dimension for encoder in self.encoders)

    @property
    def fingerprint(self) -> str:
        """SHA-256 over the encoders' fingerprints and weights."""
        parts = (
            f"{encoder.fingerprint}*{weight!r}"
            for encoder, weight in zip(self.encoders, self.weights, strict=True)
        )
        return hashlib.sha256(f"combined encoder {'+'.join(parts)}".encode()).hexdigest()

    def fit(self, corpus: Iterable[str]) -> Self:
        """Fit every encoder; the corpus is read once and held in memory.

        Raises
        ------
        InputError
            If no text of the corpus has a word.
        """
        check_texts(corpus)
        texts = list(corpus)
        for encoder in self.encoders:
            encoder.fit(texts)
        return self

    def encode(self, texts: Iterable[str]) -> FloatArray:
        """Encode texts.

        Returns
        -------
        float32 array (n, dimension)
            Rows of unit length; a text without words gives a row of zeros.
        """
        check_texts(texts)
        if not isinstance(texts, Sequence):
            texts = list(texts)
        rows: FloatArray = np.concatenate(
            [
                encoder.encode(texts) * np.float32(np.sqrt(weight))
                for encoder, weight in zip(self.encoders, self.weights, strict=True)
            ],
            axis=1,
        )
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        np.divide(rows, norms, out=rows, where=norms > 0)
        return rows

    def word_vectors(self, text: str) -> npt.NDArray[np.float64]:
        """Return what each word adds to the text's unit vector, float64 (n, dimension)."""
        words = np.concatenate(
            [
                encoder.word_vectors(text) * np.sqrt(weight)
                for encoder, weight in zip(self.encoders, self.weights, strict=True)
            ],
            axis=1,
        )
        norm = np.linalg.norm(words.sum(axis=0))
        return words / norm if norm > 0 else words

    def explain_match(self, first: str, second: str) -> MatchExplanation:
        """Return why two texts match: what each word, and each pair of words, adds to their cosine."""
        return explain_match(self, first, second)

    def similarity(self, a: str, b: str) -> float:
        """Return the cosine of two texts, -1 to 1; 0 where one of them has no words."""
        first, second = self.encode([a, b]).astype(np.float64)
        return float(np.clip(first @ second, -1.0, 1.0))
