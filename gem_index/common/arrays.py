"""Names of array types, for signatures, and sparse vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["F32", "F64", "I32", "I64", "U64", "WORD_DIMENSIONS", "Mask", "SparseVector"]

F32: TypeAlias = npt.NDArray[np.float32]
F64: TypeAlias = npt.NDArray[np.float64]
I32: TypeAlias = npt.NDArray[np.int32]
I64: TypeAlias = npt.NDArray[np.int64]
U64: TypeAlias = npt.NDArray[np.uint64]
Mask: TypeAlias = npt.NDArray[np.bool_]


WORD_DIMENSIONS = 2**31
"""Number of dimensions of sparse vectors of words."""


@dataclass(frozen=True, eq=False)
class SparseVector:
    """The values of some terms; all others are 0.

    Attributes
    ----------
    indices : int64 array (n,)
        From 0 to 2^31 - 1, ascending, each once.
    values : float32 array (n,)
        Above 0.
    """

    indices: I64
    values: F32

    @classmethod
    def summed(cls, indices: Sequence[int] | I64, values: Sequence[float] | F32) -> SparseVector:
        """Return a vector of indices in any order; values of the same index are added."""
        unique, inverse = np.unique(np.asarray(indices, np.int64), return_inverse=True)
        sums = np.zeros(len(unique), np.float64)
        np.add.at(sums, inverse, np.asarray(values, np.float64))
        return cls(unique, sums.astype(np.float32))

    def folded(self, dimensions: int) -> SparseVector:
        """Return the vector with fewer dimensions: indices modulo their number, values of the same index added."""
        if dimensions >= WORD_DIMENSIONS:
            return self
        return SparseVector.summed(self.indices % dimensions, self.values)

    def dot(self, other: SparseVector) -> float:
        """Return the inner product with another vector."""
        _, mine, others = np.intersect1d(
            self.indices, other.indices, assume_unique=True, return_indices=True
        )
        return float(self.values[mine].astype(np.float64) @ other.values[others])
