"""Inner loop of scoring candidates from the vectors beside an approximate index."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gem_index.arrays import F32, I64
from gem_index.kernels.compiled import compiled

__all__ = ["score_rows"]


@compiled
def score_rows(rows: npt.NDArray[np.int16], positions: I64, query: F32, out: F32) -> None:
    """Fill out (p,) with the inner products of a query (d,) with the rows (n, d) at some positions.

    Each depends on its row alone, whatever else is scored with it. Rows are read where they lie: as numbers of 32 bits they
    would be written and read once more, and take the place of everything else in the processor's cache.
    """
    for i in range(positions.shape[0]):
        row = rows[positions[i]]
        total = np.float32(0.0)
        for x in range(query.shape[0]):
            total += query[x] * np.float32(row[x])
        out[i] = total
