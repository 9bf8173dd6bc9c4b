"""Inner loop of fitting: coarse vectors of sentences (docs/algorithm.md, section 3)."""

from __future__ import annotations

import numpy as np

from gem_index.arrays import F32, F64, I32, I64
from gem_index.kernels.compiled import compiled

__all__ = ["coarse_vectors"]


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
        if n <= d:
            gram = np.empty((n, n))
            for i in range(n):
                for j in range(i + 1):
                    total = 0.0
                    for x in range(d):
                        total += np.float64(rows[sentence[i], x]) * np.float64(rows[sentence[j], x])
                    gram[i, j] = total
                    gram[j, i] = gram[i, j]
            squares, vectors = np.linalg.eigh(gram)
            mix = np.zeros(n)
            for j in range(n):
                if squares[j] <= 1e-14 * squares[n - 1]:
                    continue
                total = 0.0
                for i in range(n):
                    total += vectors[i, j]
                gain = squares[j] ** (0.5 * (power - 1.0)) * (1.0 if total >= 0.0 else -1.0)
                for i in range(n):
                    mix[i] += gain * vectors[i, j]
            for i in range(n):
                for x in range(d):
                    out[s, x] += mix[i] * rows[sentence[i], x]
        else:
            scatter = np.zeros((d, d))
            total_vector = np.zeros(d)
            for i in range(n):
                row = rows[sentence[i]]
                for x in range(d):
                    total_vector[x] += row[x]
                    for y in range(x + 1):
                        scatter[x, y] += np.float64(row[x]) * row[y]
            for x in range(d):
                for y in range(x):
                    scatter[y, x] = scatter[x, y]
            squares, vectors = np.linalg.eigh(scatter)
            for j in range(d):
                if squares[j] <= 1e-14 * squares[d - 1]:
                    continue
                total = 0.0
                for x in range(d):
                    total += vectors[x, j] * total_vector[x]
                gain = squares[j] ** (0.5 * power) * (1.0 if total >= 0.0 else -1.0)
                for x in range(d):
                    out[s, x] += gain * vectors[x, j]
