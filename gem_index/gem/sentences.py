"""Compute weights and vectors from word ids: the steps of docs/algorithm.md, section 4, each one kernel per batch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gem_index.common.arrays import F32, F64, I32, I64
from gem_index.gem.components import Components
from gem_index.gem.config import GemConfig
from gem_index.kernels.sentences import (
    Sentences,
    compose_sentences,
    project,
    select_directions,
    weigh_sentences,
)

__all__ = ["WeighedSentences"]

_NOTHING_LEFT = 1e-12  # share of a squared length, as in kernels.sentences


@dataclass(frozen=True)
class WeighedSentences:
    """Sentences with the weights of their words and the selected directions of each sentence.

    Attributes
    ----------
    batch : Sentences
        The words, the vectors of the words, and the inner products of these with the directions of the corpus.
    selected : int64 array (sentences, h_eff)
        The directions of each sentence, best first.
    weights : float64 array (tokens, 3)
        alpha_n, alpha_s and alpha_u of each word.
    counts : float64 array (tokens,), optional
        The weight of the part of the text that each word is in.
    """

    batch: Sentences
    selected: I64
    weights: F64
    counts: F64 | None = None

    @classmethod
    def of(
        cls,
        ids: I32,
        offsets: I64,
        rows: F32,
        components: Components,
        config: GemConfig,
        counts: F64 | None = None,
    ) -> WeighedSentences:
        """Weigh the words of sentences."""
        sigma, sentences = components.singular_values, len(offsets) - 1
        rows = rows.astype(np.float32, copy=False)  # a source of word vectors may return float64
        batch = Sentences(ids, offsets, rows, project(rows, components.directions))
        selected = np.empty((sentences, min(config.n_removed, len(sigma))), dtype=np.int64)
        select_directions(batch, sigma, config.ranking == "plain", selected)
        weights = np.empty((len(ids), 3))
        weigh_sentences(batch, sigma, selected, config.window, weights)
        return cls(batch, selected, weights, counts)

    def alpha(self, config: GemConfig) -> F64:
        """Return each word's weight (tokens,): the sum of the scores in use (Eq. 10), times the weight of its part."""
        alpha = np.zeros(len(self.batch.ids)) if config.alphas else np.ones(len(self.batch.ids))
        for letter in config.alphas:
            alpha += self.weights[:, "nsu".index(letter)]
        return alpha if self.counts is None else alpha * self.counts

    def compose(self, components: Components, config: GemConfig, out: F32) -> None:
        """Fill out (sentences, d) with the sentences' unit vectors (Eqs. 10 and 11)."""
        compose_sentences(
            self.batch,
            self.alpha(config),
            components.directions.astype(
                np.float32
            ),  # float32 halves the memory that each sentence reads
            self._removed(config),
            config.share,
            out,
        )

    def word_vectors(self, components: Components, config: GemConfig) -> F64:
        """Return the contribution of each word to the unit vector of one sentence, (tokens, d)."""
        words = self.batch.rows[self.batch.ids] * self.alpha(config)[:, None]
        before = np.linalg.norm(words.sum(axis=0))
        directions = components.directions[self._removed(config)[0]]
        words = words - config.share * (words @ directions.T) @ directions
        after = np.linalg.norm(words.sum(axis=0))
        nothing_left = after * after <= _NOTHING_LEFT * before * before
        scaled: F64 = words * (0.0 if nothing_left else 1.0 / after)
        return scaled

    def _removed(self, config: GemConfig) -> I64:
        """Return the directions that are removed from each sentence, (sentences, r)."""
        if config.removal == "sir":
            count = self.selected.shape[1]
            return np.tile(np.arange(count), (len(self.selected), 1))
        return self.selected[:, :0].copy() if config.removal == "none" else self.selected
