"""Exact inner-product search over positions, by FAISS."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gem_index.errors import CorruptionError, GemIndexError

__all__ = ["DenseIndex"]

F32 = npt.NDArray[np.float32]


class DenseIndex:
    """Vectors in positions 0 … n-1 and their nearest by inner product.

    Positions rather than ids: the caller keeps the ids in an array beside the index, and a deleted or filtered document
    is a zero in a bit map. Read-only once opened (FAISS aborts the process when a mapped index is changed).

    Parameters
    ----------
    index : faiss.Index
        An inner-product index.
    """

    def __init__(self, index: Any) -> None:
        self._index = index

    def __len__(self) -> int:
        return int(self._index.ntotal)

    @classmethod
    def build(cls, dimension: int, blocks: Iterable[F32]) -> DenseIndex:
        """Make a flat index of blocks of vectors (b, dimension)."""
        import faiss

        index = faiss.IndexFlatIP(dimension)
        for block in blocks:
            index.add(block)
        return cls(index)

    def write(self, path: Path) -> None:
        """Write the index to a file.

        Raises
        ------
        GemIndexError
            If the disk refuses.
        """
        import faiss

        try:
            faiss.write_index(self._index, str(path))
        except RuntimeError as error:
            raise GemIndexError(f"cannot write the index {path.name}: {error}") from error

    @classmethod
    def open(cls, path: Path) -> DenseIndex:
        """Map an index file.

        Raises
        ------
        CorruptionError
            If it is not an index.
        """
        import faiss

        try:
            return cls(faiss.read_index(str(path), faiss.IO_FLAG_MMAP_IFC))
        except RuntimeError as error:
            raise CorruptionError(f"{path} is not a readable index") from error

    def search(
        self, query: F32, k: int, accepted: npt.NDArray[np.bool_] | None = None
    ) -> tuple[npt.NDArray[np.int64], F32]:
        """Return the k best positions and their inner products, best first.

        Parameters
        ----------
        query : float32 array (dimension,)
        k : int
            At least 1.
        accepted : bool array (n,), optional
            False where a position must not be returned.

        Returns
        -------
        positions : int64 array (min(k, accepted positions),)
        scores : float32 array of the same length
        """
        import faiss

        parameters = None
        if accepted is not None:
            bits = np.packbits(accepted, bitorder="little")
            parameters = faiss.SearchParameters(sel=faiss.IDSelectorBitmap(bits))  # type: ignore[call-arg,arg-type] # the stubs know the C++ class, not its Python constructor
        k = max(1, min(k, len(self)))
        with _one_thread():
            scores, positions = self._index.search(query[np.newaxis], k, params=parameters)
        found = positions[0] >= 0
        return positions[0][found], scores[0][found]


@contextmanager
def _one_thread() -> Iterator[None]:
    """Keep FAISS to the calling thread: OpenMP cannot share out one query, and its waiting costs as much again."""
    import faiss

    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)  # of this thread alone
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)
