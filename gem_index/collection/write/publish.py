"""Publish a new snapshot of a collection: plan the snapshot, write its files, and switch to it in one transaction."""

from __future__ import annotations

import json
import logging
import shutil
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gem_index.collection.state.access import CollectionAccess, CollectionRows
from gem_index.collection.state.piece_encoder import PieceEncoder, expected_pieces
from gem_index.collection.state.texts import CollectionTexts
from gem_index.collection.write.refit_checkpoint import RefitCheckpoint
from gem_index.common.arrays import F32, I64
from gem_index.errors import ConfigError
from gem_index.gem.combined import Encoder
from gem_index.index.dense import TRAINING_VECTORS, DenseIndex
from gem_index.index.kinds import IndexKind, resolve_kind
from gem_index.index.snapshot import FileTable, Snapshot
from gem_index.index.snapshot_writing import Blocks, NewSnapshot, join_snapshots, write_snapshot
from gem_index.progress import Progress
from gem_index.store.names import ModelRepository
from gem_index.store.records import CollectionRecord, ModelRecord, SnapshotRecord, TextSettings

__all__ = ["AS_STORED", "publish", "publish_in"]

AS_STORED: TextSettings = {}
"""No other settings than the stored ones."""

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class _StoredTexts:
    """The :class:`SnapshotSource` of a snapshot: the texts of a collection in one transaction, and their encoder."""

    stored: CollectionTexts
    pieces: PieceEncoder
    progress: Progress | None

    def texts(self, after: int) -> Blocks:
        return self.stored.blocks(after)

    def metadata(self, after: int) -> Blocks:
        return self.stored.metadata(after)

    def parts(self, texts: Sequence[str]) -> tuple[Sequence[str], I64]:
        return self.pieces.parts(texts)

    def rows(self, texts: Sequence[str]) -> tuple[F32, I64]:
        return self.pieces.rows(texts)

    def empty(self, kind: IndexKind) -> DenseIndex:
        return DenseIndex.empty(self.pieces.encoder.dimension, kind, self._sample)

    def report(self, stage: str, last: int) -> None:
        if self.progress is not None:
            self.progress(stage, self.stored.position(last), len(self.stored))

    def _sample(self) -> F32:
        vectors, _ = self.rows(self.stored.sample(TRAINING_VECTORS))
        return vectors[:: -(-len(vectors) // TRAINING_VECTORS)]


@dataclass(frozen=True)
class _Plan:
    """A snapshot to write.

    Attributes
    ----------
    record : CollectionRecord
        The row of the collection, from the transaction that reads the texts.
    texts : CollectionTexts
    new : NewSnapshot
    directory : Path
        The directory of the new snapshot.
    old : tuple of Path and FileTable, optional
        The directory and files of an undamaged snapshot of the same encoder, whose vectors and words are copied.
    shards : sequence of Path
        Snapshots that other machines built; together they have all documents.
    """

    record: CollectionRecord
    texts: CollectionTexts
    new: NewSnapshot
    directory: Path
    old: tuple[Path, FileTable] | None
    shards: Sequence[Path]


def publish(
    access: CollectionAccess,
    encoder: Encoder,
    model: ModelRecord | None = None,
    progress: Progress | None = None,
    *,
    settings: TextSettings = AS_STORED,
    reuse: bool = True,
    unfinished: RefitCheckpoint | None = None,
    shards: Sequence[Path] = (),
) -> None:
    """Encode a collection's texts into a new snapshot, then switch to it in one transaction.

    Searches use the old snapshot until the switch. Documents that are written before the switch are in the tail.

    Parameters
    ----------
    access : CollectionAccess
        The caller holds the write lock of its home.
    encoder : Encoder
        The encoder of the pieces.
    model : ModelRecord, optional
        The stored form of a new encoder, which was fitted on the same texts.
    progress : callable, optional
    settings : TextSettings
        Other settings than the stored ones; they are stored with the switch.
    reuse : bool
        Copy vectors and words from the snapshot in use if the same encoder made it.
    unfinished : RefitCheckpoint, optional
        Resume from the checkpoints of this refit, and write new checkpoints, so a killed process does not lose the work.
    shards : sequence of Path
        Snapshots that other machines built; together they have all documents, in their order.
    """
    with access.reading() as rows:
        chosen = rows.with_text_settings(settings)
        plan = _plan(access, chosen, encoder, progress, reuse, unfinished, shards)
        snapshot = _write(access, plan)
    with access.writing_rows() as rows:
        if settings:
            rows.names.use_text_settings(access.id, settings)
        if model is not None:
            models = ModelRepository(rows.connection)
            model_id = models.add(model)
            rows.names.use_model(access.id, model_id, snapshot.last_seq, snapshot.vectors)
            models.remove(plan.record.model_id)
        _use(rows, plan, snapshot)
    shutil.rmtree(access.folder / "unfinished", ignore_errors=True)
    access.workspace.sweep()  # removes the old snapshot; readers that have mapped the old files can still use them


def publish_in(
    access: CollectionAccess,
    rows: CollectionRows,
    encoder: Encoder,
    progress: Progress | None = None,
) -> None:
    """Encode the new texts of a transaction into a new snapshot; readers see it after the transaction is committed.

    If the transaction is rolled back, no row of the database refers to the files, and the next sweep removes them.

    Parameters
    ----------
    access : CollectionAccess
        The caller holds the write lock of its home.
    rows : CollectionRows
        The rows in the transaction that has written the texts.
    encoder : Encoder
        The encoder of the collection's model.
    progress : callable, optional
    """
    plan = _plan(access, rows, encoder, progress, True, None, ())
    _use(rows, plan, _write(access, plan))


def _use(rows: CollectionRows, plan: _Plan, snapshot: SnapshotRecord) -> None:
    """Switch the collection to new files."""
    rows.names.use_snapshot(snapshot)
    rows.documents.forget_tombstones(plan.record.last_change)


def _plan(
    access: CollectionAccess,
    rows: CollectionRows,
    encoder: Encoder,
    progress: Progress | None,
    reuse: bool,
    unfinished: RefitCheckpoint | None,
    shards: Sequence[Path],
) -> _Plan:
    """Return the plan: which texts are encoded, and which files are copied."""
    texts = CollectionTexts(rows.documents)
    pieces = PieceEncoder(encoder, rows.record.chunking, rows.record.analyzer)
    vectors = expected_pieces(texts, rows.record.chunking)
    kind = resolve_kind(rows.record.index_kind, vectors, encoder.dimension)
    new = NewSnapshot(
        kind,
        encoder.dimension,
        pieces.fingerprint,
        pieces.analyzer,
        _StoredTexts(texts, pieces, progress),
        None if unfinished is None else unfinished.checkpoint(kind),
    )
    old = _reusable(access.folder, rows.names.snapshot(access.id), new) if reuse else None
    directory = access.folder / uuid.uuid4().hex[:12]
    return _Plan(rows.record, texts, new, directory, old, shards)


def _reusable(
    folder: Path, row: SnapshotRecord | None, new: NewSnapshot
) -> tuple[Path, FileTable] | None:
    """Return directory and files of the present snapshot; None if it is damaged or another encoder made it."""
    if row is None or row.model_fingerprint != new.fingerprint:
        return None
    directory, files = folder / row.directory, json.loads(row.files)
    damage = Snapshot.damage(directory, files)
    for line in damage:
        _LOG.warning("%s: %s; rebuilding the index from the texts", directory, line)
    return None if damage else (directory, files)


def _write(access: CollectionAccess, plan: _Plan) -> SnapshotRecord:
    """Write the files of a snapshot; return the row that names them."""
    started = time.monotonic()
    kind = plan.new.kind
    try:
        files = _write_as(plan, plan.new)
    except ConfigError as error:
        # too few documents to train this kind of index
        _LOG.warning("%s; using a flat index until it has enough documents", error)
        kind = resolve_kind("flat", 0, plan.new.dimension)
        files = _write_as(plan, replace(plan.new, kind=kind, checkpoint=None))
    return SnapshotRecord(
        collection_id=access.id,
        directory=plan.directory.name,
        kind=kind.name,
        last_seq=plan.texts.last_seq,
        vectors=len(plan.texts),
        model_fingerprint=plan.new.fingerprint,
        files=json.dumps(files, sort_keys=True),
        seconds=time.monotonic() - started,
    )


def _write_as(plan: _Plan, new: NewSnapshot) -> FileTable:
    if plan.shards:
        return join_snapshots(plan.directory, new, plan.shards, plan.texts.seqs)
    folder, files = plan.old or (None, None)
    old = None if folder is None else (folder, plan.texts.seqs)
    return write_snapshot(plan.directory, new, old, files)
