"""Immutable generations of a collection's index files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from gem_index.errors import CorruptionError
from gem_index.files import publish_directory, sha256_of_file
from gem_index.index.dense import DenseIndex

__all__ = ["FileTable", "Snapshot"]

FileTable: TypeAlias = Mapping[str, Mapping[str, str | int]]

_MAGIC = "gem-index snapshot"
_VERSION = 1
_META, _IDS, _INDEX = "snapshot.json", "ids.npy", "vectors.faiss"


class Snapshot:
    """One generation: the ids (``documents.seq``) of the vectors, ascending, and the index over them.

    Parameters
    ----------
    ids : int64 array (n,)
        Ascending.
    index : DenseIndex
        Position i holds the vector of ``ids[i]``.
    """

    def __init__(self, ids: npt.NDArray[np.int64], index: DenseIndex) -> None:
        self.ids = ids
        self.index = index

    @staticmethod
    def write(
        directory: Path,
        blocks: Iterable[tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]],
        dimension: int,
        fingerprint: str,
    ) -> dict[str, dict[str, str | int]]:
        """Write a new generation: wholly there when this returns, not at all when it raises.

        Parameters
        ----------
        directory : Path
            Its name; must not exist.
        blocks : iterable of (ids, vectors)
            b ids, ascending over all blocks, and their float32 vectors (b, dimension).
        dimension : int
        fingerprint : str
            Of the encoder that made the vectors.

        Returns
        -------
        dict
            Hash and size of each file, for :meth:`damage`.
        """
        ids: list[npt.NDArray[np.int64]] = [np.zeros(0, np.int64)]

        def vectors() -> Iterable[npt.NDArray[np.float32]]:
            for block_ids, block in blocks:
                ids.append(block_ids)
                yield block

        def fill(folder: Path) -> None:
            index = DenseIndex.build(dimension, vectors())
            index.write(folder / _INDEX)
            np.save(folder / _IDS, np.concatenate(ids))
            meta = {
                "magic": _MAGIC,
                "version": _VERSION,
                "kind": "flat",
                "vectors": len(index),
                "dimension": dimension,
                "fingerprint": fingerprint,
            }
            (folder / _META).write_text(json.dumps(meta, indent=1) + "\n")

        publish_directory(directory, fill)
        return {
            path.name: {"sha256": sha256_of_file(path), "bytes": path.stat().st_size}
            for path in sorted(directory.iterdir())
        }

    @classmethod
    def open(cls, directory: Path, files: FileTable) -> Snapshot:
        """Map a generation after a look at its files' sizes.

        Raises
        ------
        CorruptionError
            If it is not whole.
        """
        for name, expected in files.items():
            path = directory / name
            found = path.stat().st_size if path.is_file() else None
            if found != expected["bytes"]:
                raise CorruptionError(
                    f"{path} has {found} bytes; expected {expected['bytes']}: rebuild it with verify --fix"
                )
        try:
            meta = json.loads((directory / _META).read_text())
            if meta.get("magic") != _MAGIC or meta.get("version") != _VERSION:
                raise CorruptionError(f"{directory} is no {_MAGIC} of version {_VERSION}")
            ids = np.load(directory / _IDS, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError) as error:
            raise CorruptionError(f"{directory} cannot be read: {error}") from error
        index = DenseIndex.open(directory / _INDEX)
        if len(index) != len(ids):
            raise CorruptionError(f"{directory} holds {len(index)} vectors and {len(ids)} ids")
        return cls(ids, index)

    @staticmethod
    def damage(directory: Path, files: FileTable) -> list[str]:
        """Return a line for each file whose bytes are not those that were written."""
        lines = []
        for name, expected in files.items():
            path = directory / name
            if not path.is_file():
                lines.append(f"{name} is missing")
            elif sha256_of_file(path) != expected["sha256"]:
                lines.append(f"{name} is not what was written")
        return lines
