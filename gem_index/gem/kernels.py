"""The compiled inner loops of GEM, in terms of inner products only (spec section 5).

The only module that knows numba. Sentences come as word ids: sentence s is ``ids[offsets[s]:offsets[s + 1]]``, word id i
has the vector ``rows[i]``. Every result depends on the sentence alone, never on its neighbours in a batch: reductions run
in one fixed order per sentence, so bytes do not change with batch size or threads. Kernels release the GIL and keep no
state; callers run them over disjoint ranges in threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np
import numpy.typing as npt

__all__ = ["RANK_TOLERANCE", "coarse_vectors", "encode_sentences", "project", "word_weights"]

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int32]
Offsets = npt.NDArray[np.int64]
Ids64 = npt.NDArray[np.int64]

RANK_TOLERANCE = 1e-6
"""A residual of at most this share of its vector counts as none (spec section 4)."""

_PIVOT_TOLERANCE = RANK_TOLERANCE**2
_REFINED_BELOW = (
    1e-6  # of |v|^2: a smaller squared residual is computed from the vectors themselves
)

_Function = TypeVar("_Function", bound=Callable[..., Any])


def _compiled(function: _Function) -> _Function:
    # Sums may be reordered for SIMD and products fused; NaN and infinity keep their meaning.
    compiled = numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})(function)
    return cast("_Function", compiled)


@_compiled
def _dot(a: F32, b: F32) -> float:
    """Inner product of two float32 vectors, accumulated in float64."""
    total = 0.0
    for i in range(a.shape[0]):
        total += np.float64(a[i]) * np.float64(b[i])
    return total


@_compiled
def project(rows: F32, directions: F64, begin: int, end: int, out: F64) -> None:
    """P: the inner products of words begin..end with the corpus' directions.

    Parameters
    ----------
    rows : float32 array (u, d)
    directions : float64 array (K, d)
    begin, end : int
        Which words.
    out : float64 array (u, K)
        Rows begin..end are filled.
    """
    wide = np.empty(rows.shape[1])
    for i in range(begin, end):
        for x in range(rows.shape[1]):
            wide[x] = rows[i, x]
        for k in range(directions.shape[0]):
            total = 0.0
            for x in range(rows.shape[1]):
                total += wide[x] * directions[k, x]
            out[i, k] = total


@_compiled
def _select_directions(
    sentence: Ids, projections: F64, sigma: F64, plain_ranking: bool, count: int
) -> Ids64:
    """Return the ``count`` directions that the sentence aligns with most, best first (ties: smaller k first)."""
    scores = np.zeros(sigma.shape[0])
    for i in sentence:
        for k in range(sigma.shape[0]):
            scores[k] += projections[i, k] ** 2
    for k in range(sigma.shape[0]):
        scores[k] = np.sqrt(scores[k])
        if not plain_ranking:
            scores[k] *= sigma[k]
    selected = np.empty(count, dtype=np.int64)
    for place in range(count):
        best = 0
        for k in range(sigma.shape[0]):
            if scores[k] > scores[best]:
                best = k
        selected[place] = best
        scores[best] = -1.0
    return selected


@_compiled
def _banded_gram(sentence: Ids, rows: F32, width: int) -> F64:
    """Return G with G[i, b] = v_i . v_{i+b} for b < width: all pairs that ever share a window."""
    n = sentence.shape[0]
    width = min(width, n)
    gram = np.empty((n, width))
    for i in range(n):
        for b in range(min(width, n - i)):
            gram[i, b] = _dot(rows[sentence[i]], rows[sentence[i + b]])
    return gram


@_compiled
def _solve_transposed(factor: F64, rank: int, values: F64) -> None:
    """Solve L^T y = values in place, for the leading rank x rank block of the factor L."""
    for a in range(rank - 1, -1, -1):
        for b in range(a + 1, rank):
            values[a] -= factor[b, a] * values[b]
        values[a] /= factor[a, a]


@_compiled
def _refined_residual(
    sentence: Ids,
    rows: F32,
    i: int,
    active: Ids64,
    rank: int,
    factor: F64,
    y: F64,
) -> float:
    """Return |v_i - sum_a y_a v_active[a]| after one step of refinement of y (corrected semi-normal equations).

    A Gram matrix knows a residual only to the square root of the rounding error, times its condition. Where almost
    nothing is left of v_i, the residual vector itself is formed, which is as exact as a QR factorisation.
    """
    residual = rows[sentence[i]].astype(np.float64)
    step = y.copy()
    for _ in range(2):
        for a in range(rank):
            other = rows[sentence[active[a]]]
            for x in range(residual.shape[0]):
                residual[x] -= step[a] * other[x]
        for a in range(rank):
            other = rows[sentence[active[a]]]
            product = 0.0
            for x in range(residual.shape[0]):
                product += residual[x] * other[x]
            for b in range(a):
                product -= factor[a, b] * step[b]
            step[a] = product / factor[a, a]
        _solve_transposed(factor, rank, step)
        for a in range(rank):
            y[a] += step[a]
    total = 0.0
    for a in range(rank):
        other = rows[sentence[active[a]]]
        for x in range(residual.shape[0]):
            residual[x] -= step[a] * other[x]
    for x in range(residual.shape[0]):
        total += residual[x] * residual[x]
    return np.sqrt(total)  # type: ignore[no-any-return]


@_compiled
def _new_meaning(
    sentence: Ids,
    rows: F32,
    gram: F64,
    i: int,
    low: int,
    high: int,
    factor: F64,
    coefficients: F64,
) -> float:
    """Return r, the distance of v_i to the span of the other vectors in low..high; 0 where it lies in it.

    ``coefficients[j - low]`` is filled with y, so that q = (v_i - sum_j y_j v_j) / r. The residual is the last pivot of the
    Cholesky factor of the window's Gram matrix with v_i last; a dependent pivot is skipped instead of failing.
    """
    coefficients[: high - low] = 0.0
    if gram[i, 0] == 0.0:
        return 0.0
    for j in range(low, high):
        if j != i and sentence[j] == sentence[i]:
            return 0.0
    active = np.empty(high - low, dtype=np.int64)
    rank = 0
    for place in range(high - low):
        # v_i moves to the end (Def. 1), the words after it move up by one
        word = low + place + (low + place >= i)
        if place == high - low - 1:
            word = i
        norm = gram[word, 0]
        pivot = norm
        for a in range(rank):
            other = active[a]
            value = gram[min(word, other), abs(word - other)]
            for b in range(a):
                value -= factor[rank, b] * factor[a, b]
            value /= factor[a, a]
            factor[rank, a] = value
            pivot -= value * value
        if word != i and pivot > _PIVOT_TOLERANCE * norm:
            factor[rank, rank] = np.sqrt(pivot)
            active[rank] = word
            rank += 1
    y = factor[rank, :rank].copy()
    _solve_transposed(factor, rank, y)
    r = np.sqrt(max(pivot, 0.0))
    if pivot <= _REFINED_BELOW * norm:
        r = _refined_residual(sentence, rows, i, active, rank, factor, y)
    if r <= RANK_TOLERANCE * np.sqrt(norm):
        return 0.0
    for a in range(rank):
        coefficients[active[a] - low] = y[a]
    return r  # type: ignore[no-any-return]


@_compiled
def word_weights(
    sentence: Ids,
    rows: F32,
    projections: F64,
    sigma: F64,
    selected: Ids64,
    window: int,
    out: F64,
) -> None:
    """Fill out (n, 3) with alpha_n, alpha_s, alpha_u of each word (Eqs. 4, 6, 9)."""
    n = sentence.shape[0]
    gram = _banded_gram(sentence, rows, 2 * window + 1)
    size = min(n, 2 * window + 1)
    factor = np.empty((size, size))
    coefficients = np.empty(size)
    for i in range(n):
        low, high = max(0, i - window), min(n, i + window + 1)
        r = _new_meaning(sentence, rows, gram, i, low, high, factor, coefficients)
        if r == 0.0:
            out[i, 0], out[i, 1], out[i, 2] = 1.0, 0.0, 1.0
            continue
        alignment = 0.0
        for k in selected:
            q_d = projections[sentence[i], k]
            for j in range(low, high):
                if j != i:
                    q_d -= coefficients[j - low] * projections[sentence[j], k]
            alignment += (sigma[k] * q_d / r) ** 2
        out[i, 0] = np.exp(r / np.sqrt(gram[i, 0]))
        out[i, 1] = r / (high - low)
        out[i, 2] = np.exp(-np.sqrt(alignment) / max(selected.shape[0], 1))


@_compiled
def _sentence_vector(
    sentence: Ids,
    weights: F64,
    rows: F32,
    projections: F64,
    directions: F64,
    removed: Ids64,
    out: F32,
) -> None:
    """Fill out (d,) with the unit vector of the weighted sum less its part along the removed directions."""
    c = np.zeros(rows.shape[1])
    for i in range(sentence.shape[0]):
        for x in range(c.shape[0]):
            c[x] += weights[i] * rows[sentence[i], x]
    before = 0.0
    for x in range(c.shape[0]):
        before += c[x] * c[x]
    for k in removed:
        along = 0.0
        for i in range(sentence.shape[0]):
            along += weights[i] * projections[sentence[i], k]
        for x in range(c.shape[0]):
            c[x] -= along * directions[k, x]
    after = 0.0
    for x in range(c.shape[0]):
        after += c[x] * c[x]
    # Where nothing but rounding is left of the sentence, say so with the zero vector instead of a random direction.
    if after <= _PIVOT_TOLERANCE * before:
        out[:] = 0.0
        return
    scale = 1.0 / np.sqrt(after)
    for x in range(c.shape[0]):
        out[x] = c[x] * scale


@_compiled
def encode_sentences(
    ids: Ids,
    offsets: Offsets,
    begin: int,
    end: int,
    rows: F32,
    projections: F64,
    directions: F64,
    sigma: F64,
    window: int,
    count: int,
    plain_ranking: bool,
    removal: int,
    use_n: bool,
    use_s: bool,
    use_u: bool,
    out: F32,
) -> None:
    """Encode sentences begin..end into rows begin..end of out (spec section 4).

    Parameters
    ----------
    ids, offsets : int32 array (tokens,), int64 array (sentences + 1,)
    rows, projections : float32 array (u, d), float64 array (u, K)
        The distinct words' vectors and their inner products with the directions.
    directions, sigma : float64 arrays (K, d), (K,)
    window, count : int
        m, and h_eff <= K.
    plain_ranking : bool
        Rank the directions by ||S^T d_k|| alone (preset cqa).
    removal : int
        0: none; 1: the first ``count`` directions (SIR); 2: the sentence's own (SDR).
    use_n, use_s, use_u : bool
        Which weights are summed; with none, each word weighs 1.
    out : float32 array (sentences, d)
    """
    nothing = np.empty(0, dtype=np.int64)
    for s in range(begin, end):
        sentence = ids[offsets[s] : offsets[s + 1]]
        n = sentence.shape[0]
        if n == 0:
            out[s, :] = 0.0
            continue
        selected = _select_directions(sentence, projections, sigma, plain_ranking, count)
        alpha = np.ones(n)
        if use_n or use_s or use_u:
            parts = np.empty((n, 3))
            word_weights(sentence, rows, projections, sigma, selected, window, parts)
            for i in range(n):
                alpha[i] = use_n * parts[i, 0] + use_s * parts[i, 1] + use_u * parts[i, 2]
        removed = nothing
        if removal == 1:
            removed = np.arange(count)
        elif removal == 2:
            removed = selected
        _sentence_vector(sentence, alpha, rows, projections, directions, removed, out[s])


@_compiled
def sentence_weights(
    sentence: Ids,
    rows: F32,
    projections: F64,
    sigma: F64,
    window: int,
    count: int,
    plain_ranking: bool,
) -> F64:
    """Return the (n, 3) weights alpha_n, alpha_s, alpha_u of one sentence's words."""
    parts = np.empty((sentence.shape[0], 3))
    selected = _select_directions(sentence, projections, sigma, plain_ranking, count)
    word_weights(sentence, rows, projections, sigma, selected, window, parts)
    return parts


@_compiled
def coarse_vectors(
    ids: Ids, offsets: Offsets, begin: int, end: int, rows: F32, power: float, out: F64
) -> None:
    """Fill rows begin..end of out (sentences, d) with g = sum_j sigma_j^t u_j (Eq. 7).

    Each left singular vector u_j points toward the sum of the sentence's words (spec section 3). Up to d words, the SVD
    comes from the n x n Gram matrix S^T S = V L V^T, where u_j = S v_j / sigma_j; beyond, from the d x d matrix S S^T.
    """
    d = rows.shape[1]
    for s in range(begin, end):
        sentence = ids[offsets[s] : offsets[s + 1]]
        n = sentence.shape[0]
        out[s, :] = 0.0
        if n == 0:
            continue
        if n <= d:
            gram = np.empty((n, n))
            for i in range(n):
                for j in range(i + 1):
                    gram[i, j] = _dot(rows[sentence[i]], rows[sentence[j]])
                    gram[j, i] = gram[i, j]
            squares, vectors = np.linalg.eigh(gram)
            mix = np.zeros(n)
            for j in range(n):
                if squares[j] <= 1e-14 * squares[n - 1]:
                    continue
                total = 0.0
                for i in range(n):
                    total += vectors[i, j]
                gain = squares[j] ** (0.5 * (power - 1.0)) * (1.0 if total >= 0.0 else -1.0)
                for i in range(n):
                    mix[i] += gain * vectors[i, j]
            for i in range(n):
                for x in range(d):
                    out[s, x] += mix[i] * rows[sentence[i], x]
        else:
            scatter = np.zeros((d, d))
            total_vector = np.zeros(d)
            for i in range(n):
                row = rows[sentence[i]]
                for x in range(d):
                    total_vector[x] += row[x]
                    for y in range(x + 1):
                        scatter[x, y] += np.float64(row[x]) * row[y]
            for x in range(d):
                for y in range(x):
                    scatter[y, x] = scatter[x, y]
            squares, vectors = np.linalg.eigh(scatter)
            for j in range(d):
                if squares[j] <= 1e-14 * squares[d - 1]:
                    continue
                total = 0.0
                for x in range(d):
                    total += vectors[x, j] * total_vector[x]
                gain = squares[j] ** (0.5 * power) * (1.0 if total >= 0.0 else -1.0)
                for x in range(d):
                    out[s, x] += gain * vectors[x, j]
