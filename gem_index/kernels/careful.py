"""The weights of words in windows that are close to dependent: slower than sliding, as exact as a QR factorisation.

Each word has its window's Gram matrix factored anew (Cholesky) with v_i last; where almost nothing is left of v_i, the
residual vector itself is formed. Few sentences need it, so it is compiled only when one does.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gem_index.kernels.compiled import compiled, compiled_part
from gem_index.kernels.windows import PIECE, Workspace, dot, load, workspace

__all__ = ["weigh_dependent_sentences"]

Flags = npt.NDArray[np.bool_]
F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int32]
Ids64 = npt.NDArray[np.int64]

_RANK_TOLERANCE = 1e-6
"""A residual of at most this share of its vector counts as none (spec section 4)."""

_DEPENDENT = _RANK_TOLERANCE**2
"""Of |v|^2: a word with a smaller squared residual adds nothing to a window's span."""

_REFINED_BELOW = 1e-6
"""Of |v|^2: a smaller squared residual is computed from the vectors themselves."""


@compiled_part
def _solve_transposed(factor: F64, rank: int, values: F64) -> None:
    """Solve L^T y = values in place, for the leading rank x rank block of the factor L."""
    for a in range(rank - 1, -1, -1):
        for b in range(a + 1, rank):
            values[a] -= factor[b, a] * values[b]
        values[a] /= factor[a, a]


@compiled_part
def _refined_residual(
    words: F64,
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
    residual = words[i].copy()
    step = y.copy()
    for _ in range(2):
        for a in range(rank):
            other = words[active[a]]
            for x in range(residual.shape[0]):
                residual[x] -= step[a] * other[x]
        for a in range(rank):
            other = words[active[a]]
            product = dot(residual, other)
            for b in range(a):
                product -= factor[a, b] * step[b]
            step[a] = product / factor[a, a]
        _solve_transposed(factor, rank, step)
        for a in range(rank):
            y[a] += step[a]
    for a in range(rank):
        other = words[active[a]]
        for x in range(residual.shape[0]):
            residual[x] -= step[a] * other[x]
    return np.sqrt(dot(residual, residual))  # type: ignore[no-any-return]


@compiled_part
def _residual_of_window(
    words: F64,
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
        if word != i and pivot > _DEPENDENT * norm:
            factor[rank, rank] = np.sqrt(pivot)
            active[rank] = word
            rank += 1
    y = factor[rank, :rank].copy()
    _solve_transposed(factor, rank, y)
    r = np.sqrt(max(pivot, 0.0))
    if pivot <= _REFINED_BELOW * norm:
        r = _refined_residual(words, i, active, rank, factor, y)
    if r <= _RANK_TOLERANCE * np.sqrt(norm):
        return 0.0
    for a in range(rank):
        coefficients[active[a] - low] = y[a]
    return r  # type: ignore[no-any-return]


@compiled_part
def _weigh_carefully(sentence: Ids, window: int, work: Workspace) -> None:
    """Fill ``work.weights``, factoring the window of each word anew."""
    n = sentence.shape[0]
    aligned, gram = work.aligned, work.gram
    count = aligned.shape[1]
    for i in range(n):
        out = work.weights[i]
        out[0], out[1], out[2] = 1.0, 0.0, 1.0
        low, high = max(0, i - window), min(n, i + window + 1)
        repeated = gram[i, 0] == 0.0
        for j in range(low, high):
            repeated = repeated or (j != i and sentence[j] == sentence[i])
        if repeated:
            continue
        r = _residual_of_window(work.words, gram, i, low, high, work.factor, work.share)
        if r == 0.0:
            continue
        alignment = 0.0
        for k in range(count):
            total = aligned[i, k]
            for j in range(low, high):
                total -= work.share[j - low] * aligned[j, k]
            alignment += total * total
        out[0] = np.exp(r / np.sqrt(gram[i, 0]))
        out[1] = r / (high - low)
        out[2] = np.exp(-np.sqrt(alignment) / (r * max(count, 1)))


@compiled
def weigh_dependent_sentences(
    ids: Ids,
    offsets: Ids64,
    rows: F32,
    projections: F64,
    sigma: F64,
    selected: Ids64,
    window: int,
    weights: F64,
    dependent: Flags,
) -> None:
    """Weigh the words of the sentences that :func:`gem_index.kernels.windows.weigh_sentences` marked; same parameters."""
    work = workspace(offsets, rows.shape[1], selected.shape[1], window)
    for s in range(offsets.shape[0] - 1):
        sentence, out = ids[offsets[s] : offsets[s + 1]], weights[offsets[s] : offsets[s + 1]]
        if not dependent[s]:
            continue
        for first in range(0, sentence.shape[0], PIECE):
            last = min(sentence.shape[0], first + PIECE)
            low = max(0, first - window)
            piece = sentence[low : last + window]
            load(piece, rows, projections, sigma, selected[s], window, work)
            _weigh_carefully(piece, window, work)
            for i in range(first, last):
                for part in range(3):
                    out[i, part] = work.weights[i - low, part]
