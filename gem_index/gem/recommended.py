"""Recommend a configuration for word vectors from the spectrum of ordinary text in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gem_index.gem.config import GemConfig
from gem_index.gem.encoder import GemEncoder
from gem_index.vectors.base import VectorSource

__all__ = ["DOMINANT_SHARE", "config_for", "recommended_config", "recommended_encoder"]

_COMPLETE = frozenset(
    {"window", "n_removed", "n_components", "power", "ranking", "removal", "alphas"}
)
"""Fields of every saved configuration; a mapping that lacks one of them changes the recommended configuration."""

DOMINANT_SHARE = 0.25
"""If the first direction has at least this share of the energy, all sentences have it, and it hides their differences.

For the background components, this share is 0.49 in numberbatch, 0.59 in googlenews, 0.83 in glove-6b-100d, and 0.06 in
wordllama.
"""


def recommended_config(vectors: VectorSource) -> GemConfig:
    """Return the paper's settings if one direction dominates ordinary text, else :meth:`GemConfig.trained`.

    Ordinary word vectors have one strong common direction and many weaker ones, which must be removed from sentences (h =
    17). In vectors that were trained to be averaged, removing so many directions removes meaning (docs/evaluation.md).
    """
    return recommended_encoder(vectors).config


def recommended_encoder(vectors: VectorSource) -> GemEncoder:
    """Return an unfitted encoder with the recommended configuration."""
    encoder = GemEncoder(vectors, GemConfig.trained())
    sigma = encoder.components.singular_values
    energy = sigma * sigma
    dominant = len(energy) > 0 and energy[0] >= DOMINANT_SHARE * energy.sum()
    return GemEncoder(vectors, GemConfig.sts()) if dominant else encoder


def config_for(
    vectors: VectorSource, config: GemConfig | Mapping[str, Any] | str | None
) -> GemConfig:
    """Return the configuration for a ``config`` argument; every function with that argument uses this rule.

    Parameters
    ----------
    vectors : VectorSource
    config : GemConfig, mapping of its fields, or name of a preset, optional
        None gives the recommended configuration; a mapping of some fields changes these fields of the
        recommended one.

    Raises
    ------
    ConfigError
        If ``config`` is none of these, or a field is out of its range.
    """
    if config is None:
        return recommended_config(vectors)
    if isinstance(config, Mapping):
        given = GemConfig.named_fields(config)
        if not set(given) >= _COMPLETE:
            return replace(recommended_config(vectors), **given)
    return GemConfig.of(config)
