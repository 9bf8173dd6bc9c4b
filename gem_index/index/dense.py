"""Search the vectors with the largest inner products, by FAISS."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gem_index.common.arrays import F32, I64, Mask
from gem_index.errors import ConfigError, CorruptionError, DiskError
from gem_index.errors.quoting import quoted_error
from gem_index.index.hits import ROUNDING, best_of
from gem_index.index.kinds import IndexKind

__all__ = ["TRAINING_VECTORS", "DenseIndex", "faiss_threads", "load_faiss", "spread"]


TRAINING_VECTORS = 65_536
"""The largest number of vectors with which an index is trained."""

_PROBED_LISTS = 4  # a search reads one in 4 lists of an inverted file
_HNSW_BREADTH, _HNSW_BUILD_BREADTH = 512, 200  # efSearch and efConstruction of a graph
_QUERY_BITS = 4  # bits per number of a query that is compared with RaBitQ codes

_MARGIN = 1.5
"""To find k accepted positions, a search requests k / s positions times this factor; s is the share of accepted positions.

Accepted positions are not evenly distributed, so the factor is above 1.
"""

_import_process: int | None = None
"""The id of the process that imported FAISS: this process, or the process from which it was forked."""


class DenseIndex:
    """Inner-product search over the vectors at positions 0 … n-1.

    The index knows positions, not ids: the caller has an array with the id at each position. In a search, a mask
    excludes the positions of documents that are deleted or not accepted.

    After :meth:`open`, the index is read-only, because FAISS aborts the process if a mapped index is changed.

    Parameters
    ----------
    index : faiss.Index
        An inner-product index.
    """

    def __init__(self, index: Any) -> None:
        faiss = load_faiss()

        self._index = index
        self._inner = faiss.downcast_index(index)
        if isinstance(self._inner, faiss.IndexIVF):
            self._inner.nprobe = max(1, self._inner.nlist // _PROBED_LISTS)
        elif isinstance(self._inner, faiss.IndexHNSW):
            self._inner.hnsw.efSearch = _HNSW_BREADTH

    def __len__(self) -> int:
        return int(self._index.ntotal)

    @classmethod
    def empty(cls, dimension: int, kind: IndexKind, sample: Callable[[], F32]) -> DenseIndex:
        """Create an empty index, and train it if its kind needs training.

        Parameters
        ----------
        dimension : int
        kind : IndexKind
        sample : callable
            Returns vectors (s, dimension) for training. The function is called only if the kind needs training.

        Raises
        ------
        ConfigError
            If FAISS cannot make an index of this kind for these vectors.
        """
        faiss = load_faiss()

        try:
            index = faiss.index_factory(dimension, kind.factory, faiss.METRIC_INNER_PRODUCT)
            _prepare(index)
            if not index.is_trained:
                with faiss_threads():
                    index.train(sample())
        except RuntimeError as error:
            raise ConfigError(
                f"FAISS cannot make the index {kind.factory!r} of these documents ({_first_line(error)}); "
                "expected another kind of index, or auto"
            ) from error
        return cls(index)

    def add(self, vectors: F32) -> None:
        """Append vectors (b, dimension); not possible after :meth:`open`."""
        with faiss_threads():
            self._index.add(vectors)

    def keep(self, kept: Mask) -> bool:
        """Remove the vectors at positions where ``kept`` (n,) is False; the positions of later vectors become smaller.

        Returns
        -------
        bool
            Whether the vectors were removed. False if this kind of index cannot remove vectors, because it does not store
            them consecutively; then nothing is changed.
        """
        faiss = load_faiss()

        if not isinstance(self._inner, faiss.IndexFlatCodes):
            return False
        if not kept.all():
            bits = np.packbits(~kept, bitorder="little")
            self._index.remove_ids(faiss.IDSelectorBitmap(bits))
        return True

    @property
    def joinable(self) -> bool:
        """Whether :meth:`join` is possible: not for graphs, and not for indexes that refine another index's results."""
        faiss = load_faiss()

        codes = self._untransformed()
        joined = (faiss.IndexFlatCodes, faiss.IndexFastScan, faiss.IndexIVF)
        # false for RaBitQfs: FAISS 1.13 stores factors beside its codes, but merges only the codes
        return isinstance(codes, joined) and not hasattr(codes, "factors_storage")

    def join(self, other: DenseIndex) -> None:
        """Move the vectors of another index to the end of this index; both must be copies of the same trained index."""
        faiss = load_faiss()

        shift = len(self) if isinstance(self._untransformed(), faiss.IndexIVF) else 0
        self._index.merge_from(other._index, shift)

    def clear(self) -> None:
        """Remove all vectors; the index stays trained."""
        self._index.reset()

    def take(self, positions: npt.NDArray[np.int64]) -> F32:
        """Return the vectors (p, dimension) at the given positions of an exact index."""
        with faiss_threads():
            vectors: F32 = self._index.reconstruct_batch(positions)
        return vectors

    def inner_products(self, positions: npt.NDArray[np.int64], query: F32) -> F32:
        """Return the inner products (p,) of a query (dimension,) with the vectors at some positions; only if exact."""
        products: F32 = self.take(positions) @ query
        return products

    def write(self, path: Path) -> None:
        """Write the index to a file.

        Raises
        ------
        DiskError
            If the file cannot be written.
        """
        faiss = load_faiss()

        try:
            faiss.write_index(self._index, str(path))
        except RuntimeError as error:
            raise DiskError(f"cannot write the index {path.name}: {quoted_error(error)}") from error

    @classmethod
    def open(cls, path: Path) -> DenseIndex:
        """Map an index file for searching.

        Raises
        ------
        CorruptionError
            If the file is not an index.
        """
        return cls._read(path, load_faiss().IO_FLAG_MMAP_IFC)

    @classmethod
    def read(cls, path: Path) -> DenseIndex:
        """Read an index file into memory; this index can be changed. Errors are as from :meth:`open`."""
        return cls._read(path, 0)

    @classmethod
    def _read(cls, path: Path, flags: int) -> DenseIndex:
        faiss = load_faiss()

        try:
            return cls(faiss.read_index(str(path), flags))
        except RuntimeError as error:
            raise CorruptionError(f"{path} is not a readable index") from error

    def nearest(
        self, query: F32, k: int, accepted: Mask | None = None
    ) -> tuple[npt.NDArray[np.int64], F32]:
        """Return the k best positions, best first, with their inner products as the index computes them.

        In an exact index, positions with equal products are in ascending order.

        Parameters
        ----------
        query : float32 array (dimension,)
        k : int
            At least 1.
        accepted : bool array (n,), optional
            A mask of the positions that may be returned.

        Returns
        -------
        positions : int64 array (min(k, accepted positions),)
        scores : float32 array of the same length
        """
        most = len(self) if accepted is None else int(np.count_nonzero(accepted))
        k = min(k, most)
        if k == 0:
            return np.zeros(0, np.int64), np.zeros(0, np.float32)
        exact = isinstance(self._inner, load_faiss().IndexFlat)
        # request one more result, to see whether further results have the same product as the k-th
        asked = min(k + 1, most) if exact else k
        while True:
            positions, scores, filtered = self._search_once(query, asked, accepted)
            found = positions >= 0
            if accepted is not None and not filtered:
                found &= accepted[positions]
            positions, scores = positions[found], scores[found]
            if exact and len(positions) > k:
                least = scores[k - 1] - np.float32(ROUNDING)
                if scores[k] >= least:
                    positions, scores = self._reaching(query, least, accepted)
                return _best(positions, scores, k)
            positions, scores = positions[:k], scores[:k]
            # an approximate index may find fewer than k accepted positions; then request more, and at last all
            if len(positions) == k or asked >= len(self):
                return _best(positions, scores, k) if exact else (positions, scores)
            asked = min(len(self), max(4 * asked, int(_MARGIN * k * len(self) / most)))

    def _reaching(
        self, query: F32, least: np.float32, accepted: Mask | None
    ) -> tuple[npt.NDArray[np.int64], F32]:
        """Return all accepted positions with an inner product of at least ``least``; the index must be exact."""
        below = float(np.nextafter(least, np.float32(-np.inf)))
        with faiss_threads(1):
            _, scores, positions = self._index.range_search(query[np.newaxis], below)
        if accepted is not None:
            scores, positions = scores[accepted[positions]], positions[accepted[positions]]
        return positions, scores

    def _untransformed(self) -> Any:
        """Return the inner index if the index transforms vectors first (``IndexPreTransform``); else the index itself."""
        faiss = load_faiss()

        if isinstance(self._inner, faiss.IndexPreTransform):
            return faiss.downcast_index(self._inner.index)
        return self._inner

    def _search_once(
        self, query: F32, k: int, accepted: Mask | None
    ) -> tuple[npt.NDArray[np.int64], F32, bool]:
        """Return positions, scores, and whether the index itself has applied the mask."""
        faiss = load_faiss()

        # one thread: OpenMP cannot divide one query, and waiting threads double the cost
        with faiss_threads(1):
            if accepted is not None and not accepted.all():
                bits = np.packbits(accepted, bitorder="little")
                selector = faiss.IDSelectorBitmap(bits)
                try:
                    scores, positions = self._index.search(
                        query[np.newaxis], k, params=self._parameters(k, selector)
                    )
                except RuntimeError:
                    pass  # this kind does not support selectors
                else:
                    return positions[0], scores[0], True
            parameters = self._parameters(k, None)
            scores, positions = self._index.search(query[np.newaxis], k, params=parameters)
        return positions[0], scores[0], accepted is None or bool(accepted.all())

    def _parameters(self, k: int, selector: Any) -> Any:
        faiss = load_faiss()

        if isinstance(self._inner, faiss.IndexIVF):
            # a larger k probes more lists; a search for all vectors probes all lists
            probed = max(self._inner.nprobe, -(-self._inner.nlist * k // max(1, len(self))))
            kind = (
                faiss.IVFRaBitQSearchParameters
                if isinstance(self._inner, faiss.IndexIVFRaBitQ)
                else faiss.SearchParametersIVF
            )
            return kind(sel=selector, nprobe=min(probed, self._inner.nlist))
        if isinstance(self._inner, faiss.IndexHNSW):
            return faiss.SearchParametersHNSW(sel=selector, efSearch=max(_HNSW_BREADTH, 2 * k))
        if isinstance(self._inner, faiss.IndexRaBitQ):
            return faiss.RaBitQSearchParameters(sel=selector, qb=_QUERY_BITS)
        return None if selector is None else faiss.SearchParameters(sel=selector)


def _best(positions: I64, scores: F32, k: int) -> tuple[I64, F32]:
    """Return the k best positions with their scores, best first; positions with equal scores ascend."""
    best = best_of(list(zip(positions.tolist(), scores.tolist(), strict=True)), k)
    return np.array([place for place, _ in best], np.int64), np.array(
        [s for _, s in best], np.float32
    )


def spread(items: npt.NDArray[np.int64], most: int) -> npt.NDArray[np.int64]:
    """Return at most ``most`` of the items, at even intervals."""
    return items[np.linspace(0, len(items) - 1, min(most, len(items)), dtype=np.int64)]


def load_faiss() -> Any:
    """Return the module FAISS, imported on first use; typed as Any, because FAISS's stubs lack the constructors."""
    global _import_process
    import faiss

    _import_process = _import_process or os.getpid()
    return faiss


def _prepare(index: Any) -> None:
    """Set those parameters of an index that have bad defaults in FAISS."""
    faiss = load_faiss()

    inner = faiss.downcast_index(index)
    if isinstance(inner, faiss.IndexPreTransform):
        inner = faiss.downcast_index(inner.index)
    if isinstance(inner, faiss.IndexHNSW):
        inner.hnsw.efConstruction = _HNSW_BUILD_BREADTH
    elif isinstance(inner, faiss.IndexPQFastScan):
        inner.pq.cp.min_points_per_centroid = 1  # otherwise FAISS warns of small collections


def _first_line(error: Exception) -> str:
    """Return the reason from a FAISS error, without the line of FAISS's source code."""
    return quoted_error(RuntimeError(str(error).strip().splitlines()[-1].split("failed: ")[-1]))


@contextmanager
def faiss_threads(count: int | None = None) -> Iterator[None]:
    """Limit the threads that FAISS uses for the calling thread; the default in a forked process is one.

    A forked process does not have OpenMP's threads, and would wait for them forever.
    """
    faiss = load_faiss()

    before = faiss.omp_get_max_threads()
    if count is None:
        count = before if _import_process == os.getpid() else 1
    faiss.omp_set_num_threads(count)  # for the calling thread only
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)
