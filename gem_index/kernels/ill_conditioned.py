"""The weights of words in windows of nearly dependent vectors: slower than sliding, as exact as a QR factorisation.

For each word, the Gram matrix of its window is factored by Cholesky with v_i last. The rounding error is about 1e-16 divided
by the smallest squared residual, so nearly singular windows are orthogonalised from the vectors themselves: Gram-Schmidt
with column pivoting. One pass is enough: a second one changed no weight by more than its rounding. Few sentences need this
module, so it is compiled on first use.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gem_index.arrays import F64, I32, I64, Mask
from gem_index.kernels.batch import Sentences
from gem_index.kernels.compiled import compiled, compiled_part
from gem_index.kernels.windows import Workspace, count_pieces, dot, keep, load, piece, workspace

__all__ = ["weigh_dependent_sentences"]


_RANK_TOLERANCE = 1e-6
"""A residual of at most this share of its vector counts as zero (docs/algorithm.md, section 4)."""

_SINGULAR_BELOW = 1e-8
"""If the determinant of the Gram matrix of unit vectors is at most this, Gram-Schmidt is used. The determinant is a lower
bound of each vector's squared residual against all others, and so limits the rounding error of the Cholesky factor."""


class _Span(NamedTuple):
    """Scratch arrays for the window of one word; w is its size."""

    context: I64  # (w,) distinct nonzero words of the window, without v_i
    factor: F64  # (w, w) Cholesky factor of their Gram matrix
    share: F64  # (w,) coefficients of v_i in terms of them
    basis: F64  # (w, d) orthonormal vectors of their span, then unit vectors minus their projections on these
    aligned: F64  # (w, h) the projections of the rows of ``basis`` as in Workspace.aligned
    residual: F64  # (d,) the part of v_i outside the span
    query: F64  # (h,) the projections of the residual


@compiled_part
def _context_of(sentence: I32, gram: F64, i: int, low: int, high: int, context: I64) -> int:
    """Fill context with the words of low..high except i, each once and without zero vectors; return their number."""
    size = 0
    for j in range(low, high):
        known = j == i or gram[j, 0] == 0.0
        for a in range(size):
            known = known or sentence[context[a]] == sentence[j]
        if not known:
            context[size] = j
            size += 1
    return size


@compiled_part
def _residual_by_cholesky(work: Workspace, i: int, size: int, span: _Span) -> float:
    """Return r, the distance of v_i to the span of its context, and fill ``span.query``; -1 if too inexact."""
    gram, factor, share = work.gram, span.factor, span.share
    pivot, volume = 0.0, 1.0
    for place in range(size + 1):
        word = i if place == size else span.context[place]
        norm = gram[word, 0]
        pivot = norm
        for a in range(place):
            other = span.context[a]
            value = gram[min(word, other), abs(word - other)]
            for b in range(a):
                value -= factor[place, b] * factor[a, b]
            value /= factor[a, a]
            factor[place, a] = value
            pivot -= value * value
        volume *= pivot / norm
        if volume <= _SINGULAR_BELOW:
            return -1.0
        factor[place, place] = np.sqrt(pivot)
    for a in range(size - 1, -1, -1):  # L^T share = the last row of L
        share[a] = factor[size, a]
        for b in range(a + 1, size):
            share[a] -= factor[b, a] * share[b]
        share[a] /= factor[a, a]
    for k in range(span.query.shape[0]):
        span.query[k] = work.aligned[i, k]
    for a in range(size):
        for k in range(span.query.shape[0]):
            span.query[k] -= share[a] * work.aligned[span.context[a], k]
    return np.sqrt(pivot)  # type: ignore[no-any-return]


@compiled_part
def _subtract(factor: float, x: F64, y: F64) -> None:
    """Compute x -= factor * y in place; x and y have the same length."""
    for t in range(x.shape[0]):
        x[t] -= factor * y[t]


@compiled_part
def _residual_by_gram_schmidt(work: Workspace, i: int, size: int, span: _Span) -> float:
    """Return r and fill ``span.query`` from the vectors themselves; the longest remaining context vector goes first."""
    basis, aligned = span.basis, span.aligned
    for a in range(size):
        scale = 1.0 / np.sqrt(work.gram[span.context[a], 0])
        for x in range(basis.shape[1]):
            basis[a, x] = scale * work.words[span.context[a], x]
        for k in range(aligned.shape[1]):
            aligned[a, k] = scale * work.aligned[span.context[a], k]
    rank = 0
    while rank < size:
        best, most = rank, 0.0
        for a in range(rank, size):
            left = dot(basis[a], basis[a])
            if left > most:
                best, most = a, left
        if most <= _RANK_TOLERANCE * _RANK_TOLERANCE:
            break
        for x in range(basis.shape[1]):
            basis[rank, x], basis[best, x] = basis[best, x], basis[rank, x]
        for k in range(aligned.shape[1]):
            aligned[rank, k], aligned[best, k] = aligned[best, k], aligned[rank, k]
        scale = 1.0 / np.sqrt(dot(basis[rank], basis[rank]))
        for x in range(basis.shape[1]):
            basis[rank, x] *= scale
        for k in range(aligned.shape[1]):
            aligned[rank, k] *= scale
        for a in range(rank + 1, size):
            along = dot(basis[a], basis[rank])
            _subtract(along, basis[a], basis[rank])
            _subtract(along, aligned[a], aligned[rank])
        rank += 1
    for x in range(basis.shape[1]):
        span.residual[x] = work.words[i, x]
    for k in range(aligned.shape[1]):
        span.query[k] = work.aligned[i, k]
    for b in range(rank):
        along = dot(span.residual, basis[b])
        _subtract(along, span.residual, basis[b])
        _subtract(along, span.query, aligned[b])
    return np.sqrt(dot(span.residual, span.residual))  # type: ignore[no-any-return]


@compiled_part
def _weigh_carefully(sentence: I32, window: int, work: Workspace, span: _Span) -> None:
    """Fill ``work.weights``; the span of the context is computed for each word separately."""
    n = sentence.shape[0]
    gram = work.gram
    count = work.aligned.shape[1]
    for i in range(n):
        out = work.weights[i]
        out[0], out[1], out[2] = 1.0, 0.0, 1.0
        low, high = max(0, i - window), min(n, i + window + 1)
        repeated = gram[i, 0] == 0.0
        for j in range(low, high):
            repeated = repeated or (j != i and sentence[j] == sentence[i])
        if repeated:
            continue
        size = _context_of(sentence, gram, i, low, high, span.context)
        r = _residual_by_cholesky(work, i, size, span)
        if r < 0.0:
            r = _residual_by_gram_schmidt(work, i, size, span)
        length = np.sqrt(gram[i, 0])
        if r <= _RANK_TOLERANCE * length:
            continue
        out[0] = np.exp(r / length)
        out[1] = r / (high - low)
        out[2] = np.exp(-np.sqrt(dot(span.query, span.query)) / (r * max(count, 1)))


@compiled
def weigh_dependent_sentences(
    batch: Sentences, sigma: F64, selected: I64, window: int, weights: F64, dependent: Mask
) -> None:
    """Weigh the words of the sentences that :func:`gem_index.kernels.windows.weigh_sentences` marked; same parameters."""
    d, count = batch.rows.shape[1], selected.shape[1]
    work = workspace(batch, count, window)
    w = work.gram.shape[1]
    span = _Span(
        np.empty(w, dtype=np.int64),
        np.empty((w, w)),
        np.empty(w),
        np.empty((w, d)),
        np.empty((w, count)),
        np.empty(d),
        np.empty(count),
    )
    for s in range(batch.offsets.shape[0] - 1):
        begin, end = batch.offsets[s], batch.offsets[s + 1]
        sentence = batch.ids[begin:end]
        if not dependent[s]:
            continue
        for number in range(count_pieces(end - begin)):
            low, first, last = piece(number, end - begin, window)
            words = sentence[low : last + window]
            load(words, batch, sigma, selected[s], window, work)
            _weigh_carefully(words, window, work, span)
            keep(work, low, first, last, weights[begin:end])
