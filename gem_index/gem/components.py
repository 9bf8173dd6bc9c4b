"""A corpus: mergeable statistics of its coarse vectors, and its principal directions (docs/algorithm.md, section 3)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np

from gem_index.common.arrays import F64, I64
from gem_index.errors import ConfigError
from gem_index.gem.exact_sum import ExactSum

__all__ = ["Components", "CorpusStatistics"]


_RANK_TOLERANCE = 1e-6


@dataclass(frozen=True)
class Components:
    """The principal directions of a corpus.

    Attributes
    ----------
    directions : float64 array (K_eff, d)
        Orthonormal rows d_k, the strongest first.
    singular_values : float64 array (K_eff,)
        sigma_k of the matrix of coarse vectors.
    sentences : int
        Number of non-empty sentences that the directions were fitted on; 0 for background components.
    recipe : str
        Empty for fitted components; else the name and version of the background recipe.
    """

    directions: F64
    singular_values: F64
    sentences: int
    recipe: str = ""

    def __post_init__(self) -> None:
        shape = self.directions.shape
        if self.directions.ndim != 2 or self.singular_values.shape != shape[:1]:
            raise ConfigError(
                f"found directions {shape} and singular values {self.singular_values.shape}; "
                "expected (K, d) and (K,)"
            )

    def identity(self) -> bytes:
        """Return the SHA-256 digest of the stored bytes, which enters a fitted encoder's fingerprint.

        Background components enter the fingerprint by their recipe, because the linear algebra of two machines differs in
        the last bits.
        """
        state = hashlib.sha256()
        for array in (self.directions, self.singular_values):
            state.update(np.ascontiguousarray(array, dtype="<f8").tobytes())
        return state.digest()


class CorpusStatistics:
    """X^c X^cT = sum over sentences of g g^T: the only statistics that a fit needs, in O(d^2) memory.

    Statistics of parts add up to the statistics of the whole, so a fit streams, resumes and spreads over workers. The sum
    is exact, so its bytes do not depend on how a corpus is divided. Each coarse vector is divided by the even power of two
    above its largest number, and the products of its numbers are rounded to 44 bits. Each power of two has its own sum.

    Parameters
    ----------
    dimension : int
        d.

    Attributes
    ----------
    sentences : int
        Non-empty texts summed.
    """

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension
        self.sentences = 0
        self._sums: dict[int, ExactSum] = {}  # by the exponent of the numbers

    def add(self, coarse: F64, sentences: int) -> None:
        """Add the coarse vectors (b, d) of a block with the given number of non-empty texts."""
        largest = np.maximum(coarse.max(axis=1, initial=0.0), -coarse.min(axis=1, initial=0.0))
        _, exponents = np.frexp(largest)
        exponents += exponents & 1
        filled = largest > 0.0
        for exponent in np.unique(exponents[filled]).tolist():
            rows = coarse[filled & (exponents == exponent)]
            self._sum(exponent).add(rows * np.ldexp(1.0, -exponent))
        self.sentences += sentences

    def _sum(self, exponent: int) -> ExactSum:
        return self._sums.setdefault(exponent, ExactSum(self.dimension))

    def merge(self, other: CorpusStatistics) -> Self:
        """Add another part's statistics to these.

        Raises
        ------
        ConfigError
            If the dimensions differ.
        """
        if other.dimension != self.dimension:
            raise ConfigError(
                f"found statistics of {other.dimension} dimensions; expected {self.dimension}"
            )
        for exponent, summed in other._sums.items():
            self._sum(exponent).merge(summed)
        self.sentences += other.sentences
        return self

    @property
    def moment(self) -> F64:
        """The sum, float64 (d, d)."""
        moment = np.zeros((self.dimension, self.dimension))
        for exponent in sorted(self._sums):
            moment += np.ldexp(self._sums[exponent].total(), 2 * exponent)
        return np.asarray(np.triu(moment) + np.triu(moment, 1).T)

    def to_arrays(self) -> dict[str, I64]:
        """Return the sums as int64 arrays, for :meth:`from_arrays`."""
        exponents = sorted(self._sums)
        sums = [self._sums[exponent].state() for exponent in exponents]
        shape = (0, 2, self.dimension, self.dimension)
        return {
            "counts": np.array([self.sentences, *exponents], dtype=np.int64),
            "sums": np.array(sums, dtype=np.int64) if sums else np.zeros(shape, np.int64),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, I64]) -> Self:
        """Return the statistics that :meth:`to_arrays` described."""
        sums = arrays["sums"]
        found = cls(sums.shape[-1])
        found.sentences = int(arrays["counts"][0])
        for exponent, state in zip(arrays["counts"][1:].tolist(), sums, strict=True):
            found._sums[exponent] = ExactSum(found.dimension, state)
        return found

    def components(
        self, count: int, background: CorpusStatistics | None = None, prior: float = 0.0
    ) -> Components:
        """Return the top directions: eigenvectors of the moment, sigma_k = sqrt(lambda_k).

        Parameters
        ----------
        count : int
            K. The result has fewer if d or the number of sentences is smaller. Directions with sigma_k at most 1e-6 of
            sigma_1 are left out, because they are rounding noise.
        background : CorpusStatistics, optional
            The pseudo-sentences of the background (docs/algorithm.md, section 7).
        prior : float
            How many pseudo-sentences are added.
        """
        moment, sentences = self.moment, self.sentences
        if background is not None and prior > 0:
            moment = moment + background.moment * (prior / background.sentences)
            sentences += background.sentences
        dimension = len(moment)
        count = min(count, dimension, sentences)
        if count == 0:
            return Components(np.zeros((0, dimension)), np.zeros(0), self.sentences)
        from gem_index.kernels.fits import symmetric_eigen

        values, vectors = symmetric_eigen(moment)
        order = np.argsort(-values, kind="stable")[:count]
        sigma = np.sqrt(np.maximum(values[order], 0.0))
        keep = sigma > _RANK_TOLERANCE * sigma[0]
        directions = vectors[order][keep]
        # GEM does not depend on the sign of a direction; a fixed sign makes stored components comparable.
        strongest = np.abs(directions).argmax(axis=1)
        signs = np.sign(directions[np.arange(len(directions)), strongest])
        return Components(directions * signs[:, None], sigma[keep], self.sentences)
