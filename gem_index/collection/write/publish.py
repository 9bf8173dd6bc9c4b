"""Publish a new snapshot of a collection: plan it from the rows, write it from the texts, switch in one transaction."""

from __future__ import annotations

import json
import logging
import shutil
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gem_index.arrays import F32
from gem_index.collection.state.access import CollectionAccess, CollectionRows
from gem_index.collection.state.piece_encoder import PieceEncoder, expected_pieces
from gem_index.collection.state.texts import CollectionTexts
from gem_index.collection.write.refit_checkpoint import RefitCheckpoint
from gem_index.errors import ConfigError
from gem_index.gem.combined import Encoder
from gem_index.index.dense import TRAINING_VECTORS, DenseIndex
from gem_index.index.kinds import IndexKind, resolve_kind
from gem_index.index.snapshot import FileTable, Snapshot, SnapshotInputs
from gem_index.progress import Progress
from gem_index.store.names import CollectionRepository, ModelRepository
from gem_index.store.records import CollectionRecord, ModelRecord, SnapshotRecord

__all__ = ["publish"]

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Plan:
    """A snapshot to write.

    Attributes
    ----------
    record : CollectionRecord
        The collection as of the transaction that the texts are read in.
    texts : CollectionTexts
    inputs : SnapshotInputs
    directory : Path
        The new snapshot's.
    old : tuple of Path and FileTable, optional
        A sound snapshot of the same encoder, whose vectors and words are copied, and its files.
    shards : sequence of Path
        Snapshots of all documents that were made elsewhere.
    """

    record: CollectionRecord
    texts: CollectionTexts
    inputs: SnapshotInputs
    directory: Path
    old: tuple[Path, FileTable] | None
    shards: Sequence[Path]


def publish(
    access: CollectionAccess,
    encoder: Encoder,
    model: ModelRecord | None = None,
    progress: Progress | None = None,
    *,
    reuse: bool = True,
    unfinished: RefitCheckpoint | None = None,
    shards: Sequence[Path] = (),
) -> None:
    """Encode a collection's texts into a new snapshot, then switch to it in one transaction.

    The old snapshot serves until the switch; documents written in the meantime are found in the tail.

    Parameters
    ----------
    access : CollectionAccess
        The caller holds the write lock of its home.
    encoder : Encoder
        What makes the vectors.
    model : ModelRecord, optional
        The stored form of a new encoder, fitted on the same texts.
    progress : callable, optional
    reuse : bool
        Copy vectors and words from the snapshot in use if the same encoder made it.
    unfinished : RefitCheckpoint, optional
        Resume from its checkpoints, and write new ones in case this process is killed.
    shards : sequence of Path
        Snapshots, made elsewhere, of all documents in their order.
    """
    started = time.monotonic()
    with access.reading() as rows:
        plan = _plan(access, rows, encoder, progress, reuse, unfinished, shards)
        kind, files = _write(plan)
    snapshot = SnapshotRecord(
        collection_id=access.id,
        directory=plan.directory.name,
        kind=kind.name,
        last_seq=plan.texts.last_seq,
        vectors=len(plan.texts),
        model_fingerprint=plan.inputs.fingerprint,
        files=json.dumps(files, sort_keys=True),
        seconds=time.monotonic() - started,
    )
    _switch(access, plan.record, snapshot, model)
    shutil.rmtree(access.folder / "unfinished", ignore_errors=True)
    access.workspace.sweep()  # the old snapshot; a reader that has it mapped keeps it


def _plan(
    access: CollectionAccess,
    rows: CollectionRows,
    encoder: Encoder,
    progress: Progress | None,
    reuse: bool,
    unfinished: RefitCheckpoint | None,
    shards: Sequence[Path],
) -> _Plan:
    """Decide what to write, of which texts, and what to copy."""
    texts = CollectionTexts(rows.documents)

    def report(stage: str, last: int) -> None:
        if progress is not None:
            progress(stage, texts.position(last), len(texts))

    def sample() -> F32:
        vectors, _ = pieces.rows(texts.sample(TRAINING_VECTORS))
        return vectors[:: -(-len(vectors) // TRAINING_VECTORS)]

    pieces = PieceEncoder(encoder, rows.record.cuts)
    vectors = expected_pieces(texts, rows.record.cuts)
    kind = resolve_kind(rows.record.index_kind, vectors, encoder.dimension)
    inputs = SnapshotInputs(
        kind=kind,
        dimension=encoder.dimension,
        fingerprint=pieces.fingerprint,
        texts=texts.blocks,
        encode=pieces.rows,
        parts=pieces.parts,
        empty=lambda kind: DenseIndex.empty(encoder.dimension, kind, sample),
        metadata=texts.metadata,
        report=report,
        checkpoint=None if unfinished is None else unfinished.checkpoint(kind),
    )
    old = _reusable(access.folder, rows.names.snapshot(access.id), inputs) if reuse else None
    directory = access.folder / uuid.uuid4().hex[:12]
    return _Plan(rows.record, texts, inputs, directory, old, shards)


def _reusable(
    folder: Path, row: SnapshotRecord | None, new: SnapshotInputs
) -> tuple[Path, FileTable] | None:
    """Return directory and files of the snapshot in use if it is sound and the same encoder made it, else None."""
    if row is None or row.model_fingerprint != new.fingerprint:
        return None
    directory, files = folder / row.directory, json.loads(row.files)
    damage = Snapshot.damage(directory, files)
    for line in damage:
        _LOG.warning("%s: %s; rebuilding the index from the texts", directory, line)
    return None if damage else (directory, files)


def _write(plan: _Plan) -> tuple[IndexKind, FileTable]:
    """Write the files; return the kind of their index and their hashes."""
    try:
        return plan.inputs.kind, _write_as(plan, plan.inputs)
    except ConfigError as error:
        # a kind that is trained needs more documents than a small collection has
        _LOG.warning("%s; a flat one serves until then", error)
        flat = resolve_kind("flat", 0, plan.inputs.dimension)
        return flat, _write_as(plan, replace(plan.inputs, kind=flat, checkpoint=None))


def _write_as(plan: _Plan, inputs: SnapshotInputs) -> FileTable:
    if plan.shards:
        return Snapshot.join(plan.directory, inputs, plan.shards, plan.texts.seqs)
    folder, files = plan.old or (None, None)
    old = None if folder is None else (folder, plan.texts.seqs)
    return Snapshot.write(plan.directory, inputs, old, files)


def _switch(
    access: CollectionAccess,
    planned: CollectionRecord,
    snapshot: SnapshotRecord,
    model: ModelRecord | None,
) -> None:
    """Commit the rows that name the new files, and the new model with them."""
    with access.workspace.database.writing() as connection:
        names, models = CollectionRepository(connection), ModelRepository(connection)
        if model is not None:
            model_id = models.add(model)
            names.use_model(access.id, model_id, snapshot.last_seq, snapshot.vectors)
            models.remove(planned.model_id)
        names.use_snapshot(snapshot)
        access.rows(connection).documents.forget_tombstones(planned.last_change)
