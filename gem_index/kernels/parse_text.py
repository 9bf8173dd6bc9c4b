"""Inner loop of importing word vectors: lines of decimal numbers to float32."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gem_index.arrays import F32, F64, I64
from gem_index.kernels.compiled import compiled

__all__ = ["EXACT_POWERS", "parse_lines"]

Bytes = npt.NDArray[np.uint8]

EXACT_POWERS: F64 = np.array([10.0**k for k in range(23)])
"""The powers of ten that float64 holds exactly."""

_MOST_DIGITS = 15  # any integer of up to 15 digits is exact in float64
_SPACE, _RETURN, _LINE_FEED = 32, 13, 10
_PLUS, _MINUS, _POINT = 43, 45, 46


@compiled
def parse_lines(text: Bytes, powers: F64, words: I64, rows: F32) -> int:
    """Parse lines ``word v_1 ... v_d``, each ended by a line feed.

    A number of up to 15 digits whose power of ten is within 10^22 is the quotient or product of two exact float64 numbers,
    hence correctly rounded (Clinger, "How to read floating point numbers accurately", PLDI 1990). Lines of any other form
    are left to the caller.

    Parameters
    ----------
    text : uint8 array (bytes,)
        Complete lines.
    powers : float64 array (23,)
        ``EXACT_POWERS``.
    words : int64 array (at least lines, 2)
        Filled with the begin and end of each line's word.
    rows : float32 array (at least lines, d)
        Filled with the numbers.

    Returns
    -------
    int
        Number of parsed lines; -1 if a line is not of this simple form.
    """
    size, dimension = text.shape[0], rows.shape[1]
    position = 0
    line = 0
    while position < size:
        words[line, 0] = position
        while position < size and text[position] != _SPACE and text[position] != _LINE_FEED:
            position += 1
        words[line, 1] = position
        for x in range(dimension):
            if position >= size or text[position] != _SPACE:
                return -1
            position += 1
            negative = position < size and text[position] == _MINUS
            if position < size and (negative or text[position] == _PLUS):
                position += 1
            mantissa = np.int64(0)
            digits = 0
            places = 0
            seen_point = False
            while position < size:
                byte = np.int64(text[position])
                if 48 <= byte <= 57:
                    mantissa = mantissa * 10 + (byte - 48)
                    digits += 1
                    places += seen_point
                elif byte == _POINT and not seen_point:
                    seen_point = True
                else:
                    break
                position += 1
            if digits == 0 or digits > _MOST_DIGITS:
                return -1
            exponent = np.int64(0)
            if position < size and (text[position] == 101 or text[position] == 69):
                position += 1
                down = position < size and text[position] == _MINUS
                if position < size and (down or text[position] == _PLUS):
                    position += 1
                first = position
                while position < size and 48 <= text[position] <= 57 and position - first < 4:
                    exponent = exponent * 10 + (np.int64(text[position]) - 48)
                    position += 1
                if position == first:
                    return -1
                exponent = -exponent if down else exponent
            exponent -= places
            if exponent < -22 or exponent > 22:
                return -1
            value = np.float64(mantissa)
            value = value / powers[-exponent] if exponent < 0 else value * powers[exponent]
            rows[line, x] = -value if negative else value
        while position < size and (text[position] == _SPACE or text[position] == _RETURN):
            position += 1
        if position >= size or text[position] != _LINE_FEED:
            return -1
        position += 1
        line += 1
    return line
