"""Compute from words the statistics of sentences that a fit adds up."""

from __future__ import annotations

import numpy as np

from gem_index.common.arrays import I64
from gem_index.gem.batches import TokenBatch
from gem_index.gem.components import CorpusStatistics
from gem_index.vectors.base import VectorSource

__all__ = ["fit_parts", "summarise_batch"]

_BLOCK = 1024  # sentences per block of coarse vectors


def fit_parts(offsets: I64, words: int) -> I64:
    """Return the beginnings of the parts in which a fit reads texts (docs/algorithm.md, section 3).

    Parameters
    ----------
    offsets : int64 array (texts + 1,)
        Where each text begins.
    words : int
        The largest number of words of a part. A text with more than 1.2 times this number is divided into equal parts, so
        that the cost of a fit is proportional to the number of words. 0 for whole texts.

    Returns
    -------
    int64 array (parts + 1,)
    """
    if words == 0:
        return offsets
    lengths = np.diff(offsets)
    counts = np.where(5 * lengths > 6 * words, -(-lengths // words), 1)
    owners = np.repeat(np.arange(len(lengths)), counts)
    places = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)
    begins = offsets[owners] + lengths[owners] * places // counts[owners]
    return np.append(begins, offsets[-1])


def summarise_batch(
    vectors: VectorSource, batch: TokenBatch, power: float, words: int = 0
) -> CorpusStatistics:
    """Return the statistics of texts, divided into parts of at most ``words`` words; 0 for whole texts."""
    from gem_index.kernels.fits import coarse_vectors

    statistics = CorpusStatistics(vectors.dimension)
    rows = vectors.lookup(batch.words)[0].astype(np.float32, copy=False)
    offsets = fit_parts(batch.offsets, words)
    for begin in range(0, len(offsets) - 1, _BLOCK):
        part = offsets[begin : begin + _BLOCK + 1]
        coarse = np.empty((len(part) - 1, vectors.dimension))
        coarse_vectors(batch.ids, part, rows, power, coarse)
        statistics.add(coarse, 0)
    statistics.sentences = batch.filled
    return statistics
