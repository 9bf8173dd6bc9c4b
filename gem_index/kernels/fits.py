"""Inner loops of fitting: coarse vectors of sentences, their products, and eigenvectors (docs/algorithm.md, section 3)."""

from __future__ import annotations

import numpy as np

from gem_index.common.arrays import F32, F64, I32, I64
from gem_index.kernels.library import kernels, reading, succeed, writing

__all__ = ["add_products", "coarse_vectors", "symmetric_eigen"]


def coarse_vectors(ids: I32, offsets: I64, rows: F32, power: float, out: F64) -> None:
    """Fill out (sentences, d) with g = sum_j sigma_j^power u_j (Eq. 7) of sentences ``ids[offsets[s]:offsets[s + 1]]``.

    ``rows`` (u, d) are the vectors of the words. Each left singular vector u_j points toward the sum of the sentence's
    words (docs/algorithm.md, section 3).
    """
    sentences, dimension = out.shape
    succeed(
        kernels.coarse_vectors(
            reading(ids), reading(offsets), sentences, reading(rows), dimension, power, writing(out)
        )
    )


def add_products(rows: F64, out: F64) -> None:
    """Add the upper triangle of rows^T rows, rows (b, d), to out (d, d), each product rounded to a multiple of 2^-44.

    The sum of up to 128 such products of numbers below 1 is exact, so that it does not depend on their order.
    """
    succeed(kernels.add_products(reading(rows), *rows.shape, writing(out)))


def symmetric_eigen(matrix: F64) -> tuple[F64, F64]:
    """Return the eigenvalues (n,), in no order, and as rows the eigenvectors (n, n) of length 1 of a symmetric matrix.

    One thread computes them, in one order of operations: LAPACK starts threads of its own inside ours, which then wait for
    one another, and its last bits depend on how many there are.
    """
    values, vectors = np.empty(len(matrix)), np.empty(matrix.shape)
    succeed(
        kernels.symmetric_eigen(reading(matrix), len(matrix), writing(values), writing(vectors))
    )
    return values, vectors
