"""The corpus: mergeable statistics of its coarse vectors, and its principal directions (docs/algorithm.md, section 3)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Self

import numpy as np

from gem_index.arrays import F64
from gem_index.errors import ConfigError

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
        Non-empty sentences that they were fitted on; 0 for background components.
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

        (Background components enter it by their recipe: two machines' linear algebra differs in the last bits.)
        """
        state = hashlib.sha256()
        for array in (self.directions, self.singular_values):
            state.update(np.ascontiguousarray(array, dtype="<f8").tobytes())
        return state.digest()


class CorpusStatistics:
    """X^c X^cT = sum over sentences of g g^T: all that a fit needs of a corpus, in O(d^2) memory.

    Statistics of parts add up to the statistics of the whole, so a fit streams, resumes and spreads over workers.

    Parameters
    ----------
    dimension : int
        d.

    Attributes
    ----------
    moment : float64 array (d, d)
    sentences : int
        Non-empty sentences summed.
    """

    def __init__(self, dimension: int) -> None:
        self.moment: F64 = np.zeros((dimension, dimension))
        self.sentences = 0

    def add(self, coarse: F64, sentences: int) -> None:
        """Add the coarse vectors (b, d) of a block with the given number of non-empty sentences."""
        self.moment += coarse.T @ coarse
        self.sentences += sentences

    def merge(self, other: CorpusStatistics) -> Self:
        """Add another part's statistics to these.

        Raises
        ------
        ConfigError
            If the dimensions differ.
        """
        if other.moment.shape != self.moment.shape:
            raise ConfigError(
                f"found statistics of {other.moment.shape[0]} dimensions; expected {self.moment.shape[0]}"
            )
        self.moment += other.moment
        self.sentences += other.sentences
        return self

    def components(
        self, count: int, background: CorpusStatistics | None = None, prior: float = 0.0
    ) -> Components:
        """Return the top directions: eigenvectors of the moment, sigma_k = sqrt(lambda_k).

        Parameters
        ----------
        count : int
            K. Fewer come back where d or the sentences are fewer, and directions that the corpus does not have
            (sigma_k at most 1e-6 of sigma_1) are left out: they would be rounding noise.
        background : CorpusStatistics, optional
            Pseudo-sentences that are mixed in (docs/algorithm.md, section 7).
        prior : float
            How many of them count.
        """
        moment, sentences = self.moment, self.sentences
        if background is not None and prior > 0:
            moment = moment + background.moment * (prior / background.sentences)
            sentences += background.sentences
        dimension = len(moment)
        count = min(count, dimension, sentences)
        if count == 0:
            return Components(np.zeros((0, dimension)), np.zeros(0), self.sentences)
        # imported here: it takes a tenth of a second, and a search does not need it
        import scipy.linalg

        values, vectors = scipy.linalg.eigh(
            moment, subset_by_index=(dimension - count, dimension - 1)
        )
        sigma = np.sqrt(np.maximum(values[::-1], 0.0))
        keep = sigma > _RANK_TOLERANCE * sigma[0]
        directions = np.ascontiguousarray(vectors[:, ::-1].T[keep])
        # GEM does not depend on the sign of a direction; a fixed sign makes stored components comparable.
        strongest = np.abs(directions).argmax(axis=1)
        signs = np.sign(directions[np.arange(len(directions)), strongest])
        return Components(directions * signs[:, None], sigma[keep], self.sentences)
