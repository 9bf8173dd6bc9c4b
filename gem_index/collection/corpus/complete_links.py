"""Divide a group of near-duplicates into parts in which every two texts are near."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from gem_index.collection.corpus.duplicates_request import (
    LEAST_OVERLAP,
    MEANING,
    WORDING,
    DuplicatesRequest,
)
from gem_index.collection.request import ROUNDING
from gem_index.common.arrays import F32, I32, I64

__all__ = ["complete_parts"]

_PAIRS = 1 << 22  # pairs that are compared at once
_SLACK = 1e-9  # for rounding, as in overlaps.c


def complete_parts(
    texts: I32,
    vectors: F32,
    sets: tuple[I32, I64],
    labels: I32 | None,
    request: DuplicatesRequest,
) -> I32:
    """Return the part number of each text of a group; every two texts of a part are near each other in at least one view.

    The first text begins a part. Each other text joins the first part whose texts are all near to it, or begins a new part.

    Parameters
    ----------
    texts : int32 array (n,)
        The numbers of the group's distinct texts.
    vectors : float32 array (t, d)
    sets : tuple
        The trigrams of all texts; see :meth:`~gem_index.collection.corpus.wordings.Wordings.sets`.
    labels : int32 array (t,), optional
        Texts with different labels are never near.
    request : DuplicatesRequest
    """
    parts = np.empty(len(texts), np.int32)
    count = 0
    for place, near in enumerate(_rows(texts, vectors, sets, labels, request)):
        excluded = np.zeros(count + 1, bool)
        excluded[parts[:place][~near[:place]]] = True
        parts[place] = int(excluded.argmin())
        count = max(count, int(parts[place]) + 1)
    return parts


def _rows(
    texts: I32,
    vectors: F32,
    sets: tuple[I32, I64],
    labels: I32 | None,
    request: DuplicatesRequest,
) -> Iterator[npt.NDArray[np.bool_]]:
    """Iterate over the texts; yield, for each text, a mask of the texts that are near to it."""
    every = np.asarray(vectors[texts], np.float64)
    trigrams = _matrix(texts, sets)
    sizes = np.diff(trigrams.indptr)
    step = max(1, _PAIRS // len(texts))
    for begin in range(0, len(texts), step):
        block = slice(begin, begin + step)
        near = np.zeros((len(texts[block]), len(texts)), bool)
        both = (trigrams[block] @ trigrams.T).toarray()
        either = np.maximum(sizes[block, np.newaxis] + sizes - both, 1)
        if MEANING in request.views:
            near |= every[block] @ every.T >= request.threshold - ROUNDING
            near &= both >= (LEAST_OVERLAP - _SLACK) * either
        if WORDING in request.views:
            near |= both >= (request.overlap - _SLACK) * either
        if labels is not None:
            near &= labels[texts[block], np.newaxis] == labels[texts]
        yield from near


def _matrix(texts: I32, sets: tuple[I32, I64]) -> Any:
    """Return a matrix (n, m) with a one for each text and each of its trigrams."""
    # imported here, because few commands need it
    from scipy.sparse import csr_array

    members, begins = sets
    chosen = [members[begins[text] : begins[text + 1]] for text in texts.tolist()]
    bounds = np.concatenate([[0], np.cumsum([len(each) for each in chosen])])
    columns = np.unique(np.concatenate(chosen), return_inverse=True)[1]
    return csr_array((np.ones(len(columns), np.int32), columns, bounds))
