"""Making a new snapshot of a collection from its texts and switching to it."""

from __future__ import annotations

import json
import logging
import shutil
import time
import uuid
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt

from gem_index.collection.refit_checkpoint import RefitCheckpoint
from gem_index.errors import ConfigError
from gem_index.gem.combined import Encoder
from gem_index.index.dense import TRAINING_VECTORS, spread
from gem_index.index.kinds import resolve_kind
from gem_index.index.snapshot import Snapshot, SnapshotInputs
from gem_index.progress import Progress
from gem_index.store.documents import DocumentRepository
from gem_index.store.names import CollectionRepository, ModelRepository
from gem_index.store.records import ModelRecord, SnapshotRecord
from gem_index.store.workspace import Workspace

__all__ = ["publish"]

_LOG = logging.getLogger(__name__)
_BLOCK = 4096


def publish(
    workspace: Workspace,
    collection_id: int,
    encoder: Encoder,
    model: ModelRecord | None = None,
    progress: Progress | None = None,
    *,
    afresh: bool = False,
    unfinished: RefitCheckpoint | None = None,
) -> None:
    """Encode a collection's texts into a new snapshot, then switch to it in one transaction.

    The old snapshot serves until the switch; what is written meanwhile is found in the tail after it.

    Parameters
    ----------
    workspace : Workspace
        Locked for writing by the caller.
    collection_id : int
    encoder : Encoder
        What makes the vectors.
    model : ModelRecord, optional
        The encoder as it is stored, where it is a new one, fitted on the same texts.
    progress : callable, optional
    afresh : bool
        Take nothing over from the snapshot in use.
    unfinished : RefitCheckpoint, optional
        Where to go on from, and to leave what is done, in case this process is killed.
    """
    started = time.monotonic()
    folder = workspace.collection_folder(collection_id)
    with workspace.database.reading() as connection:
        names = CollectionRepository(connection)
        documents = DocumentRepository(connection, collection_id)
        seqs = documents.seqs()
        record = names.get(collection_id)

        def report(stage: str, last: int) -> None:
            if progress is not None:
                progress(stage, int(np.searchsorted(seqs, last, "right")), len(seqs))

        def sample() -> npt.NDArray[np.float32]:
            found = documents.by_seq(spread(seqs, TRAINING_VECTORS).tolist())
            return encoder.encode([found[seq].text for seq in sorted(found)])

        kind = resolve_kind(record.index_kind, len(seqs))
        generation = SnapshotInputs(
            kind=kind,
            dimension=encoder.dimension,
            fingerprint=encoder.fingerprint,
            texts=lambda after: _in_blocks(documents.texts_after(after)),
            encode=encoder.encode,
            sample=sample,
            report=report,
            checkpoint=None if unfinished is None else unfinished.checkpoint(kind),
        )
        old = None if afresh else _reusable(folder, names.snapshot(collection_id), generation)
        directory = folder / uuid.uuid4().hex[:12]
        try:
            files = Snapshot.write(directory, generation, None if old is None else (old, seqs))
        except ConfigError as error:
            # a kind that learns needs more documents than a young collection has
            _LOG.warning("%s; a flat one serves until then", error)
            flat = resolve_kind("flat", len(seqs))
            generation = replace(generation, kind=flat, checkpoint=None)
            files = Snapshot.write(directory, generation)
    with workspace.database.writing() as connection:
        names, models = CollectionRepository(connection), ModelRepository(connection)
        last_seq = int(seqs[-1]) if len(seqs) else 0
        if model is not None:
            names.use_model(collection_id, models.add(model), last_seq, len(seqs))
            models.remove(record.model_id)
        names.use_snapshot(
            SnapshotRecord(
                collection_id=collection_id,
                directory=directory.name,
                kind=generation.kind.name,
                last_seq=last_seq,
                vectors=len(seqs),
                model_fingerprint=encoder.fingerprint,
                files=json.dumps(files, sort_keys=True),
                seconds=time.monotonic() - started,
            )
        )
        DocumentRepository(connection, collection_id).forget_tombstones(record.last_change)
    shutil.rmtree(folder / "unfinished", ignore_errors=True)
    workspace.sweep()  # the old snapshot; a reader that has it mapped keeps it


def _reusable(folder: Path, row: SnapshotRecord | None, new: SnapshotInputs) -> Path | None:
    """Return the directory of the snapshot in use, where its vectors are those that the new one would compute."""
    if row is None or row.model_fingerprint != new.fingerprint:
        return None
    directory = folder / row.directory
    damage = Snapshot.damage(directory, json.loads(row.files))
    for line in damage:
        _LOG.warning("%s: %s; rebuilding the index from the texts", directory, line)
    return None if damage else directory


def _in_blocks(
    rows: Iterator[tuple[int, str]],
) -> Iterator[tuple[npt.NDArray[np.int64], list[str]]]:
    while block := list(islice(rows, _BLOCK)):
        yield np.array([seq for seq, _ in block], dtype=np.int64), [text for _, text in block]
