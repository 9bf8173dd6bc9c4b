"""A reader's view of a collection: the snapshot in use, the tail after it, and what has been deleted since."""

from __future__ import annotations

import json
import logging
import threading
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection

from gem_index.errors import CorruptionError
from gem_index.gem.encoder import GemEncoder
from gem_index.index.snapshot import Snapshot
from gem_index.store.documents import DocumentRepository
from gem_index.store.names import CollectionRepository, ModelRepository
from gem_index.store.records import CollectionRecord, SnapshotRecord
from gem_index.workspace import Workspace

__all__ = ["View", "ViewKeeper"]

_LOG = logging.getLogger(__name__)

Ids = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class View:
    """One state of a collection, never changed: refreshing makes a new one.

    Attributes
    ----------
    model_id : int
        Row of the model behind ``encoder``.
    encoder : GemEncoder
    directory : str or None
        The snapshot's directory; None while there is none in use.
    snapshot : Snapshot or None
    alive : bool array
        False at the snapshot's positions whose document was deleted or replaced.
    tail_ids, tail_vectors : int64 array (t,), float32 array (t, d)
        The documents after the snapshot, by ascending ``seq``.
    last_seq : int
        The last document that was looked at.
    last_change : int
        The last tombstone that was looked at.
    """

    model_id: int
    encoder: GemEncoder
    directory: str | None
    snapshot: Snapshot | None
    alive: Mask
    tail_ids: Ids
    tail_vectors: npt.NDArray[np.float32]
    last_seq: int
    last_change: int

    def search(
        self, query: npt.NDArray[np.float32], k: int, allowed: Ids | None
    ) -> list[tuple[int, float]]:
        """Return the k best (seq, score), best first, equal scores by seq.

        Parameters
        ----------
        query : float32 array (d,)
        k : int
        allowed : int64 array, optional
            Ascending seqs; no other is returned.
        """
        found: list[tuple[int, float]] = []
        if self.snapshot is not None and len(self.snapshot.ids):
            mask = (
                self.alive if allowed is None else self.alive & _member(self.snapshot.ids, allowed)
            )
            if mask.any():
                positions, scores = self.snapshot.index.search(
                    query, k, None if mask.all() else mask
                )
                found += zip(self.snapshot.ids[positions].tolist(), scores.tolist(), strict=True)
        if len(self.tail_ids):
            scores = self.tail_vectors @ query
            tail = zip(self.tail_ids.tolist(), scores.tolist(), strict=True)
            if allowed is None:
                found += tail
            else:
                accepted = _member(self.tail_ids, allowed)
                found += [pair for pair, ok in zip(tail, accepted, strict=True) if ok]
        found.sort(key=lambda pair: (-pair[1], pair[0]))
        return found[:k]


def _member(ids: Ids, allowed: Ids) -> Mask:
    """Return which ids are among the allowed ones; both ascend."""
    if not len(allowed):
        return np.zeros(len(ids), dtype=np.bool_)
    places = np.minimum(np.searchsorted(allowed, ids), len(allowed) - 1)
    return np.asarray(allowed[places] == ids)


class ViewKeeper:
    """Brings a view up to date with what a transaction sees; safe under threads.

    Parameters
    ----------
    workspace : Workspace
    collection_id : int
    """

    def __init__(self, workspace: Workspace, collection_id: int) -> None:
        self._workspace = workspace
        self._collection_id = collection_id
        self._view: View | None = None
        self._lock = threading.Lock()

    def at(self, connection: Connection, record: CollectionRecord) -> View:
        """Return the view of the state that a transaction sees."""
        with self._lock:
            self._view = self._advance(connection, record, self._view)
            return self._view

    def encoder(self, connection: Connection, record: CollectionRecord) -> GemEncoder:
        """Return the collection's encoder without touching its index."""
        view = self._view
        if view is not None and view.model_id == record.model_id:
            return view.encoder
        return self._workspace.encoder(ModelRepository(connection).get(record.model_id), connection)

    def _advance(self, connection: Connection, record: CollectionRecord, view: View | None) -> View:
        if view is None or view.model_id != record.model_id or view.directory != record.directory:
            row = CollectionRepository(connection).snapshot(self._collection_id)
            view = self._open(connection, record, row, view)
        if record.last_seq <= view.last_seq and record.last_change <= view.last_change:
            return view
        documents = DocumentRepository(connection, self._collection_id)
        dead, last_change = documents.tombstones_after(view.last_change)
        fresh = list(documents.texts_after(view.last_seq))
        alive, tail_ids, tail_vectors = view.alive, view.tail_ids, view.tail_vectors
        if dead:
            gone = np.unique(np.array(dead, dtype=np.int64))
            if view.snapshot is not None:
                alive = alive & ~_member(view.snapshot.ids, gone)
            kept = ~_member(tail_ids, gone)
            tail_ids, tail_vectors = tail_ids[kept], tail_vectors[kept]
        last_seq = view.last_seq
        if fresh:
            last_seq = fresh[-1][0]
            tail_ids = np.append(tail_ids, np.array([seq for seq, _ in fresh], dtype=np.int64))
            vectors = view.encoder.encode([text for _, text in fresh])
            tail_vectors = np.concatenate([tail_vectors, vectors])
        return replace(
            view,
            alive=alive,
            tail_ids=tail_ids,
            tail_vectors=tail_vectors,
            last_seq=last_seq,
            last_change=last_change,
        )

    def _open(
        self,
        connection: Connection,
        record: CollectionRecord,
        row: SnapshotRecord | None,
        old: View | None,
    ) -> View:
        if old is not None and old.model_id == record.model_id:
            encoder = old.encoder
        else:
            model = ModelRepository(connection).get(record.model_id)
            encoder = self._workspace.encoder(model, connection)
        snapshot = None
        if row is not None and row.model_fingerprint == encoder.fingerprint:
            folder = self._workspace.collection_folder(self._collection_id) / row.directory
            try:
                snapshot = Snapshot.open(folder, json.loads(row.files))
            except CorruptionError as error:
                # The texts are the truth: search goes on from them, verify --fix makes the files anew.
                _LOG.warning("%s; searching from the stored texts instead", error)
        return View(
            model_id=record.model_id,
            encoder=encoder,
            directory=row.directory if row is not None else None,
            snapshot=snapshot,
            alive=np.ones(len(snapshot.ids) if snapshot else 0, dtype=np.bool_),
            tail_ids=np.zeros(0, np.int64),
            tail_vectors=np.zeros((0, encoder.dimension), np.float32),
            last_seq=row.last_seq if snapshot is not None and row is not None else 0,
            last_change=0,
        )
