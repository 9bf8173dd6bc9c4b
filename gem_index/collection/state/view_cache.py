"""Keep the newest view of a collection, and update it to the state of a transaction."""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from threading import Timer

import numpy as np
from sqlalchemy import Connection

from gem_index.collection.state.models import open_encoder
from gem_index.collection.state.piece_encoder import PieceEncoder
from gem_index.collection.state.tail import Tail
from gem_index.collection.state.view import View
from gem_index.common.forking import ForkSafeLock
from gem_index.errors import CorruptionError
from gem_index.gem.combined import Encoder
from gem_index.index.hits import members
from gem_index.index.snapshot import Snapshot
from gem_index.store.documents import DocumentRepository
from gem_index.store.names import CollectionRepository, ModelRepository
from gem_index.store.records import CollectionRecord, SnapshotRecord
from gem_index.store.workspace import Workspace

__all__ = ["StaleStateError", "ViewCache"]

_LOG = logging.getLogger(__name__)

_KEPT = 5.0  # seconds; longer than almost all searches


class StaleStateError(Exception):
    """A newer state exists, and the files of this older state were removed; try again in a new transaction."""


class ViewCache:
    """Updates a view to the state of a transaction; thread-safe.

    Parameters
    ----------
    workspace : Workspace
    collection_id : int
    """

    def __init__(self, workspace: Workspace, collection_id: int) -> None:
        self._workspace = workspace
        self._collection_id = collection_id
        self._view: View | None = None
        self._lock = ForkSafeLock()
        self._seen: tuple[str | None, tuple[int, int]] | None = None
        self._encoder: tuple[int, Encoder] | None = None
        self._encoder_lock = ForkSafeLock()

    def at(self, connection: Connection, record: CollectionRecord) -> View:
        """Return a view of the state that a transaction sees.

        Raises
        ------
        StaleStateError
            If another thread has already updated the view to a newer state. Then begin a new transaction.
        """
        seen = record.directory, (record.last_change, record.last_seq)
        with self._lock:
            if self._seen is not None and self._seen[0] == seen[0] and self._seen[1] > seen[1]:
                raise StaleStateError
            old, self._view = self._view, self._advance(connection, record, self._view)
            self._seen = seen
            if old and old.snapshot and old.snapshot is not self._view.snapshot:
                _close_later(old.snapshot)
            return self._view

    def encoder(self, connection: Connection, record: CollectionRecord) -> Encoder:
        """Return the collection's encoder, which is opened once, and caches word vectors; the index is not opened."""
        with self._encoder_lock:
            if self._encoder is None or self._encoder[0] != record.model_id:
                model = ModelRepository(connection).get(record.model_id)
                self._encoder = record.model_id, open_encoder(self._workspace, model, connection)
            return self._encoder[1]

    def replaced(self, directory: str | None) -> bool:
        """Tell whether another snapshot has replaced the snapshot in a directory.

        If so, the files of this directory may no longer exist.
        """
        with self._workspace.database.reading() as connection:
            row = CollectionRepository(connection).snapshot(self._collection_id)
        return row is None or row.directory != directory

    def _advance(self, connection: Connection, record: CollectionRecord, view: View | None) -> View:
        if (
            view is None
            or view.model_id != record.model_id
            or view.directory != record.directory
            or view.pieces.chunking != record.chunking
            or view.pieces.analyzer != record.analyzer
        ):
            row = CollectionRepository(connection).snapshot(self._collection_id)
            view = self._open(connection, record, row)
        if view.synonyms != record.synonyms_of_words:
            view = replace(view, synonyms=record.synonyms_of_words)
        if record.last_seq <= view.last_seq and record.last_change <= view.last_change:
            return view
        documents = DocumentRepository(connection, self._collection_id)
        dead, last_change = documents.tombstones_after(view.last_change)
        gone = np.unique(np.array(dead, dtype=np.int64))
        fresh = list(documents.texts_after(view.last_seq))
        seqs = np.array([seq for seq, _ in fresh], dtype=np.int64)
        alive = view.alive
        if len(gone) and view.snapshot is not None:
            alive = alive & ~members(view.snapshot.ids, gone)
        return replace(
            view,
            alive=alive,
            tail=view.tail.changed(gone, seqs, [text for _, text in fresh]),
            last_seq=fresh[-1][0] if fresh else view.last_seq,
            last_change=last_change,
        )

    def _open(
        self,
        connection: Connection,
        record: CollectionRecord,
        row: SnapshotRecord | None,
    ) -> View:
        encoder = self.encoder(connection, record)
        pieces = PieceEncoder(encoder, record.chunking, record.analyzer)
        snapshot = None
        if row is not None and row.model_fingerprint == pieces.fingerprint:
            folder = self._workspace.collection_folder(self._collection_id) / row.directory
            try:
                snapshot = Snapshot.open(folder, json.loads(row.files))
            except CorruptionError as error:
                if self.replaced(row.directory):
                    raise StaleStateError from error
                # Searches can use the texts instead of the damaged files; Collection.verify(fix=True) rebuilds the files.
                _LOG.warning("%s; searching from the stored texts instead", error)
        return View(
            model_id=record.model_id,
            pieces=pieces,
            directory=row.directory if row is not None else None,
            snapshot=snapshot,
            alive=np.ones(len(snapshot.ids) if snapshot else 0, dtype=np.bool_),
            tail=Tail.empty(pieces),
            last_seq=row.last_seq if snapshot is not None and row is not None else 0,
            last_change=0,
        )


def _close_later(snapshot: Snapshot) -> None:
    """Let another thread drop the last reference to a replaced snapshot, so that no search waits for this.

    The last process that has mapped a removed file frees its blocks. On a disk that discards free blocks at once, this has
    taken 0.4 s.
    """
    timer = Timer(_KEPT, lambda _: None, [snapshot])
    timer.daemon = True
    timer.start()
