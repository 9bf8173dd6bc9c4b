"""Print the SHA-256 of what the kernels compute, for a process of each level."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gem_index.gem.components import CorpusStatistics
from gem_index.gem.config import GemConfig
from gem_index.gem.encoder import GemEncoder
from gem_index.kernels.fits import symmetric_eigen
from gem_index.kernels.library import level
from gem_index.kernels.near_pairs import TILE, join_near, merge_forest, sketch_sets
from gem_index.kernels.rows import score_rows, sum_rows


class Random:
    """Vectors of words ``w0`` to ``w299``: some zero, some copies, some sums of others with little noise."""

    fingerprint = "0" * 64

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension
        rng = np.random.default_rng(dimension)
        rows = rng.normal(size=(300, dimension))
        rows[::50] = 0.0
        rows[1::40] = rows[2]
        rows[3::30] = rows[4] + rows[5] + 1e-6 * rng.normal(size=rows[3::30].shape)
        self.rows = rows.astype(np.float32)

    def lookup(self, tokens: Sequence[str]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return the words' vectors; none is unknown."""
        return self.rows[[int(token[1:]) for token in tokens]], np.zeros(len(tokens), bool)


def results() -> Iterator[npt.NDArray[Any]]:
    """Iterate over arrays that every kernel of numbers has a part in."""
    rng = np.random.default_rng(5)
    lengths = [0, 1, 2, 3, 8, 25, 40, 129, 400] * 3
    texts = [" ".join(f"w{n}" for n in rng.integers(0, 300, length)) for length in lengths]
    for dimension in (3, 17, 64, 300):
        for config in (GemConfig.sts(), GemConfig.cqa(), GemConfig.trained(prior=0)):
            encoder = GemEncoder(Random(dimension), config).fit(texts)
            yield encoder.components.directions
            yield encoder.components.singular_values
            yield encoder.encode(texts)
        half = rng.normal(size=(dimension, dimension))
        yield from symmetric_eigen(half + half.T)  # @ would have the bits of the BLAS library
        statistics = CorpusStatistics(dimension)
        statistics.add(half, dimension)
        yield statistics.moment
        rows = (half * 1000).astype(np.int16)
        scores = np.empty(dimension, np.float32)
        score_rows(rows, np.arange(dimension)[::-1].copy(), half[0].astype(np.float32), scores)
        yield scores
        sums = np.zeros((3, dimension), np.float32)
        sum_rows(half.astype(np.float32), np.array([0, 2, 1, 1]), np.array([3, 0, 1]), sums)
        yield sums
    tiles = rng.normal(size=(2, 16, TILE)).astype(np.float32)
    vectors = np.ascontiguousarray(tiles.transpose(0, 2, 1).reshape(-1, 16))
    forest = np.arange(len(vectors), dtype=np.int32)
    begins = np.arange(0, 3 * len(vectors) + 1, 3)
    members = np.sort(rng.integers(0, 90, (len(vectors), 3)), axis=1).astype(np.int32).ravel()
    sets = members, begins, sketch_sets(members, begins)
    labels = np.zeros(len(vectors), np.int32)
    join_near(tiles, vectors, labels, 8.0, 0.0, sets, 0.2, 0, 2, forest)
    merge_forest(forest, np.arange(len(vectors), dtype=np.int32))
    yield forest


if __name__ == "__main__":
    digest = hashlib.sha256()
    for array in results():
        digest.update(array.tobytes())
    print(level, digest.hexdigest())  # noqa: T201 - a command
