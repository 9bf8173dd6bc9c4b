"""Which configuration suits some word vectors, by the spectrum of ordinary text in them."""

from __future__ import annotations

from gem_index.config import GemConfig
from gem_index.gem.encoder import GemEncoder
from gem_index.vectors.base import VectorSource

__all__ = ["DOMINANT_SHARE", "recommended_config", "recommended_encoder"]

DOMINANT_SHARE = 0.25
"""From this share of the top direction on, sentences have a direction in common that hides their differences.

Measured on STS Benchmark dev: numberbatch 0.62, googlenews 0.60, glove-6b-100d 0.87, wordllama 0.05.
"""


def recommended_config(vectors: VectorSource) -> GemConfig:
    """Return the paper's settings where one direction dominates ordinary text, else :meth:`GemConfig.trained`.

    Vectors of words as they are found in corpora share one direction and many lesser ones, which have to be removed from
    sentences (h = 17); in a table that was trained to be averaged removing as many takes away meaning (docs/evaluation.md).
    """
    return recommended_encoder(vectors).config


def recommended_encoder(vectors: VectorSource) -> GemEncoder:
    """Return an unfitted encoder with the recommended configuration."""
    encoder = GemEncoder(vectors)
    sigma = encoder.components.singular_values
    energy = sigma * sigma
    dominant = len(energy) > 0 and energy[0] >= DOMINANT_SHARE * energy.sum()
    return encoder.reconfigured(GemConfig.sts() if dominant else GemConfig.trained())
