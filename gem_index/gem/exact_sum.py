"""A sum of products in fixed point, which is exact, so that it does not depend on the order of its terms."""

from __future__ import annotations

import numpy as np

from gem_index.common.arrays import F64, I64

__all__ = ["ExactSum"]

_ROWS = 128  # rows per block: their products of 44 bits add up exactly in float64
_BITS, _LOW_BITS = 44, 32


class ExactSum:
    """The upper triangle of sum_i r_i r_i^T over rows of numbers below 1, each product rounded to 44 bits.

    Parameters
    ----------
    dimension : int
    state : int64 array (2, d, d), optional
        A result of :meth:`state`; by default an empty sum.
    """

    def __init__(self, dimension: int, state: I64 | None = None) -> None:
        shape = (2, dimension, dimension)
        self._parts = np.zeros(shape, np.int64) if state is None else state.copy()
        self._pending = np.zeros((dimension, dimension))
        self._waiting = 0

    def add(self, rows: F64) -> None:
        """Add rows (b, d) of numbers from -1 to 1."""
        from gem_index.kernels.fits import add_products

        begin = 0
        while begin < len(rows):
            block = np.ascontiguousarray(rows[begin : begin + _ROWS - self._waiting])
            add_products(block, self._pending)
            self._waiting += len(block)
            begin += len(block)
            if self._waiting == _ROWS:
                self._fold()

    def _fold(self) -> None:
        if self._waiting:
            whole = (self._pending * 2.0**_BITS).astype(np.int64)
            self._parts[0] += whole >> _LOW_BITS
            self._parts[1] += whole & ((1 << _LOW_BITS) - 1)
            self._pending[:] = 0.0
            self._waiting = 0

    def state(self) -> I64:
        """Return the sum in units of 2^-44, int64 (2, d, d): first the multiples of 2^32, then the remainders."""
        self._fold()
        self._parts[0] += self._parts[1] >> _LOW_BITS
        self._parts[1] &= (1 << _LOW_BITS) - 1
        return self._parts

    def merge(self, other: ExactSum) -> None:
        """Add another sum."""
        self._fold()
        self._parts += other.state()

    def total(self) -> F64:
        """Return the sum in float64 (d, d), rounded once."""
        high, low = self.state()
        return np.asarray(high * 2.0 ** (_LOW_BITS - _BITS) + low * 2.0**-_BITS)
