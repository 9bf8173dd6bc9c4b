"""A sentence's directions, the weights of its words, and its vector (docs/algorithm.md, sections 4 and 5).

Every result depends on the sentence alone, never on its neighbours in a batch, so bytes do not change with batch size or
threads.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from gem_index.common.arrays import F32, F64, I32, I64
from gem_index.kernels.library import ffi, kernels, reading, succeed, writing

__all__ = ["Sentences", "compose_sentences", "project", "select_directions", "weigh_sentences"]


@dataclass(frozen=True)
class Sentences:
    """A batch of sentences and the vectors of its words; sentence s is ``ids[offsets[s]:offsets[s + 1]]``."""

    ids: I32  # (tokens,)
    offsets: I64  # (sentences + 1,)
    rows: F32  # (u, d) the distinct words' vectors
    projections: F64  # (u, K) their inner products with the corpus' directions

    @cached_property
    def _pointers(self) -> list[Any]:
        return [reading(array) for array in (self.ids, self.offsets, self.rows, self.projections)]

    @cached_property
    def argument(self) -> Any:
        """The batch as kernels take it; valid as long as this object."""
        sizes = len(self.offsets) - 1, self.rows.shape[1], self.projections.shape[1]
        return ffi.new("Sentences *", [*self._pointers, *sizes])


def project(rows: F32, directions: F64) -> F64:
    """Return P (u, K), the inner products of words' vectors (u, d) with the corpus' directions (K, d)."""
    out = np.empty((len(rows), len(directions)))
    (words, dimension), count = rows.shape, len(directions)
    succeed(
        kernels.project(reading(rows), words, dimension, reading(directions), count, writing(out))
    )
    return out


def select_directions(batch: Sentences, sigma: F64, plain_ranking: bool, selected: I64) -> None:
    """Fill selected (sentences, h) with the directions of the largest o_k, best first (Eq. 8; ties: smaller k first).

    Parameters
    ----------
    batch : Sentences
    sigma : float64 array (K,)
    plain_ranking : bool
        Rank only by ||S^T d_k|| (preset cqa).
    """
    count = selected.shape[1]
    succeed(
        kernels.select_directions(
            batch.argument, reading(sigma), plain_ranking, count, writing(selected)
        )
    )


def weigh_sentences(batch: Sentences, sigma: F64, selected: I64, window: int, weights: F64) -> None:
    """Weigh the words of sentences (docs/algorithm.md, section 4).

    Parameters
    ----------
    batch : Sentences
    sigma : float64 array (K,)
    selected : int64 array (sentences, h)
        The directions of each sentence.
    window : int
        m.
    weights : float64 array (tokens, 3)
        Filled with alpha_n, alpha_s, alpha_u.
    """
    count = selected.shape[1]
    succeed(
        kernels.weigh_sentences(
            batch.argument, reading(sigma), reading(selected), count, window, writing(weights)
        )
    )


def compose_sentences(
    batch: Sentences, alpha: F64, directions: F32, removed: I64, share: float, out: F32
) -> None:
    """Fill out (sentences, d) with unit vectors: weighted sums minus a share of their projections on directions.

    Parameters
    ----------
    batch : Sentences
    alpha : float64 array (tokens,)
        The words' weights.
    directions : float32 array (K, d)
    removed : int64 array (sentences, r)
        The directions that are removed from each sentence (Eq. 11).
    share : float
        The share of the projections that is removed, 0 to 1.
    """
    count = removed.shape[1]
    succeed(
        kernels.compose_sentences(
            batch.argument,
            reading(alpha),
            reading(directions),
            reading(removed),
            count,
            share,
            writing(out),
        )
    )
