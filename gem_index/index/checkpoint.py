"""An index that is being made, kept on the disk from time to time, so that a killed process goes on from there."""

from __future__ import annotations

import json
import logging
import shutil
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from gem_index.errors import CorruptionError, GemIndexError
from gem_index.files import publish_directory, sha256_of_file
from gem_index.index.dense import DenseIndex
from gem_index.index.hits import Ids
from gem_index.index.kinds import IndexKind

__all__ = ["Checkpoint"]


_LOG = logging.getLogger(__name__)
_EVERY = 60.0  # seconds between two of them,
_SHARE = 20  # or so many times what the last one took, whichever is longer
_META, _IDS, _INDEX = "checkpoint.json", "ids.npy", "vectors.faiss"


class Checkpoint:
    """How far an index has come.

    Parameters
    ----------
    folder : Path
        Holds the checkpoints of one index and nothing else; created with the first of them. Whoever names it makes sure
        that the same documents, in the same order, are always behind the same name.
    kind : IndexKind
        Checkpoints of other kinds are not gone on from.
    """

    def __init__(self, folder: Path, kind: IndexKind) -> None:
        self._folder = folder
        self._kind = kind
        self._due = time.monotonic() + _EVERY

    def load(self) -> tuple[DenseIndex, Ids] | None:
        """Return the index and the ids of its documents, None where there is no sound one to go on from."""
        for path in sorted(self._folder.glob("[0-9]*"), reverse=True):
            try:
                meta = json.loads((path / _META).read_text())
                if meta["factory"] != self._kind.factory:
                    continue
                if any(sha256_of_file(path / name) != meta[name] for name in (_IDS, _INDEX)):
                    _LOG.warning("%s is not what was written; encoding from the beginning", path)
                    continue
                ids = np.load(path / _IDS, allow_pickle=False)
                return DenseIndex.read(path / _INDEX), ids
            except (OSError, ValueError, LookupError, TypeError, CorruptionError) as error:
                _LOG.warning("%s cannot be read (%s); encoding from the beginning", path, error)
        return None

    def keep(self, index: DenseIndex, ids: Sequence[Ids]) -> None:
        """Write the index as it is, if it is time to; a disk that refuses costs the checkpoint, not the index."""
        started = time.monotonic()
        if started < self._due:
            return

        def fill(folder: Path) -> None:
            index.write(folder / _INDEX)
            np.save(folder / _IDS, np.concatenate(ids))
            meta = {"factory": self._kind.factory} | {
                name: sha256_of_file(folder / name) for name in (_IDS, _INDEX)
            }
            (folder / _META).write_text(json.dumps(meta))

        path = self._folder / f"{len(index):012d}"
        try:
            publish_directory(path, fill)
            for other in self._folder.iterdir():
                if other != path and other.is_dir():
                    shutil.rmtree(other)
        except (OSError, GemIndexError) as error:
            _LOG.warning("no checkpoint was kept: %s", error)
        now = time.monotonic()
        self._due = now + max(_EVERY, _SHARE * (now - started))
