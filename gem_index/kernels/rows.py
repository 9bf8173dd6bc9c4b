"""Inner loops over rows of vectors."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gem_index.common.arrays import F32, I64
from gem_index.kernels.library import kernels, reading, writing

__all__ = ["score_rows", "sum_rows"]


def score_rows(rows: npt.NDArray[np.int16], positions: I64, query: F32, out: F32) -> None:
    """Fill out (p,) with the inner products of a query (d,) with the rows (n, d) at some positions.

    Each depends on its row alone, whatever else is scored with it.
    """
    kernels.score_rows(
        reading(rows), reading(positions), len(positions), reading(query), len(query), writing(out)
    )


def sum_rows(table: F32, rows: I64, counts: I64, out: F32) -> None:
    """Add to each row i of out (n, d) its counts[i] rows of a table (R, d); ``rows`` lists them in order of i.

    (``numpy.add.reduceat`` adds the rows of a word in another order, and so gives other last bits.)
    """
    kernels.sum_rows(reading(table), reading(rows), reading(counts), *out.shape, writing(out))
