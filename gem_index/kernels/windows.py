"""The weights of a sentence's words, computed only from inner products (docs/algorithm.md, section 5).

The window slides over the sentence with the inverse X of its words' Gram matrix, and T = X E with E their projections: a
word that enters adds a border to X, a word that leaves is removed by a Schur complement. The part of word i outside the span
of the others has the squared length 1 / X_ii and the projections T_i / X_ii. Nearly dependent sentences are left to
:mod:`gem_index.kernels.ill_conditioned`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gem_index.arrays import F64, I32, I64, Mask
from gem_index.kernels.batch import Sentences
from gem_index.kernels.compiled import compiled, compiled_part

__all__ = [
    "PIECE",
    "Workspace",
    "count_pieces",
    "dot",
    "keep",
    "load",
    "piece",
    "weigh_sentences",
    "workspace",
]


_CAREFUL_BELOW = 1e-4
"""Share of |v|^2: if a squared residual is smaller, the sentence is left to the careful path."""

_LANES = 16
"""Numbers that an unrolled loop takes at once; shorter rows would be left to a loop that takes one at a time."""

PIECE = 128
"""Words after which the sliding inverse starts again: bounds memory and rounding in a long text."""


class Workspace(NamedTuple):
    """Scratch arrays of one call, allocated once for all sentences; n is a piece with its halo, w a window's size."""

    words: F64  # (n, d) vectors
    aligned: F64  # (n, h) E: projections on the selected directions, times their singular values
    gram: F64  # (n, w) banded Gram matrix
    weights: F64  # (n, 3)
    state: F64  # (w, p) X, zero outside of the members, beside T = X E; p is w + h rounded up to _LANES
    members: I64  # (w,) the word in each row of X, by its last position in the window
    border: F64  # (p,) of a word: its coefficients in terms of the members, and what these leave of its E, negative


@compiled_part
def workspace(batch: Sentences, count: int, window: int) -> Workspace:
    """Allocate the scratch arrays for the longest sentence and ``count`` selected directions."""
    longest = 1
    for s in range(batch.offsets.shape[0] - 1):
        longest = max(longest, batch.offsets[s + 1] - batch.offsets[s])
    n = min(longest, PIECE + 2 * window)
    w = min(longest, 2 * window + 1)
    width = (w + count + _LANES - 1) // _LANES * _LANES
    return Workspace(
        np.empty((n, batch.rows.shape[1])),
        np.empty((n, count)),
        np.empty((n, w)),
        np.empty((n, 3)),
        np.empty((w, width)),
        np.empty(w, dtype=np.int64),
        np.empty(width),
    )


@compiled_part
def dot(a: F64, b: F64) -> float:
    """Return the inner product of two vectors."""
    total = 0.0
    for x in range(a.shape[0]):
        total += a[x] * b[x]
    return total


@compiled_part
def _banded_gram(words: F64, window: int, gram: F64) -> None:
    """Fill G[i, b] = v_i . v_{i+b} for b <= 2 m: all pairs that share a window.

    It computes the products of two words with two others at a time, so that each is read half as often.
    """
    n, band = words.shape[0], 2 * window + 1
    for i in range(0, n - 1, 2):
        v, w = words[i], words[i + 1]
        vv = vw = ww = 0.0
        for t in range(v.shape[0]):
            vv += v[t] * v[t]
            vw += v[t] * w[t]
            ww += w[t] * w[t]
        gram[i, 0], gram[i + 1, 0] = vv, ww
        if band > 1:
            gram[i, 1] = vw
        high = min(n, i + band)  # what v meets; w meets one more
        for j in range(i + 2, high - 1, 2):
            y, z = words[j], words[j + 1]
            vy = vz = wy = wz = 0.0
            for t in range(v.shape[0]):
                vy += v[t] * y[t]
                vz += v[t] * z[t]
                wy += w[t] * y[t]
                wz += w[t] * z[t]
            gram[i, j - i], gram[i, j + 1 - i] = vy, vz
            gram[i + 1, j - i - 1], gram[i + 1, j - i] = wy, wz
        if high > i + 2 and (high - i) % 2:
            y = words[high - 1]
            vy = wy = 0.0
            for t in range(v.shape[0]):
                vy += v[t] * y[t]
                wy += w[t] * y[t]
            gram[i, high - 1 - i], gram[i + 1, high - 2 - i] = vy, wy
        if band > 1 and high < n:
            gram[i + 1, band - 1] = dot(w, words[high])
    if n % 2:
        gram[n - 1, 0] = dot(words[n - 1], words[n - 1])


@compiled_part
def piece(number: int, length: int, window: int) -> tuple[int, int, int]:
    """Return (low, first, last) of a piece of a sentence: words first to last, weighed with those around, from low on."""
    first = number * PIECE
    return max(0, first - window), first, min(length, first + PIECE)


@compiled_part
def count_pieces(length: int) -> int:
    """Return how many pieces a sentence is cut into."""
    return (length + PIECE - 1) // PIECE


@compiled_part
def keep(work: Workspace, low: int, first: int, last: int, weights: F64) -> None:
    """Copy the weights of the words ``first`` to ``last`` of a sentence, whose piece begins at ``low``."""
    for i in range(first, last):
        for part in range(3):
            weights[i, part] = work.weights[i - low, part]


@compiled_part
def load(
    sentence: I32, batch: Sentences, sigma: F64, selected: I64, window: int, work: Workspace
) -> None:
    """Fill ``work.words``, ``work.aligned`` and ``work.gram`` for the words of a sentence or a piece of one."""
    for i in range(sentence.shape[0]):
        row, word = batch.rows[sentence[i]], work.words[i]
        for x in range(word.shape[0]):
            word[x] = row[x]
        projection = batch.projections[sentence[i]]
        for place in range(selected.shape[0]):
            k = selected[place]
            work.aligned[i, place] = sigma[k] * projection[k]
    _banded_gram(work.words[: sentence.shape[0]], window, work.gram)


@compiled_part
def _enter(i: int, size: int, work: Workspace) -> bool:
    """Add word i to X and T; False if it is too close to the span of the ``size`` members."""
    gram, aligned, members, state, border = (
        work.gram,
        work.aligned,
        work.members,
        work.state,
        work.border,
    )
    first = members.shape[0]  # column of T
    # the products with the members, times X and T: coefficients of the members, and what they explain of E
    border[:] = 0.0
    for a in range(size):
        product = gram[members[a], i - members[a]]
        row = state[a]
        for b in range(border.shape[0]):
            border[b] += product * row[b]
    norm = gram[i, 0]
    pivot = norm
    for a in range(size):
        pivot -= border[a] * gram[members[a], i - members[a]]
    if pivot <= _CAREFUL_BELOW * norm:
        return False
    scale = 1.0 / pivot
    for k in range(aligned.shape[1]):
        border[first + k] -= aligned[i, k]
    for a in range(size):
        scaled = scale * border[a]
        row = state[a]
        for b in range(border.shape[0]):
            row[b] += scaled * border[b]
        row[size] = -scaled
    row = state[size]
    for b in range(border.shape[0]):
        row[b] = -scale * border[b]
    row[size] = scale
    members[size] = i
    return True


@compiled_part
def _leave(a: int, size: int, work: Workspace) -> None:
    """Remove the member in row a from X and T; the last of the ``size`` members moves into its row."""
    members, state = work.members, work.state
    last = size - 1
    if a != last:
        # exchange rows and columns a and last, so that the removed member is at the edge
        for b in range(state.shape[1]):
            state[a, b], state[last, b] = state[last, b], state[a, b]
        for b in range(size):
            state[b, a], state[b, last] = state[b, last], state[b, a]
        members[a] = members[last]
    gone = state[last]
    for b in range(last):
        part = state[b, last] / gone[last]
        row = state[b]
        for c in range(state.shape[1]):
            row[c] -= part * gone[c]
        row[last] = 0.0
    gone[:] = 0.0


@compiled_part
def _slide(sentence: I32, window: int, work: Workspace) -> bool:
    """Fill ``work.weights`` by sliding the window; False if a word must be left to the careful path.

    A word that occurs in its window more than once is one member, and none of its occurrences has anything new.
    """
    n = sentence.shape[0]
    gram, weights, members, state = work.gram, work.weights, work.members, work.state
    count = work.aligned.shape[1]
    first = members.shape[0]  # column of T
    state[:] = 0.0
    size = 0
    entered = 0
    for i in range(n):
        low, high = max(0, i - window), min(n, i + window + 1)
        for a in range(size):
            if members[a] < low:
                _leave(a, size, work)
                size -= 1
                break
        while entered < high:
            known = gram[entered, 0] == 0.0
            for a in range(size):
                if sentence[members[a]] == sentence[entered]:
                    members[a] = entered
                    known = True
            if not known:
                if not _enter(entered, size, work):
                    return False
                size += 1
            entered += 1
        for a in range(
            size
        ):  # a member that was far from the earlier ones may be close to the span of all others
            if state[a, a] * gram[members[a], 0] * _CAREFUL_BELOW >= 1.0:
                return False
        weights[i, 0], weights[i, 1], weights[i, 2] = 1.0, 0.0, 1.0
        repeated = gram[i, 0] == 0.0
        for j in range(low, high):
            repeated = repeated or (j != i and sentence[j] == sentence[i])
        if repeated:
            continue
        a = 0
        while members[a] != i:
            a += 1
        r = 1.0 / np.sqrt(state[a, a])
        alignment = 0.0
        for k in range(first, first + count):
            alignment += state[a, k] * state[a, k]
        weights[i, 0] = np.exp(r / np.sqrt(gram[i, 0]))
        weights[i, 1] = r / (high - low)
        weights[i, 2] = np.exp(-r * np.sqrt(alignment) / max(count, 1))
    return True


@compiled
def weigh_sentences(
    batch: Sentences,
    sigma: F64,
    selected: I64,
    window: int,
    weights: F64,
    dependent: Mask,
) -> None:
    """Weigh the words of sentences (docs/algorithm.md, section 4); nearly dependent sentences are only marked.

    A very long sentence is weighed in pieces; each piece includes ``window`` more words on either side, so that its own
    words get the same weights as in the whole sentence.

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
    dependent : bool array (sentences,)
        Set to True for the sentences that :func:`gem_index.kernels.ill_conditioned.weigh_dependent_sentences` must weigh.
    """
    work = workspace(batch, selected.shape[1], window)
    for s in range(batch.offsets.shape[0] - 1):
        begin, end = batch.offsets[s], batch.offsets[s + 1]
        sentence = batch.ids[begin:end]
        dependent[s] = False
        for number in range(count_pieces(end - begin)):
            low, first, last = piece(number, end - begin, window)
            words = sentence[low : last + window]
            load(words, batch, sigma, selected[s], window, work)
            if not _slide(words, window, work):
                dependent[s] = True
                break
            keep(work, low, first, last, weights[begin:end])
