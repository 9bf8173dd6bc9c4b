"""Inner loop of importing word vectors: lines of decimal numbers to float32."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gem_index.common.arrays import F32, I64
from gem_index.kernels.library import kernels, reading, writing

__all__ = ["parse_lines"]


def parse_lines(text: npt.NDArray[np.uint8], words: I64, rows: F32) -> int:
    """Parse lines ``word v_1 ... v_d``, each ended by a line feed.

    A number of up to 15 digits whose power of ten is within 10^22 is the quotient or product of two exact float64 numbers,
    hence correctly rounded (Clinger, "How to read floating point numbers accurately", PLDI 1990). Lines of any other form
    are left to the caller.

    Parameters
    ----------
    text : uint8 array (bytes,)
        Complete lines.
    words : int64 array (at least lines, 2)
        Filled with the begin and end of each line's word.
    rows : float32 array (at least lines, d)
        Filled with the numbers.

    Returns
    -------
    int
        Number of parsed lines; -1 if a line is not of this simple form, or if there are more than have room.
    """
    lines: int = kernels.parse_lines(
        reading(text), len(text), len(rows), rows.shape[1], writing(words), writing(rows)
    )
    return lines
