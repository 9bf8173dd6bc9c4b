"""The weights of a sentence's words from inner products alone (spec section 5).

The window slides over the sentence with the inverse X of its words' Gram matrix, and T = X E with E their projections: a
word that enters borders X, a word that leaves takes its Schur complement out. What is new in word i has the squared length
1 / X_ii and the projections T_i / X_ii. Whatever comes close to dependent takes the careful path instead: a Cholesky factor
of the one window with v_i last, refined where almost nothing is left.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gem_index.kernels.compiled import compiled_part

__all__ = ["NOTHING_LEFT", "PIECE", "Workspace", "dot", "weigh_words", "workspace"]

F64 = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int32]
Ids64 = npt.NDArray[np.int64]

_RANK_TOLERANCE = 1e-6
"""A residual of at most this share of its vector counts as none (spec section 4)."""

NOTHING_LEFT = _RANK_TOLERANCE**2
"""Of a squared length: what remains below is rounding."""

_REFINED_BELOW = 1e-6
"""Of |v|^2: a smaller squared residual is computed from the vectors themselves."""

_CAREFUL_BELOW = 1e-4
"""Of |v|^2: the sliding inverse leaves a smaller squared residual to the careful path."""

PIECE = 128
"""Words between two fresh starts of the sliding inverse: bounds memory and rounding in a long text."""


class Workspace(NamedTuple):
    """Scratch arrays of one call, so that no sentence pays for memory; n is a piece with its halo, w a window's size."""

    words: F64  # (n, d) vectors
    aligned: F64  # (n, h) E: projections on the selected directions, times their singular values
    gram: F64  # (n, w) banded Gram matrix
    weights: F64  # (n, 3)
    inverse: F64  # (w, w) X
    meaning: F64  # (w, h) T = X E
    members: Ids64  # (w,) the word in each row of X, by its last position in the window
    products: F64  # (w,) inner products with the members
    share: F64  # (w,) coefficients in terms of the members
    query: F64  # (h,)
    factor: F64  # (w, w) Cholesky factor of one window
    scores: F64  # (K,)
    selected: Ids64  # (h,)
    total: F64  # (d,) the weighted sum


@compiled_part
def workspace(longest: int, dimension: int, components: int, count: int, window: int) -> Workspace:
    """Allocate for sentences of at most that many words."""
    n = min(longest, PIECE + 2 * window)
    w = min(longest, 2 * window + 1)
    return Workspace(
        np.empty((n, dimension)),
        np.empty((n, count)),
        np.empty((n, w)),
        np.empty((n, 3)),
        np.empty((w, w)),
        np.empty((w, count)),
        np.empty(w, dtype=np.int64),
        np.empty(w),
        np.empty(w),
        np.empty(count),
        np.empty((w, w)),
        np.empty(components),
        np.empty(count, dtype=np.int64),
        np.empty(dimension),
    )


@compiled_part
def dot(a: F64, b: F64) -> float:
    """Inner product."""
    total = 0.0
    for x in range(a.shape[0]):
        total += a[x] * b[x]
    return total


@compiled_part
def _banded_gram(words: F64, window: int, gram: F64) -> None:
    """Fill G[i, b] = v_i . v_{i+b} for b <= 2 m: all pairs that ever share a window.

    Four products at a time share the reading of v_i.
    """
    n = words.shape[0]
    for i in range(n):
        width = min(2 * window + 1, n - i)
        a = words[i]
        for b in range(0, width - 3, 4):
            w, x, y, z = words[i + b], words[i + b + 1], words[i + b + 2], words[i + b + 3]
            aw = ax = ay = az = 0.0
            for t in range(a.shape[0]):
                aw += a[t] * w[t]
                ax += a[t] * x[t]
                ay += a[t] * y[t]
                az += a[t] * z[t]
            gram[i, b], gram[i, b + 1], gram[i, b + 2], gram[i, b + 3] = aw, ax, ay, az
        for b in range(width // 4 * 4, width):
            gram[i, b] = dot(a, words[i + b])


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
        if word != i and pivot > NOTHING_LEFT * norm:
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
def _enter(
    i: int,
    size: int,
    gram: F64,
    aligned: F64,
    inverse: F64,
    meaning: F64,
    members: Ids64,
    products: F64,
    share: F64,
    query: F64,
) -> bool:
    """Border X and T by word i; False where it is too close to the span of the ``size`` members."""
    count = aligned.shape[1]
    for a in range(size):
        products[a] = gram[members[a], i - members[a]]
        share[a] = 0.0
    for a in range(size):
        for b in range(size):
            share[b] += products[a] * inverse[a, b]
    norm = gram[i, 0]
    pivot = norm
    for a in range(size):
        pivot -= share[a] * products[a]
    if pivot <= _CAREFUL_BELOW * norm:
        return False
    scale = 1.0 / pivot
    for k in range(count):
        query[k] = aligned[i, k]
    for a in range(size):
        for k in range(count):
            query[k] -= share[a] * aligned[members[a], k]
    for a in range(size):
        scaled = scale * share[a]
        for b in range(size):
            inverse[a, b] += scaled * share[b]
        inverse[a, size] = -scaled
        inverse[size, a] = -scaled
        for k in range(count):
            meaning[a, k] -= scaled * query[k]
    inverse[size, size] = scale
    for k in range(count):
        meaning[size, k] = scale * query[k]
    members[size] = i
    return True


@compiled_part
def _leave(a: int, size: int, inverse: F64, meaning: F64, members: Ids64) -> None:
    """Take the member in row a out of X and T; the last of the ``size`` members moves into its row."""
    count = meaning.shape[1]
    last = size - 1
    if a != last:
        # exchange rows and columns a and last, so that what leaves is at the edge
        for b in range(size):
            inverse[a, b], inverse[last, b] = inverse[last, b], inverse[a, b]
        for b in range(size):
            inverse[b, a], inverse[b, last] = inverse[b, last], inverse[b, a]
        for k in range(count):
            meaning[a, k], meaning[last, k] = meaning[last, k], meaning[a, k]
        members[a] = members[last]
    for b in range(last):
        part = inverse[b, last] / inverse[last, last]
        for c in range(last):
            inverse[b, c] -= part * inverse[last, c]
        for k in range(count):
            meaning[b, k] -= part * meaning[last, k]


@compiled_part
def _slide(sentence: Ids, window: int, work: Workspace) -> bool:
    """Fill ``work.weights`` by sliding the window; False where a word is left to the careful path.

    A word that stands in its window more than once is a member once, and none of its occurrences brings anything new.
    """
    n = sentence.shape[0]
    gram, aligned, weights = work.gram, work.aligned, work.weights
    inverse, meaning, members = work.inverse, work.meaning, work.members
    products, share, query = work.products, work.share, work.query
    count = aligned.shape[1]
    size = 0
    entered = 0
    for i in range(n):
        low, high = max(0, i - window), min(n, i + window + 1)
        for a in range(size):
            if members[a] < low:
                _leave(a, size, inverse, meaning, members)
                size -= 1
                break
        while entered < high:
            known = gram[entered, 0] == 0.0
            for a in range(size):
                if sentence[members[a]] == sentence[entered]:
                    members[a] = entered
                    known = True
            if not known:
                if not _enter(
                    entered, size, gram, aligned, inverse, meaning, members, products, share, query
                ):
                    return False
                size += 1
            entered += 1
        weights[i, 0], weights[i, 1], weights[i, 2] = 1.0, 0.0, 1.0
        repeated = gram[i, 0] == 0.0
        for j in range(low, high):
            repeated = repeated or (j != i and sentence[j] == sentence[i])
        if repeated:
            continue
        a = 0
        while members[a] != i:
            a += 1
        if inverse[a, a] * gram[i, 0] * _CAREFUL_BELOW >= 1.0:
            return False
        r = 1.0 / np.sqrt(inverse[a, a])
        alignment = 0.0
        for k in range(count):
            alignment += meaning[a, k] * meaning[a, k]
        weights[i, 0] = np.exp(r / np.sqrt(gram[i, 0]))
        weights[i, 1] = r / (high - low)
        weights[i, 2] = np.exp(-r * np.sqrt(alignment) / max(count, 1))
    return True


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


@compiled_part
def weigh_words(sentence: Ids, window: int, work: Workspace) -> None:
    """Fill ``work.weights`` for the words of a sentence, whose ``words`` and ``aligned`` are there."""
    _banded_gram(work.words[: sentence.shape[0]], window, work.gram)
    if not _slide(sentence, window, work):
        _weigh_carefully(sentence, window, work)
