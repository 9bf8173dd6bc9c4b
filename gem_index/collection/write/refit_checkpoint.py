"""Save checkpoints of a refit on disk, from which the same refit resumes after the process was killed."""

from __future__ import annotations

import hashlib
import logging
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt

from gem_index.errors import CorruptionError, InputError
from gem_index.files.publishing import publish_directory
from gem_index.gem.combined import Encoder
from gem_index.index.checkpoint import Checkpoint
from gem_index.index.kinds import IndexKind
from gem_index.store.records import CollectionRecord

__all__ = ["RefitCheckpoint"]

_LOG = logging.getLogger(__name__)
_MODEL = "model.safetensors"


class RefitCheckpoint:
    """The progress of one refit: its fitted model, and checkpoints of its index.

    The progress is stored in a folder inside the collection's folder. The name of this folder depends on everything
    that determines the result of the refit. Progress is removed in two cases: a refit publishes an index, or a sweep
    (:mod:`gem_index.store.leftovers`) finds that the documents have changed.

    Parameters
    ----------
    folder : Path
        The collection's folder.
    record : CollectionRecord
        The row of the collection; its newest document and its change number identify the documents.
    seqs : int64 array (n,)
        The documents; the content of a seq never changes.
    encoder : Encoder
        The unfitted encoder: its vectors and configuration.
    """

    def __init__(
        self,
        folder: Path,
        record: CollectionRecord,
        seqs: npt.NDArray[np.int64],
        encoder: Encoder,
    ) -> None:
        key = hashlib.sha256()
        for part in encoder.encoders:
            key.update(f"{part.vectors.fingerprint} {part.config.to_json()} ".encode())
        key.update(record.cutting.encode())
        key.update(record.analysis.encode())
        key.update(seqs.astype("<i8").tobytes())
        name = f"{record.last_seq}-{record.last_change}-{key.hexdigest()[:32]}"
        self._folder = folder / "unfinished" / name

    def fitted(self, encoder: Encoder, fit: Callable[[], object]) -> Encoder:
        """Return the encoder that an interrupted refit has fitted; if there is none, call ``fit`` and return ``encoder``."""
        model = self._folder / "model" / _MODEL
        if model.exists():
            try:
                return encoder.reloaded(model)
            except (CorruptionError, InputError) as error:
                _LOG.warning("%s; fitting again", error)
                shutil.rmtree(self._folder)
        fit()
        try:
            publish_directory(model.parent, lambda folder: encoder.save(folder / _MODEL))
        except (OSError, InputError) as error:
            _LOG.info("no checkpoint of the fitted model was saved: %s", error)
        return encoder

    def checkpoint(self, kind: IndexKind) -> Checkpoint:
        """Return the checkpoints of the index."""
        return Checkpoint(self._folder / "index", kind)
