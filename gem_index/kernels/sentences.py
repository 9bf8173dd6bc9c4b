"""The inner loops of encoding, in terms of inner products only (spec section 5).

Sentences come as word ids: sentence s is ``ids[offsets[s]:offsets[s + 1]]``, word id i has the vector ``rows[i]``. Every
result depends on the sentence alone, never on its neighbours in a batch: reductions run in one fixed order per sentence,
so bytes do not change with batch size or threads.

The window slides over the sentence with the inverse X of its words' Gram matrix, and T = X E with E their projections: a
word that enters borders X, a word that leaves takes its Schur complement out. What is new in word i has the squared length
1 / X_ii and the projections T_i / X_ii. Whatever comes close to dependent takes the careful path instead: a Cholesky factor
of the one window with v_i last, refined where almost nothing is left.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gem_index.kernels.compiled import compiled, compiled_part

__all__ = ["RANK_TOLERANCE", "encode_sentences", "project", "sentence_weights"]

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int32]
Ids64 = npt.NDArray[np.int64]

RANK_TOLERANCE = 1e-6
"""A residual of at most this share of its vector counts as none (spec section 4)."""

_PIVOT_TOLERANCE = RANK_TOLERANCE**2
_REFINED_BELOW = 1e-6
"""Of |v|^2: a smaller squared residual is computed from the vectors themselves."""

_CAREFUL_BELOW = 1e-4
"""Of |v|^2: the sliding inverse leaves a smaller squared residual to the careful path."""

_PIECE = 128
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
def _workspace(longest: int, dimension: int, components: int, count: int, window: int) -> Workspace:
    """Allocate for sentences of at most that many words."""
    n = min(longest, _PIECE + 2 * window)
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
def _select_directions(
    sentence: Ids, projections: F64, sigma: F64, plain_ranking: bool, work: Workspace
) -> None:
    """Fill ``work.selected`` with the directions of the largest o_k, best first (Eq. 8; ties: smaller k first)."""
    scores, selected = work.scores, work.selected
    scores[:] = 0.0
    for i in sentence:
        row = projections[i]
        for k in range(scores.shape[0]):
            scores[k] += row[k] * row[k]
    if not plain_ranking:
        for k in range(scores.shape[0]):
            scores[k] *= sigma[k] * sigma[k]
    for place in range(selected.shape[0]):
        best = 0
        for k in range(scores.shape[0]):
            if scores[k] > scores[best]:
                best = k
        selected[place] = best
        scores[best] = -1.0


@compiled_part
def _dot(a: F64, b: F64) -> float:
    """Inner product."""
    total = 0.0
    for x in range(a.shape[0]):
        total += a[x] * b[x]
    return total


@compiled
def project(rows: F32, directions: F64) -> F64:
    """Return P (u, K), the inner products of words' vectors (u, d) with the corpus' directions (K, d)."""
    out = np.empty((rows.shape[0], directions.shape[0]))
    wide = np.empty(rows.shape[1])
    for i in range(rows.shape[0]):
        for x in range(rows.shape[1]):
            wide[x] = rows[i, x]
        for k in range(directions.shape[0]):
            out[i, k] = _dot(wide, directions[k])
    return out


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
            gram[i, b] = _dot(a, words[i + b])


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
            product = _dot(residual, other)
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
    return np.sqrt(_dot(residual, residual))  # type: ignore[no-any-return]


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
        if word != i and pivot > _PIVOT_TOLERANCE * norm:
            factor[rank, rank] = np.sqrt(pivot)
            active[rank] = word
            rank += 1
    y = factor[rank, :rank].copy()
    _solve_transposed(factor, rank, y)
    r = np.sqrt(max(pivot, 0.0))
    if pivot <= _REFINED_BELOW * norm:
        r = _refined_residual(words, i, active, rank, factor, y)
    if r <= RANK_TOLERANCE * np.sqrt(norm):
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
def _weights_of_words(sentence: Ids, window: int, work: Workspace) -> None:
    """Fill ``work.weights`` for the words of a sentence, whose ``words`` and ``aligned`` are there."""
    _banded_gram(work.words[: sentence.shape[0]], window, work.gram)
    if not _slide(sentence, window, work):
        _weigh_carefully(sentence, window, work)


@compiled_part
def _load(sentence: Ids, rows: F32, projections: F64, sigma: F64, work: Workspace) -> None:
    """Fill ``work.words`` and ``work.aligned`` for the words of a sentence."""
    for i in range(sentence.shape[0]):
        row, word = rows[sentence[i]], work.words[i]
        for x in range(word.shape[0]):
            word[x] = row[x]
        projection = projections[sentence[i]]
        for place in range(work.selected.shape[0]):
            k = work.selected[place]
            work.aligned[i, place] = sigma[k] * projection[k]


@compiled_part
def _finish(
    alpha: F64,
    sentence: Ids,
    projections: F64,
    directions: F64,
    removal: int,
    work: Workspace,
    out: F32,
) -> None:
    """Fill out (d,) with the unit vector of ``work.total`` less its part along the removed directions."""
    c, removed, along = work.total, work.selected, work.query
    before = _dot(c, c)
    count = 0 if removal == 0 else removed.shape[0]
    for place in range(count):
        if removal == 1:
            removed[place] = place
        along[place] = 0.0
        for i in range(sentence.shape[0]):
            along[place] += alpha[i] * projections[sentence[i], removed[place]]
    # Four directions at a time share the reading and writing of c.
    for place in range(0, count - 3, 4):
        j, k, y, z = removed[place], removed[place + 1], removed[place + 2], removed[place + 3]
        aj, ak, ay, az = along[place], along[place + 1], along[place + 2], along[place + 3]
        for x in range(c.shape[0]):
            c[x] -= (
                aj * directions[j, x]
                + ak * directions[k, x]
                + ay * directions[y, x]
                + az * directions[z, x]
            )
    for place in range(count // 4 * 4, count):
        for x in range(c.shape[0]):
            c[x] -= along[place] * directions[removed[place], x]
    after = _dot(c, c)
    # Where nothing but rounding is left of the sentence, say so with the zero vector instead of a random direction.
    if after <= _PIVOT_TOLERANCE * before:
        out[:] = 0.0
        return
    scale = 1.0 / np.sqrt(after)
    for x in range(c.shape[0]):
        out[x] = c[x] * scale


@compiled
def encode_sentences(
    ids: Ids,
    offsets: Ids64,
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
    """Encode sentences into the rows of out (spec section 4).

    A very long sentence is weighed piece by piece; a piece takes ``window`` words more on either side, so that it weighs
    its own words as the whole sentence would.

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
    longest = 1
    for s in range(offsets.shape[0] - 1):
        longest = max(longest, offsets[s + 1] - offsets[s])
    work = _workspace(longest, rows.shape[1], sigma.shape[0], count, window)
    alpha = np.empty(longest)
    weighted = use_n or use_s or use_u
    for s in range(offsets.shape[0] - 1):
        sentence = ids[offsets[s] : offsets[s + 1]]
        n = sentence.shape[0]
        if n == 0:
            out[s, :] = 0.0
            continue
        _select_directions(sentence, projections, sigma, plain_ranking, work)
        work.total[:] = 0.0
        for first in range(0, n, _PIECE):
            last = min(n, first + _PIECE)
            low, high = max(0, first - window), min(n, last + window)
            _load(sentence[low:high], rows, projections, sigma, work)
            if weighted:
                _weights_of_words(sentence[low:high], window, work)
            for i in range(first, last):
                parts = work.weights[i - low]
                alpha[i] = 1.0
                if weighted:
                    alpha[i] = use_n * parts[0] + use_s * parts[1] + use_u * parts[2]
                word = work.words[i - low]
                for x in range(work.total.shape[0]):
                    work.total[x] += alpha[i] * word[x]
        _finish(alpha[:n], sentence, projections, directions, removal, work, out[s])


@compiled
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
    n = sentence.shape[0]
    weights = np.empty((n, 3))
    work = _workspace(max(n, 1), rows.shape[1], sigma.shape[0], count, window)
    _select_directions(sentence, projections, sigma, plain_ranking, work)
    for first in range(0, n, _PIECE):
        last = min(n, first + _PIECE)
        low, high = max(0, first - window), min(n, last + window)
        _load(sentence[low:high], rows, projections, sigma, work)
        _weights_of_words(sentence[low:high], window, work)
        weights[first:last] = work.weights[first - low : last - low]
    return weights
