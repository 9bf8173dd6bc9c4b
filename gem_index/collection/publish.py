"""Making a new snapshot of a collection from its texts and switching to it."""

from __future__ import annotations

import json
import logging
import shutil
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from gem_index.gem.encoder import GemEncoder
from gem_index.index.snapshot import Snapshot
from gem_index.store.documents import DocumentRepository
from gem_index.store.names import CollectionRepository, ModelRepository
from gem_index.store.records import ModelRecord, SnapshotRecord
from gem_index.workspace import Workspace

__all__ = ["Progress", "publish", "remove_unused_directories"]

Progress = Callable[[str, int, int], None]
"""Called with the name of a stage, what is done of it, and the whole."""

_LOG = logging.getLogger(__name__)
_BLOCK = 4096


def publish(
    workspace: Workspace,
    collection_id: int,
    encoder: GemEncoder,
    model: ModelRecord | None = None,
    progress: Progress | None = None,
) -> None:
    """Encode a collection's texts into a new snapshot, then switch to it in one transaction.

    The old snapshot serves until the switch; what is written meanwhile is found in the tail after it.

    Parameters
    ----------
    workspace : Workspace
        Locked for writing by the caller.
    collection_id : int
    encoder : GemEncoder
        What makes the vectors.
    model : ModelRecord, optional
        The encoder as it is stored, where it is a new one, fitted on the same texts.
    progress : callable, optional
    """
    started = time.monotonic()
    folder = workspace.collection_folder(collection_id)
    with workspace.database.reading() as connection:
        documents = DocumentRepository(connection, collection_id)
        total = documents.count()
        _, last_change = documents.tombstones_after(0)
        last_seq = 0

        def blocks() -> Iterator[tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]]:
            nonlocal last_seq
            done = 0
            for rows in _in_blocks(documents.texts_after(0)):
                ids = np.array([seq for seq, _ in rows], dtype=np.int64)
                last_seq = int(ids[-1])
                done += len(ids)
                yield ids, encoder.encode([text for _, text in rows])
                if progress is not None:
                    progress("encode", done, total)

        directory = folder / uuid.uuid4().hex[:12]
        files = Snapshot.write(directory, blocks(), encoder.dimension, encoder.fingerprint)
    with workspace.database.writing() as connection:
        names, models = CollectionRepository(connection), ModelRepository(connection)
        if model is not None:
            old = next(c.model_id for c in names.all() if c.id == collection_id)
            names.use_model(collection_id, models.add(model), last_seq, total)
            models.remove(old)
        names.use_snapshot(
            SnapshotRecord(
                collection_id=collection_id,
                directory=directory.name,
                last_seq=last_seq,
                vectors=total,
                model_fingerprint=encoder.fingerprint,
                files=json.dumps(files, sort_keys=True),
                seconds=time.monotonic() - started,
            )
        )
        DocumentRepository(connection, collection_id).forget_tombstones(last_change)
    remove_unused_directories(folder, keep=directory.name)


def remove_unused_directories(folder: Path, keep: str | None) -> None:
    """Remove every generation in a collection's folder but the one that its row names.

    The caller holds the write lock, so that none of them is being written. A reader that has one mapped keeps it.
    """
    if not folder.is_dir():
        return
    for child in folder.iterdir():
        if child.name != keep:
            _LOG.debug("removing %s", child)
            shutil.rmtree(child)


def _in_blocks(rows: Iterator[tuple[int, str]]) -> Iterator[list[tuple[int, str]]]:
    block: list[tuple[int, str]] = []
    for row in rows:
        block.append(row)
        if len(block) == _BLOCK:
            yield block
            block = []
    if block:
        yield block
