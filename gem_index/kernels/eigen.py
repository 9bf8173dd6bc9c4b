"""Eigenvectors of a symmetric matrix, without LAPACK.

LAPACK starts threads of its own inside ours, which then wait for one another, and its last bits depend on how many there
are. This is Householder's tridiagonal form and the implicit QL iteration (Dubrulle, Martin and Wilkinson, "The implicit QL
algorithm", Numerische Mathematik 12, 1968): one thread, one order of operations.
"""

from __future__ import annotations

import numpy as np

from gem_index.arrays import F64
from gem_index.kernels.compiled import compiled

__all__ = ["symmetric_eigen"]

_EPSILON = 2.0**-52
_MOST_ROUNDS = 60  # for one eigenvalue; two or three are usual


@compiled
def symmetric_eigen(matrix: F64, values: F64, vectors: F64) -> None:
    """Fill values (n,) and the rows of vectors (n, n) with eigenvalues, in no order, and eigenvectors of length 1.

    Parameters
    ----------
    matrix : float64 array (n, n)
        Symmetric; overwritten.
    """
    n = matrix.shape[0]
    beside = np.zeros(n)  # the tridiagonal form's elements beside the diagonal
    _tridiagonal(matrix, values, beside, vectors)
    for low in range(n):
        for _ in range(_MOST_ROUNDS):
            high = low
            while high < n - 1:
                if abs(beside[high]) <= _EPSILON * (abs(values[high]) + abs(values[high + 1])):
                    break
                high += 1
            if high == low:
                break
            shift = (values[low + 1] - values[low]) / (2.0 * beside[low])
            root = np.sqrt(shift * shift + 1.0)
            g = values[high] - values[low]
            g += beside[low] / (shift + (root if shift >= 0.0 else -root))
            sine = cosine = 1.0
            moved = 0.0
            split = False
            for i in range(high - 1, low - 1, -1):
                f, b = sine * beside[i], cosine * beside[i]
                r = np.sqrt(f * f + g * g)
                beside[i + 1] = r
                if r == 0.0:
                    values[i + 1] -= moved
                    beside[high] = 0.0
                    split = True
                    break
                inverse = 1.0 / r
                sine, cosine = f * inverse, g * inverse
                g = values[i + 1] - moved
                r = (values[i] - g) * sine + 2.0 * cosine * b
                moved = sine * r
                values[i + 1] = g + moved
                g = cosine * r - b
                for k in range(n):
                    x, y = vectors[i, k], vectors[i + 1, k]
                    vectors[i + 1, k] = sine * x + cosine * y
                    vectors[i, k] = cosine * x - sine * y
            if not split:
                values[low] -= moved
                beside[low] = g
                beside[high] = 0.0


@compiled
def _tridiagonal(matrix: F64, diagonal: F64, beside: F64, vectors: F64) -> None:
    """Reduce a symmetric matrix to tridiagonal form: fill its diagonals, and vectors with the transposed transformation."""
    n = matrix.shape[0]
    factors = np.zeros(n)
    product = np.empty(n)
    reflection = np.empty(n)
    for k in range(n - 2):
        # the column below the diagonal becomes the vector of a reflection, which is kept in row k
        length = 0.0
        for i in range(k + 1, n):
            reflection[i] = matrix[k, i]
            length += reflection[i] * reflection[i]
        length = np.sqrt(length)
        diagonal[k] = matrix[k, k]
        first = reflection[k + 1]
        beside[k] = -length if first >= 0.0 else length
        if length == 0.0:
            continue
        reflection[k + 1] = first - beside[k]
        matrix[k, k + 1] = reflection[k + 1]
        factor = 1.0 / (length * (length + abs(first)))
        factors[k] = factor
        along = 0.0
        for i in range(k + 1, n):
            total = 0.0
            for j in range(k + 1, n):
                total += matrix[i, j] * reflection[j]
            product[i] = factor * total
            along += product[i] * reflection[i]
        along *= 0.5 * factor
        for i in range(k + 1, n):
            product[i] -= along * reflection[i]
        for i in range(k + 1, n):
            a, b = reflection[i], product[i]
            for j in range(k + 1, n):
                matrix[i, j] -= a * product[j] + b * reflection[j]
    if n > 1:
        diagonal[n - 2] = matrix[n - 2, n - 2]
        beside[n - 2] = matrix[n - 2, n - 1]
    diagonal[n - 1] = matrix[n - 1, n - 1]
    vectors[:, :] = 0.0
    for i in range(n):
        vectors[i, i] = 1.0
    for k in range(n - 3, -1, -1):
        if factors[k] == 0.0:
            continue
        for j in range(k + 1, n):
            reflection[j] = matrix[k, j]
        for i in range(k + 1, n):
            total = 0.0
            for j in range(k + 1, n):
                total += vectors[i, j] * reflection[j]
            total *= factors[k]
            for j in range(k + 1, n):
                vectors[i, j] -= total * reflection[j]
