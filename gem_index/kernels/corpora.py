"""Inner loops of fitting: coarse vectors of sentences, and their products (docs/algorithm.md, section 3)."""

from __future__ import annotations

import numpy as np

from gem_index.arrays import F32, F64, I32, I64
from gem_index.kernels.compiled import compiled, compiled_exactly
from gem_index.kernels.eigen import symmetric_eigen

__all__ = ["add_products", "coarse_vectors"]


@compiled
def coarse_vectors(ids: I32, offsets: I64, rows: F32, power: float, out: F64) -> None:
    """Fill out (sentences, d) with g = sum_j sigma_j^t u_j (Eq. 7).

    Each left singular vector u_j points toward the sum of the sentence's words (docs/algorithm.md, section 3).
    Up to d words, the SVD comes from the n x n Gram matrix S^T S = V L V^T, where u_j = S v_j / sigma_j; beyond, from the
    d x d matrix S S^T.
    """
    d = rows.shape[1]
    for s in range(offsets.shape[0] - 1):
        sentence = ids[offsets[s] : offsets[s + 1]]
        n = sentence.shape[0]
        out[s, :] = 0.0
        if n == 0:
            continue
        words = np.empty((n, d))
        for i in range(n):
            for x in range(d):
                words[i, x] = rows[sentence[i], x]
        size = min(n, d)
        matrix = np.zeros((size, size))
        if n <= d:
            _gram(words, matrix)
        else:
            _scatter(words, matrix)
        squares, vectors = np.empty(size), np.empty((size, size))
        symmetric_eigen(matrix, squares, vectors)
        least = 1e-14 * squares.max()
        toward = np.zeros(size)  # the sum of the words, in the space of the eigenvectors
        if n <= d:
            toward[:] = 1.0
        else:
            for i in range(n):
                for x in range(d):
                    toward[x] += words[i, x]
        mix = np.zeros(size)
        exponent = 0.5 * (power - 1.0) if n <= d else 0.5 * power
        for j in range(size):
            if squares[j] <= least:
                continue
            vector, total = vectors[j], 0.0
            for i in range(size):
                total += vector[i] * toward[i]
            gain = squares[j] ** exponent * (1.0 if total >= 0.0 else -1.0)
            for i in range(size):
                mix[i] += gain * vector[i]
        coarse = out[s]
        if n <= d:
            for i in range(n):
                word, share = words[i], mix[i]
                for x in range(d):
                    coarse[x] += share * word[x]
        else:
            coarse[:] = mix


@compiled
def _gram(words: F64, out: F64) -> None:
    """Fill out (n, n) with S^T S."""
    for i in range(words.shape[0]):
        first = words[i]
        for j in range(i + 1):
            second, total = words[j], 0.0
            for x in range(words.shape[1]):
                total += first[x] * second[x]
            out[i, j] = total
            out[j, i] = total


@compiled
def _scatter(words: F64, out: F64) -> None:
    """Add S S^T to out (d, d)."""
    for i in range(words.shape[0]):
        word = words[i]
        for x in range(word.shape[0]):
            row, share = out[x], word[x]
            for y in range(word.shape[0]):
                row[y] += share * word[y]


@compiled_exactly
def add_products(rows: F64, out: F64) -> None:
    """Add the upper triangle of rows^T rows, rows (b, d), to out (d, d), each product rounded to a multiple of 2^-44.

    Adding 1.5 * 2^8 and taking it away rounds a number below 1 so. The sum of up to 128 such products is exact, so that it
    does not depend on their order.
    """
    shift = 384.0
    count, d = rows.shape
    for s in range(0, count - 3, 4):  # four at a time, so that out is read and written less often
        for x in range(d):
            e, f, g, h = rows[s, x], rows[s + 1, x], rows[s + 2, x], rows[s + 3, x]
            for y in range(x, d):
                first = ((e * rows[s, y] + shift) - shift) + ((f * rows[s + 1, y] + shift) - shift)
                last = ((g * rows[s + 2, y] + shift) - shift) + (
                    (h * rows[s + 3, y] + shift) - shift
                )
                out[x, y] += first + last
    for s in range(count // 4 * 4, count):
        for x in range(d):
            e = rows[s, x]
            for y in range(x, d):
                out[x, y] += (e * rows[s, y] + shift) - shift
