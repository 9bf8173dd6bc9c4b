"""A sentence's directions, and its vector from the weights of its words (docs/algorithm.md, section 4).

Sentences come as word ids, see :class:`gem_index.kernels.batch.Sentences`. Every
result depends on the sentence alone, never on its neighbours in a batch: reductions run in one fixed order per sentence,
so bytes do not change with batch size or threads.
"""

from __future__ import annotations

import numpy as np

from gem_index.arrays import F32, F64, I64
from gem_index.kernels.batch import Sentences
from gem_index.kernels.compiled import compiled
from gem_index.kernels.windows import dot

__all__ = ["compose_sentences", "project", "select_directions"]


_NOTHING_LEFT = 1e-12
"""Share of a squared length below which the remainder is only rounding."""


@compiled
def project(rows: F32, directions: F64) -> F64:
    """Return P (u, K), the inner products of words' vectors (u, d) with the corpus' directions (K, d)."""
    out = np.empty((rows.shape[0], directions.shape[0]))
    wide = np.empty(rows.shape[1])
    for i in range(rows.shape[0]):
        for x in range(rows.shape[1]):
            wide[x] = rows[i, x]
        for k in range(directions.shape[0]):
            out[i, k] = dot(wide, directions[k])
    return out


@compiled
def select_directions(batch: Sentences, sigma: F64, plain_ranking: bool, selected: I64) -> None:
    """Fill selected (sentences, h) with the directions of the largest o_k, best first (Eq. 8; ties: smaller k first).

    Parameters
    ----------
    batch : Sentences
    sigma : float64 array (K,)
    plain_ranking : bool
        Rank only by ||S^T d_k|| (preset cqa).
    """
    scores = np.empty(sigma.shape[0])
    for s in range(selected.shape[0]):
        scores[:] = 0.0
        for i in range(batch.offsets[s], batch.offsets[s + 1]):
            row = batch.projections[batch.ids[i]]
            for k in range(scores.shape[0]):
                scores[k] += row[k] * row[k]
        if not plain_ranking:
            for k in range(scores.shape[0]):
                scores[k] *= sigma[k] * sigma[k]
        for place in range(selected.shape[1]):
            best = 0
            for k in range(scores.shape[0]):
                if scores[k] > scores[best]:
                    best = k
            selected[s, place] = best
            scores[best] = -1.0


@compiled
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
    c = np.empty(batch.rows.shape[1])
    along = np.empty(count)
    for s in range(batch.offsets.shape[0] - 1):
        c[:] = 0.0
        along[:] = 0.0
        for i in range(batch.offsets[s], batch.offsets[s + 1]):
            row, projection = batch.rows[batch.ids[i]], batch.projections[batch.ids[i]]
            for x in range(c.shape[0]):
                c[x] += alpha[i] * row[x]
            for place in range(count):
                along[place] += alpha[i] * projection[removed[s, place]]
        along *= share
        before = dot(c, c)
        # Four directions at a time, so that c is read and written less often.
        for place in range(0, count - 3, 4):
            v, w = directions[removed[s, place]], directions[removed[s, place + 1]]
            y, z = directions[removed[s, place + 2]], directions[removed[s, place + 3]]
            av, aw, ay, az = along[place], along[place + 1], along[place + 2], along[place + 3]
            for x in range(c.shape[0]):
                c[x] -= av * v[x] + aw * w[x] + ay * y[x] + az * z[x]
        for place in range(count // 4 * 4, count):
            direction = directions[removed[s, place]]
            for x in range(c.shape[0]):
                c[x] -= along[place] * direction[x]
        after = dot(c, c)
        # If only rounding is left of the sentence, return the zero vector instead of a random direction.
        scale = 0.0 if after <= _NOTHING_LEFT * before else 1.0 / np.sqrt(after)
        for x in range(c.shape[0]):
            out[s, x] = c[x] * scale
