"""How far a collection's texts have moved from those that its model was fitted on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gem_index.gem.combined import Encoder

__all__ = ["Drift", "measure_drift"]

_CHANGE = 0.02
"""Mean change of a cosine from which a refit is recommended (docs/operating.md)."""

_PAIRS = 2000


@dataclass(frozen=True)
class Drift:
    """What a refit would change.

    Attributes
    ----------
    documents, since_fit : int
        All, and those that came after the fit.
    angles : tuple of float
        Principal angles between the model's directions and those of the present texts, of all its encoders, in degrees,
        ascending.
    score_change : float
        Mean absolute change of the cosine of two texts between the model and one fitted on the present texts.
    refit : bool
        Whether a refit is recommended.
    """

    documents: int
    since_fit: int
    angles: tuple[float, ...]
    score_change: float
    refit: bool


def measure_drift(
    encoder: Encoder, fresh: Encoder, texts: Sequence[str], documents: int, since_fit: int
) -> Drift:
    """Compare an encoder with one fitted on the present texts, on pairs of some of these texts."""
    angles: list[float] = []
    for old, new in zip(encoder.encoders, fresh.encoders, strict=True):
        ours, theirs = old.components.directions, new.components.directions
        if len(ours) and len(theirs):
            # imported here: few commands need it
            import scipy.linalg

            angles += np.degrees(scipy.linalg.subspace_angles(ours.T, theirs.T)).tolist()
    rng = np.random.default_rng(0)
    left, right = rng.integers(0, len(texts), (2, _PAIRS))
    before, after = (
        (rows[left] * rows[right]).sum(axis=1)
        for rows in (encoder.encode(texts), fresh.encode(texts))
    )
    change = np.abs(before - after)
    mean = float(change.mean())
    return Drift(documents, since_fit, tuple(sorted(angles)), mean, mean > _CHANGE)
