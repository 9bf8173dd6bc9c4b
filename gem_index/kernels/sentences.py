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


@compiled
def _select_directions(
    sentence: Ids, projections: F64, sigma: F64, plain_ranking: bool, count: int
) -> Ids64:
    """Return the ``count`` directions with the largest o_k, best first (Eq. 8; ties: smaller k first)."""
    scores = np.zeros(sigma.shape[0])
    for i in sentence:
        row = projections[i]
        for k in range(sigma.shape[0]):
            scores[k] += row[k] * row[k]
    if not plain_ranking:
        for k in range(sigma.shape[0]):
            scores[k] *= sigma[k] * sigma[k]
    selected = np.empty(count, dtype=np.int64)
    for place in range(count):
        best = 0
        for k in range(sigma.shape[0]):
            if scores[k] > scores[best]:
                best = k
        selected[place] = best
        scores[best] = -1.0
    return selected


@compiled
def _gather(sentence: Ids, rows: F32) -> F64:
    """Return the vectors (n, d) of a sentence's words in float64."""
    wide = np.empty((sentence.shape[0], rows.shape[1]))
    for i in range(sentence.shape[0]):
        for x in range(rows.shape[1]):
            wide[i, x] = rows[sentence[i], x]
    return wide


@compiled
def _dot(a: F64, b: F64) -> float:
    """Inner product."""
    total = 0.0
    for x in range(a.shape[0]):
        total += a[x] * b[x]
    return total


@compiled
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
            out[i, k] = _dot(wide, directions[k])


@compiled
def _banded_gram(words: F64, width: int) -> F64:
    """Return G with G[i, b] = v_i . v_{i+b} for b < width: all pairs that ever share a window."""
    n = words.shape[0]
    width = min(width, n)
    gram = np.empty((n, width))
    for i in range(n):
        for b in range(min(width, n - i)):
            gram[i, b] = _dot(words[i], words[i + b])
    return gram


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
) -> bool:
    """Factor the words first, first + step, ... once for all windows that hold them from the first on.

    Row a of ``basis`` holds the coefficients M_a of q_a in the words up to the a-th, row a of ``basis_aligned`` its inner
    products with the directions, scaled as ``aligned``. A zero or repeated word brings no q: its row is zero. Returns False
    where a word is so close to dependent that the careful path has to decide.
    """
    along = np.empty(count)
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
        pivot = norm
        for b in range(a):
            total = 0.0
            for c in range(b + 1):
                j = first + step * c
                total += basis[b, c] * gram[min(i, j), abs(i - j)]
            along[b] = total
            pivot -= total * total
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
    basis: F64, basis_aligned: F64, a: int, size: int, norm: float, out: F64
) -> bool:
    """Weigh the a-th word among the first ``size``; False where the careful path has to decide."""
    inverse = 0.0
    for b in range(a, size):
        inverse += basis[b, a] * basis[b, a]
    if inverse * norm * _CAREFUL_BELOW >= 1.0 or inverse == 0.0:
        return False
    alignment = 0.0
    for k in range(basis_aligned.shape[1]):
        total = 0.0
        for b in range(a, size):
            total += basis[b, a] * basis_aligned[b, k]
        alignment += total * total
    r = 1.0 / np.sqrt(inverse)
    _set_weights(r, norm, size, r * np.sqrt(alignment), basis_aligned.shape[1], out)
    return True


@compiled
def _weights_of_piece(sentence: Ids, words: F64, aligned: F64, window: int, out: F64) -> None:
    """Fill out (n, 3) with the weights of a sentence's words, given their vectors and scaled projections (n, h)."""
    n = sentence.shape[0]
    span = min(n, 2 * window + 1)
    gram = _banded_gram(words, 2 * window + 1)
    head, head_aligned = np.empty((span, span)), np.empty((span, aligned.shape[1]))
    tail, tail_aligned = np.empty((span, span)), np.empty((span, aligned.shape[1]))
    factor, coefficients = np.empty((span, span)), np.empty(span)
    head_shared = _orthonormal_basis(sentence, gram, aligned, 0, 1, span, head, head_aligned)
    tail_shared = n > window + 1 and _orthonormal_basis(
        sentence, gram, aligned, n - 1, -1, span, tail, tail_aligned
    )
    for i in range(n):
        low, high = max(0, i - window), min(n, i + window + 1)
        norm = gram[i, 0]
        repeated = norm == 0.0
        for j in range(low, high):
            repeated = repeated or (j != i and sentence[j] == sentence[i])
        if repeated:
            out[i, 0], out[i, 1], out[i, 2] = 1.0, 0.0, 1.0
            continue
        if low == 0 and head_shared:
            if _weight_in_shared_window(head, head_aligned, i, high, norm, out[i]):
                continue
        elif (
            low > 0
            and high == n
            and tail_shared
            and _weight_in_shared_window(tail, tail_aligned, n - 1 - i, n - low, norm, out[i])
        ):
            continue
        r = _residual_of_window(words, gram, i, low, high, factor, coefficients)
        if r == 0.0:
            out[i, 0], out[i, 1], out[i, 2] = 1.0, 0.0, 1.0
            continue
        alignment = 0.0
        for k in range(aligned.shape[1]):
            total = aligned[i, k]
            for j in range(low, high):
                total -= coefficients[j - low] * aligned[j, k]
            alignment += total * total
        _set_weights(r, norm, high - low, np.sqrt(alignment) / r, aligned.shape[1], out[i])


@compiled
def _word_weights(
    sentence: Ids,
    words: F64,
    projections: F64,
    sigma: F64,
    selected: Ids64,
    window: int,
    out: F64,
) -> None:
    """Fill out (n, 3) with alpha_n, alpha_s, alpha_u of each word, a long sentence piece by piece.

    A piece takes ``window`` words more on either side: it weighs its own words as the whole sentence would.
    """
    n = sentence.shape[0]
    aligned = np.empty((n, selected.shape[0]))
    for i in range(n):
        for place in range(selected.shape[0]):
            k = selected[place]
            aligned[i, place] = sigma[k] * projections[sentence[i], k]
    if n <= _PIECE:
        _weights_of_piece(sentence, words, aligned, window, out)
        return
    for begin in range(0, n, _PIECE):
        end = min(n, begin + _PIECE)
        low, high = max(0, begin - window), min(n, end + window)
        parts = np.empty((high - low, 3))
        _weights_of_piece(sentence[low:high], words[low:high], aligned[low:high], window, parts)
        out[begin:end] = parts[begin - low : end - low]


@compiled
def _sentence_vector(
    sentence: Ids,
    weights: F64,
    words: F64,
    projections: F64,
    directions: F64,
    removed: Ids64,
    out: F32,
) -> None:
    """Fill out (d,) with the unit vector of the weighted sum less its part along the removed directions."""
    c = np.zeros(words.shape[1])
    for i in range(sentence.shape[0]):
        for x in range(c.shape[0]):
            c[x] += weights[i] * words[i, x]
    before = _dot(c, c)
    for k in removed:
        along = 0.0
        for i in range(sentence.shape[0]):
            along += weights[i] * projections[sentence[i], k]
        for x in range(c.shape[0]):
            c[x] -= along * directions[k, x]
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
        words = _gather(sentence, rows)
        selected = _select_directions(sentence, projections, sigma, plain_ranking, count)
        alpha = np.ones(n)
        if use_n or use_s or use_u:
            parts = np.empty((n, 3))
            _word_weights(sentence, words, projections, sigma, selected, window, parts)
            for i in range(n):
                alpha[i] = use_n * parts[i, 0] + use_s * parts[i, 1] + use_u * parts[i, 2]
        removed = nothing
        if removal == 1:
            removed = np.arange(count)
        elif removal == 2:
            removed = selected
        _sentence_vector(sentence, alpha, words, projections, directions, removed, out[s])


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
    parts = np.empty((sentence.shape[0], 3))
    selected = _select_directions(sentence, projections, sigma, plain_ranking, count)
    words = _gather(sentence, rows)
    _word_weights(sentence, words, projections, sigma, selected, window, parts)
    return parts
