"""Several encoders as one encoder, which concatenates their unit vectors."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self, TypeAlias

import numpy as np
import numpy.typing as npt

from gem_index.errors import ConfigError
from gem_index.errors.quoting import quoted
from gem_index.gem.components import Components, CorpusStatistics
from gem_index.gem.encoder import GemEncoder, blocks_for_fit, stored_encoder
from gem_index.gem.explanation import Explanation
from gem_index.gem.matches import MatchExplanation, explain_match
from gem_index.gem.model_file import read_model, write_model
from gem_index.progress import ProgressOption, counted, reporting
from gem_index.text.tokens import Tokenizer, check_text, check_texts
from gem_index.vectors.base import FloatArray, VectorSource

__all__ = [
    "MOST_ENCODERS",
    "CombinedEncoder",
    "CombinedExplanation",
    "Encoder",
    "WeighedExplanation",
]

MOST_ENCODERS = 100
"""The largest number of encoders in a :class:`CombinedEncoder`."""


@dataclass(frozen=True)
class WeighedExplanation:
    """An encoder's explanation of a text, and the weight of this encoder among several."""

    weight: float
    explanation: Explanation


@dataclass(frozen=True)
class CombinedExplanation:
    """The shares and weights of a text's words in each of several encoders."""

    text: str
    fingerprint: str
    encoders: tuple[WeighedExplanation, ...]

    def _repr_html_(self) -> str:
        return "".join(
            f"<p>weight {part.weight:g}</p>{part.explanation._repr_html_()}"
            for part in self.encoders
        )


class CombinedEncoder:
    """Several encoders as one. Vectors are concatenated, and a cosine is the weighted mean of the encoders' cosines.

    Each encoder removes, in its own word vectors, the directions that sentences have in common. If word vectors of
    several sources were concatenated for a single encoder, the directions of one source would hide the directions of
    another source.

    Parameters
    ----------
    encoders : sequence of GemEncoder
        At least one encoder; they have d_1, d_2, … dimensions.
    weights : sequence of float, optional
        The weights of the encoders' cosines, from 1e-9 to 1e9; equal by default.

    Raises
    ------
    ConfigError
        If there are no encoders or more than 100, if there is not one valid weight for each encoder, or if the tokenizers
        differ.

    Examples
    --------
    >>> CombinedEncoder([trained, words], [1.0, 0.5]).fit(corpus)  # doctest: +SKIP
    """

    def __init__(
        self, encoders: Sequence[GemEncoder], weights: Sequence[float] | None = None
    ) -> None:
        self.encoders = tuple(encoders)
        given = [1.0] * len(self.encoders) if weights is None else list(weights)
        valid = all(isinstance(w, int | float | np.number) and 1e-9 <= w <= 1e9 for w in given)
        single = all(isinstance(encoder, GemEncoder) for encoder in self.encoders)
        if not 1 <= len(self.encoders) <= MOST_ENCODERS or len(given) != len(self.encoders):
            valid = False
        if not valid or not single:
            raise ConfigError(
                f"found {len(self.encoders)} encoders and the weights {quoted(given, 60)}; "
                f"expected 1 to {MOST_ENCODERS} encoders of the class GemEncoder, each with a weight from 1e-9 to 1e9"
            )
        self.weights = tuple(map(float, given))
        tokenizers = {encoder.tokenizer for encoder in self.encoders}
        if len(tokenizers) > 1:
            raise ConfigError(
                f"found encoders of the tokenizers {', '.join(sorted(tokenizers))}; expected one for all of them, "
                "so that each word has a weight in each"
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

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer of all encoders."""
        return self.encoders[0].tokenizer

    @property
    def fitted(self) -> bool:
        """Whether the components of every encoder come from a corpus."""
        return all(encoder.fitted for encoder in self.encoders)

    def unfitted(self) -> Self:
        """Return the same encoders without a fit."""
        return type(self)([encoder.unfitted() for encoder in self.encoders], self.weights)

    def with_components(self, components: Sequence[Components]) -> Self:
        """Return the same encoders with given components, one for each encoder."""
        encoders = [
            encoder.with_components([found])
            for encoder, found in zip(self.encoders, components, strict=True)
        ]
        return type(self)(encoders, self.weights)

    def fit(self, corpus: Iterable[str], *, progress: ProgressOption = None) -> Self:
        """Fit every encoder; the corpus is read once, in constant memory.

        Raises
        ------
        InputError
            If no text of the corpus has a word and a prior is 0.
        """
        check_texts(corpus)
        statistics = [CorpusStatistics(encoder.dimension) for encoder in self.encoders]
        with reporting(progress, "fit") as report:
            for block in blocks_for_fit(counted(corpus, "fit", report)):
                for encoder, sums in zip(self.encoders, statistics, strict=True):
                    encoder.add_to(sums, block)
        for encoder, sums in zip(self.encoders, statistics, strict=True):
            encoder.fit_statistics(sums)
        return self

    def encode(self, texts: Iterable[str], *, progress: ProgressOption = None) -> FloatArray:
        """Encode texts.

        Parameters
        ----------
        texts : iterable of str
            n texts.
        progress : bool or callable, optional
            True shows a bar on standard error. A function is called with stage, done and total.

        Returns
        -------
        float32 array (n, dimension)
            Rows of unit length; a text without words gives a row of zeros.
        """
        check_texts(texts)
        if not isinstance(texts, Sequence):
            texts = list(texts)
        rows = np.empty((len(texts), self.dimension), dtype=np.float32)
        begin, count = 0, len(self.encoders)
        with reporting(progress, "encode") as report:
            for done, (encoder, weight) in enumerate(zip(self.encoders, self.weights, strict=True)):
                part = rows[:, begin : begin + encoder.dimension]
                np.multiply(encoder.encode(texts), np.float32(np.sqrt(weight)), out=part)
                begin += encoder.dimension
                if report is not None:
                    report("encode", len(texts) * (done + 1) // count, len(texts))
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        np.divide(rows, norms, out=rows, where=norms > 0)
        return rows

    def explain(self, text: str) -> CombinedExplanation:
        """Return the share and the weights of each word of a text in each encoder."""
        return CombinedExplanation(
            check_text(text, "text"),
            self.fingerprint,
            tuple(
                WeighedExplanation(weight, encoder.explain(text))
                for encoder, weight in zip(self.encoders, self.weights, strict=True)
            ),
        )

    def save(self, path: str | Path) -> None:
        """Write configurations, weights and components to a safetensors file, as :meth:`GemEncoder.save` does.

        Raises
        ------
        InputError
            If the file cannot be written.
        """
        write_model(
            path,
            [
                stored_encoder(encoder, weight)
                for encoder, weight in zip(self.encoders, self.weights, strict=True)
            ],
        )

    @classmethod
    def load(
        cls, path: str | Path, vectors: Sequence[VectorSource], *, threads: int | None = None
    ) -> Self:
        """Return the encoder in a file that :meth:`save` wrote; ``vectors`` has the word vectors for each encoder, in order.

        Raises
        ------
        FingerprintMismatchError
            If an encoder was fitted with other vectors than the given vectors.
        ConfigError
            If the number of word vectors is not the number of encoders.
        CorruptionError
            If the file is not a model, or the file is damaged.
        """
        found = read_model(path)
        if len(found) != len(vectors):
            raise ConfigError(
                f"{path} has {len(found)} encoders, found {len(vectors)} word vectors; expected one for each encoder, in "
                "order"
            )
        encoders = []
        for stored, source in zip(found, vectors, strict=True):
            stored.check_vectors(path, source.fingerprint)
            encoders.append(
                GemEncoder(source, stored.config, components=stored.components, threads=threads)
            )
            stored.check_fingerprint(path, encoders[-1].fingerprint)
        return cls(encoders, [1.0 if stored.weight is None else stored.weight for stored in found])

    def reloaded(self, path: str | Path) -> Self:
        """Return the encoder that :meth:`save` wrote, with the word vectors of the present encoders."""
        first = self.encoders[0]
        return self.load(path, [e.vectors for e in self.encoders], threads=first.threads)

    def word_vectors(self, text: str) -> npt.NDArray[np.float64]:
        """Return the contribution of each word to the text's unit vector, float64 (n, dimension)."""
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
        """Explain why two texts are similar, by the share of each word and each word pair in their cosine."""
        return explain_match(self, first, second)

    def similarity(self, a: str, b: str) -> float:
        """Return the cosine of two texts, from -1 to 1; 0 if a text has no words."""
        first, second = self.encode([a, b]).astype(np.float64)
        return float(np.clip(first @ second, -1.0, 1.0))


Encoder: TypeAlias = GemEncoder | CombinedEncoder
"""The encoder of a collection: a single encoder, or several as one."""
