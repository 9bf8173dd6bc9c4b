"""Save an unfinished index from time to time; an interrupted build resumes from the last checkpoint."""

from __future__ import annotations

import json
import logging
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gem_index.common.arrays import F32, I64
from gem_index.errors import CorruptionError, GemIndexError
from gem_index.files.inputs import sha256_of_file
from gem_index.files.npy import map_array
from gem_index.files.publishing import publish_directory
from gem_index.index.dense import DenseIndex
from gem_index.index.hits import Ids
from gem_index.index.kinds import IndexKind
from gem_index.index.rows import RowsWriter, rows_digest

__all__ = ["Built", "Checkpoint"]


_LOG = logging.getLogger(__name__)
_EVERY = 60.0  # minimum seconds between two checkpoints
# minimum pause between two checkpoints, as a multiple of the time that the last checkpoint took
_SHARE = 20
_META, _IDS, _COUNTS, _INDEX = "checkpoint.json", "ids.npy", "pieces.npy", "vectors.faiss"
_FILES = (_IDS, _COUNTS, _INDEX)


@dataclass(frozen=True)
class Built:
    """An unfinished index.

    Attributes
    ----------
    index : DenseIndex
        The vectors of the documents' pieces.
    ids : int64 array (n,)
        The documents, ascending.
    counts : int64 array (n,)
        The number of pieces of each document.
    rows : RowsWriter, optional
        The writer of the exact vectors beside an approximate index.
    """

    index: DenseIndex
    ids: Ids
    counts: I64
    rows: RowsWriter | None

    def add(self, vectors: F32) -> None:
        """Append vectors (b, dimension)."""
        self.index.add(vectors)
        if self.rows is not None:
            self.rows.append(vectors)


class Checkpoint:
    """The saved progress of building one index.

    Parameters
    ----------
    folder : Path
        The folder for the checkpoints of this index, which the first checkpoint creates. The caller must never use the
        same folder for other documents, or for another order of the documents.
    kind : IndexKind
        Checkpoints of other kinds are ignored.
    """

    def __init__(self, folder: Path, kind: IndexKind) -> None:
        self._folder = folder
        self._kind = kind
        self._rows = folder / "vectors.i16"
        self._due = time.monotonic() + _EVERY

    def begin(self, index: DenseIndex, dimension: int) -> Built:
        """Return an unfinished index without documents; :meth:`keep` saves its progress."""
        none = np.zeros(0, np.int64)
        rows = None if self._kind.exact else RowsWriter(self._rows, dimension)
        return Built(index, none, none, rows)

    def load(self, dimension: int) -> Built | None:
        """Return the saved unfinished index; None if there is no valid checkpoint."""
        for path in sorted(self._folder.glob("[0-9]*"), reverse=True):
            try:
                meta = json.loads((path / _META).read_text())
                if meta["factory"] != self._kind.factory:
                    continue
                if any(sha256_of_file(path / name) != meta[name] for name in _FILES):
                    _LOG.warning("%s is not what was written; encoding from the beginning", path)
                    continue
                ids, counts = (np.array(map_array(path / name)) for name in (_IDS, _COUNTS))
                index, rows = DenseIndex.read(path / _INDEX), None
                if not self._kind.exact:
                    if rows_digest(self._rows, len(index), dimension) != meta["rows"]:
                        _LOG.warning("%s is not what was written; encoding again", self._rows)
                        continue
                    rows = RowsWriter(self._rows, dimension, len(index))
                return Built(index, ids, counts, rows)
            except (OSError, ValueError, LookupError, TypeError, CorruptionError) as error:
                _LOG.warning("%s cannot be read (%s); encoding from the beginning", path, error)
        return None

    def keep(self, built: Built, ids: Sequence[Ids], counts: Sequence[I64]) -> None:
        """If a checkpoint is due, save the unfinished index with the ids and piece counts; a disk error is only logged."""
        started = time.monotonic()
        if started < self._due:
            return

        def fill(folder: Path) -> None:
            built.index.write(folder / _INDEX)
            np.save(folder / _IDS, np.concatenate(ids))
            np.save(folder / _COUNTS, np.concatenate(counts))
            meta = {"factory": self._kind.factory} | {
                name: sha256_of_file(folder / name) for name in _FILES
            }
            if built.rows is not None:
                meta["rows"] = built.rows.sync()
            (folder / _META).write_text(json.dumps(meta))

        path = self._folder / f"{len(built.index):012d}"
        try:
            publish_directory(path, fill)
            for other in self._folder.iterdir():
                if other != path and other.is_dir():
                    shutil.rmtree(other)
        except (OSError, GemIndexError) as error:
            _LOG.warning("no checkpoint was kept: %s", error)
        now = time.monotonic()
        self._due = now + max(_EVERY, _SHARE * (now - started))
