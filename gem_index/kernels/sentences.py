"""The inner loops of encoding, in terms of inner products only (spec section 5).

Sentences come as word ids: sentence s is ``ids[offsets[s]:offsets[s + 1]]``, word id i has the vector ``rows[i]``. Every
result depends on the sentence alone, never on its neighbours in a batch: reductions run in one fixed order per sentence,
so bytes do not change with batch size or threads.

Windows that reach the beginning of a sentence share one factorisation, and so do those that reach its end: with
q_0, q_1, ... the orthonormal basis of the words from the beginning on (Gram-Schmidt, kept as coefficients M of the words),
the Gram matrix of the first c words has the inverse M_c^T M_c, and what is new in word i among them has the squared length
1 / sum_{l<c} M_li^2. A window in the middle of a longer sentence, and whatever is close to dependent, takes the careful
path: a Cholesky factor with v_i last, refined where almost nothing is left.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gem_index.kernels.compiled import compiled

__all__ = ["RANK_TOLERANCE", "encode_sentences", "project", "sentence_weights"]

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int32]
Ids64 = npt.NDArray[np.int64]

RANK_TOLERANCE = 1e-6
"""A residual of at most this share of its vector counts as none (spec section 4)."""

_PIVOT_TOLERANCE = RANK_TOLERANCE**2
_CAREFUL_BELOW = (
    1e-6  # of |v|^2: a smaller squared residual is computed from the vectors themselves
)
_PIECE = 1024  # words whose weights are computed at a time: bounds the memory that a very long text takes


class Workspace(NamedTuple):
    """Scratch arrays of one call, so that no sentence pays for memory; n is a piece with its halo, w a window's size."""

    words: F64  # (n, d) vectors
    aligned: F64  # (n, h) projections on the selected directions, times their singular values
    gram: F64  # (n, w) banded Gram matrix
    weights: F64  # (n, 3)
    head: F64  # (w, w) orthonormal basis from the first word on, as coefficients
    head_aligned: F64  # (w, h) its scaled inner products with the directions
    tail: F64  # (w, w) the same from the last word backwards
    tail_aligned: F64  # (w, h)
    factor: F64  # (w, w) Cholesky factor of one window
    coefficients: F64  # (w,)
    along: F64  # (w,)
    products: F64  # (w,)
    alignment: F64  # (h,)
    scores: F64  # (K,)
    selected: Ids64  # (h,)
    total: F64  # (d,) the weighted sum


@compiled
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
        np.empty((w, w)),
        np.empty((w, count)),
        np.empty((w, w)),
        np.empty(w),
        np.empty(w),
        np.empty(w),
        np.empty(count),
        np.empty(components),
        np.empty(count, dtype=np.int64),
        np.empty(dimension),
    )


@compiled
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


@compiled
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


@compiled
def _banded_gram(words: F64, window: int, gram: F64) -> None:
    """Fill G[i, b] = v_i . v_{i+b} for b <= 2 m: all pairs that ever share a window."""
    n = words.shape[0]
    for i in range(n):
        for b in range(min(2 * window + 1, n - i)):
            gram[i, b] = _dot(words[i], words[i + b])


@compiled
def _solve_transposed(factor: F64, rank: int, values: F64) -> None:
    """Solve L^T y = values in place, for the leading rank x rank block of the factor L."""
    for a in range(rank - 1, -1, -1):
        for b in range(a + 1, rank):
            values[a] -= factor[b, a] * values[b]
        values[a] /= factor[a, a]


@compiled
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


@compiled
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
    if pivot <= _CAREFUL_BELOW * norm:
        r = _refined_residual(words, i, active, rank, factor, y)
    if r <= RANK_TOLERANCE * np.sqrt(norm):
        return 0.0
    for a in range(rank):
        coefficients[active[a] - low] = y[a]
    return r  # type: ignore[no-any-return]


@compiled
def _orthonormal_basis(
    sentence: Ids,
    gram: F64,
    aligned: F64,
    first: int,
    step: int,
    count: int,
    basis: F64,
    basis_aligned: F64,
    along: F64,
    products: F64,
) -> bool:
    """Factor the words first, first + step, ... once for all windows that hold them from the first on.

    Row a of ``basis`` holds the coefficients M_a of q_a in the words up to the a-th, row a of ``basis_aligned`` its inner
    products with the directions, scaled as ``aligned``. A zero or repeated word brings no q: its row is zero. Returns False
    where a word is so close to dependent that the careful path has to decide.
    """
    for a in range(count):
        i = first + step * a
        basis[a, : a + 1] = 0.0
        basis_aligned[a] = 0.0
        norm = gram[i, 0]
        repeated = norm == 0.0
        for b in range(a):
            repeated = repeated or sentence[first + step * b] == sentence[i]
        if repeated:
            continue
        for c in range(a):
            j = first + step * c
            products[c] = gram[min(i, j), abs(i - j)]
        pivot = norm
        for b in range(a):
            along[b] = _dot(basis[b, : b + 1], products[: b + 1])
            pivot -= along[b] * along[b]
        if pivot <= _CAREFUL_BELOW * norm:
            return False
        scale = 1.0 / np.sqrt(pivot)
        for b in range(a):
            share = along[b] * scale
            for c in range(b + 1):
                basis[a, c] -= share * basis[b, c]
            for k in range(aligned.shape[1]):
                basis_aligned[a, k] -= share * basis_aligned[b, k]
        basis[a, a] = scale
        for k in range(aligned.shape[1]):
            basis_aligned[a, k] += scale * aligned[i, k]
    return True


@compiled
def _set_weights(r: float, norm: float, size: int, alignment: float, count: int, out: F64) -> None:
    """Fill alpha_n, alpha_s, alpha_u (Eqs. 4, 6, 9) from r, |v|^2, w and |sigma_d * (q^T D)|."""
    out[0] = np.exp(r / np.sqrt(norm))
    out[1] = r / size
    out[2] = np.exp(-alignment / max(count, 1))


@compiled
def _weight_in_shared_window(
    basis: F64, basis_aligned: F64, a: int, size: int, norm: float, alignment: F64, out: F64
) -> bool:
    """Weigh the a-th word among the first ``size``; False where the careful path has to decide."""
    inverse = 0.0
    for b in range(a, size):
        inverse += basis[b, a] * basis[b, a]
    if inverse * norm * _CAREFUL_BELOW >= 1.0 or inverse == 0.0:
        return False
    alignment[:] = 0.0
    for b in range(a, size):
        share = basis[b, a]
        for k in range(alignment.shape[0]):
            alignment[k] += share * basis_aligned[b, k]
    r = 1.0 / np.sqrt(inverse)
    _set_weights(r, norm, size, r * np.sqrt(_dot(alignment, alignment)), alignment.shape[0], out)
    return True


@compiled
def _weights_of_words(sentence: Ids, window: int, work: Workspace) -> None:
    """Fill ``work.weights`` for the words of a sentence, whose ``words`` and ``aligned`` are there."""
    n = sentence.shape[0]
    words, aligned, gram = work.words[:n], work.aligned[:n], work.gram[:n]
    count = aligned.shape[1]
    span = min(n, 2 * window + 1)
    _banded_gram(words, window, gram)
    head_shared = _orthonormal_basis(
        sentence, gram, aligned, 0, 1, span, work.head, work.head_aligned, work.along, work.products
    )
    tail_shared = n > window + 1 and _orthonormal_basis(
        sentence,
        gram,
        aligned,
        n - 1,
        -1,
        span,
        work.tail,
        work.tail_aligned,
        work.along,
        work.products,
    )
    for i in range(n):
        out = work.weights[i]
        low, high = max(0, i - window), min(n, i + window + 1)
        norm = gram[i, 0]
        repeated = norm == 0.0
        for j in range(low, high):
            repeated = repeated or (j != i and sentence[j] == sentence[i])
        if repeated:
            out[0], out[1], out[2] = 1.0, 0.0, 1.0
            continue
        done = False
        if low == 0 and head_shared:
            done = _weight_in_shared_window(
                work.head, work.head_aligned, i, high, norm, work.alignment, out
            )
        elif high == n and tail_shared:
            done = _weight_in_shared_window(
                work.tail, work.tail_aligned, n - 1 - i, n - low, norm, work.alignment, out
            )
        if done:
            continue
        r = _residual_of_window(words, gram, i, low, high, work.factor, work.coefficients)
        if r == 0.0:
            out[0], out[1], out[2] = 1.0, 0.0, 1.0
            continue
        alignment = 0.0
        for k in range(count):
            total = aligned[i, k]
            for j in range(low, high):
                total -= work.coefficients[j - low] * aligned[j, k]
            alignment += total * total
        _set_weights(r, norm, high - low, np.sqrt(alignment) / r, count, out)


@compiled
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


@compiled
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
    c = work.total
    before = _dot(c, c)
    if removal != 0:
        for place in range(work.selected.shape[0]):
            k = place if removal == 1 else work.selected[place]
            along = 0.0
            for i in range(sentence.shape[0]):
                along += alpha[i] * projections[sentence[i], k]
            direction = directions[k]
            for x in range(c.shape[0]):
                c[x] -= along * direction[x]
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
