"""Compute the places of texts on a plane, with similar texts near each other."""

from __future__ import annotations

from typing import Any

import numpy as np

from gem_index.common.arrays import F32, F64
from gem_index.common.settings import load_settings
from gem_index.errors import MissingExtraError
from gem_index.index.neighbors import nearest_neighbors
from gem_index.progress import Progress

__all__ = ["load_tsne", "place_texts"]

_PERPLEXITY = 30
_EARLY, _LATE = 250, 500  # iterations: the defaults of van der Maaten and of openTSNE
_INTERPOLATED = 10_000  # points; from this number on, forces are interpolated on a grid (FIt-SNE)
_STEP = 10  # iterations between two reports
_FEWEST = 8  # texts; with fewer, neighbourhoods have no meaning


def load_tsne() -> Any:
    """Return the module openTSNE.

    Raises
    ------
    MissingExtraError
        If openTSNE is not installed.
    """
    try:
        import openTSNE  # type: ignore[import-untyped, unused-ignore]
    except ImportError as error:
        raise MissingExtraError("maps of collections", "map") from error
    return openTSNE


def place_texts(vectors: F32, show: Progress | None) -> F64:
    """Return the position (n, 2) of each distinct text, from 0 to 1, by t-SNE on nearest neighbours."""
    count = len(vectors)
    if count < _FEWEST:  # too few for neighbourhoods: the texts are placed on a line
        return np.column_stack([np.linspace(0.2, 0.8, count), np.full(count, 0.5)])
    found = _embedded(vectors, show)
    low, high = found.min(axis=0), found.max(axis=0)
    size = max(float((high - low).max()), 1e-12)
    places: F64 = 0.5 + (found - (low + high) / 2) / size
    return places


def _embedded(vectors: F32, show: Progress | None) -> F64:
    library, threads = load_tsne(), load_settings().threads
    perplexity = min(_PERPLEXITY, (len(vectors) - 1) / 3)
    positions, cosines = nearest_neighbors(vectors, int(3 * perplexity))
    distances = np.sqrt(np.maximum(0, 2 - 2 * cosines.astype(np.float64)))
    affinities = library.affinity.PerplexityBasedNN(
        knn_index=library.nearest_neighbors.PrecomputedNeighbors(positions, distances),
        perplexity=perplexity,
        n_jobs=threads,
        random_state=0,
    )
    done = 0

    def report(iteration: int, _error: float, _places: Any) -> None:
        if show is not None:
            show("place", done + iteration, _EARLY + _LATE)

    embedding = library.TSNEEmbedding(
        _principal(vectors) * 1e-4,  # the start: principal components, no random numbers
        affinities,
        negative_gradient_method="bh" if len(vectors) < _INTERPOLATED else "fft",
        n_jobs=threads,
        random_state=0,
        callbacks=report,
        callbacks_every_iters=_STEP,
    )
    embedding = embedding.optimize(_EARLY, exaggeration=12, momentum=0.5)
    done = _EARLY
    embedding = embedding.optimize(_LATE, momentum=0.8)
    return np.asarray(embedding, dtype=np.float64)


def _principal(vectors: F32) -> F64:
    """Return the first two principal components (n, 2); the first has a standard deviation of 1."""
    centred: F32 = vectors - vectors.mean(axis=0)
    directions: F32 = np.linalg.eigh(centred.T @ centred)[1][:, :-3:-1]
    signs = np.sign(directions[np.abs(directions).argmax(axis=0), np.arange(2)])
    parts: F64 = (centred @ (directions * signs)).astype(np.float64)
    parts /= max(float(parts[:, 0].std()), 1e-12)
    return parts
