"""Encoding: a sentence's directions, the weighted sum of its words, and the removal (spec section 4).

Sentences come as word ids: sentence s is ``ids[offsets[s]:offsets[s + 1]]``, word id i has the vector ``rows[i]``. Every
result depends on the sentence alone, never on its neighbours in a batch: reductions run in one fixed order per sentence,
so bytes do not change with batch size or threads.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gem_index.kernels.compiled import compiled, compiled_part
from gem_index.kernels.windows import NOTHING_LEFT, PIECE, Workspace, dot, weigh_words, workspace

__all__ = ["encode_sentences", "project", "sentence_weights"]

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int32]
Ids64 = npt.NDArray[np.int64]


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
    before = dot(c, c)
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
    after = dot(c, c)
    # Where nothing but rounding is left of the sentence, say so with the zero vector instead of a random direction.
    if after <= NOTHING_LEFT * before:
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
    work = workspace(longest, rows.shape[1], sigma.shape[0], count, window)
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
        for first in range(0, n, PIECE):
            last = min(n, first + PIECE)
            low, high = max(0, first - window), min(n, last + window)
            _load(sentence[low:high], rows, projections, sigma, work)
            if weighted:
                weigh_words(sentence[low:high], window, work)
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
    work = workspace(max(n, 1), rows.shape[1], sigma.shape[0], count, window)
    _select_directions(sentence, projections, sigma, plain_ranking, work)
    for first in range(0, n, PIECE):
        last = min(n, first + PIECE)
        low, high = max(0, first - window), min(n, last + window)
        _load(sentence[low:high], rows, projections, sigma, work)
        weigh_words(sentence[low:high], window, work)
        weights[first:last] = work.weights[first - low : last - low]
    return weights
