"""What an index finds: documents with scores; and which documents are among others."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from gem_index.arrays import I64, Mask

__all__ = ["Hits", "Ids", "among", "best_of", "members"]

Ids: TypeAlias = I64
"""The numbers (``documents.seq``) of some documents."""

Hits: TypeAlias = list[tuple[int, float]]
"""(id, score) of some documents."""


def best_of(found: Hits, k: int) -> Hits:
    """Return the k best of some (id, score), best first, equal scores by id."""
    return sorted(found, key=lambda pair: (-pair[1], pair[0]))[:k]


def members(ids: Ids, wanted: Ids) -> Mask:
    """Return which ids are among the wanted ones; both ascend. Costs little where few are wanted of many."""
    mask = np.zeros(len(ids), dtype=np.bool_)
    places = np.searchsorted(ids, wanted)
    places = places[places < len(ids)]
    mask[places] = ids[places] == wanted[: len(places)]
    return mask


def among(ids: Ids, wanted: Ids) -> Mask:
    """Return which ids, in any order, are among the wanted ones, which ascend. Costs little where the ids are few."""
    if not len(wanted):
        return np.zeros(len(ids), dtype=np.bool_)
    places = np.minimum(np.searchsorted(wanted, ids), len(wanted) - 1)
    return np.asarray(wanted[places] == ids)
