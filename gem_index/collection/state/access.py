"""Access to one collection: the rows in a transaction, the files, and the caches of searches."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from sqlalchemy import Connection

from gem_index.collection.request import SearchRequest
from gem_index.collection.results import CollectionStatus, IndexStatus, SearchResults
from gem_index.collection.state.batching import Batcher
from gem_index.collection.state.calibration import calibration_state
from gem_index.collection.state.filter_cache import FilterCache
from gem_index.collection.state.piece_encoder import index_fingerprint
from gem_index.collection.state.view import View
from gem_index.collection.state.view_cache import StaleStateError, ViewCache
from gem_index.common.settings import load_settings
from gem_index.errors import Action, Advice, CollectionReplacedError, UnknownNameError
from gem_index.gem.combined import Encoder
from gem_index.gem.config import GemConfig
from gem_index.store.documents import DocumentRepository
from gem_index.store.names import CollectionRepository, ModelRepository
from gem_index.store.records import CollectionRecord, ModelRecord, TextSettings
from gem_index.store.sources import SourceRepository
from gem_index.store.workspace import Workspace

__all__ = ["CollectionAccess", "CollectionRows"]


@dataclass(frozen=True)
class Counts:
    """Numbers of documents: in the snapshot (with deleted ones), deleted in the snapshot, and in the tail."""

    indexed: int
    dead: int
    tail: int

    @property
    def documents(self) -> int:
        """The number of present documents."""
        return self.indexed - self.dead + self.tail


@dataclass(frozen=True)
class CollectionRows:
    """A collection's rows in one transaction."""

    connection: Connection
    record: CollectionRecord

    @property
    def names(self) -> CollectionRepository:
        """The table of collections."""
        return CollectionRepository(self.connection)

    @property
    def documents(self) -> DocumentRepository:
        """The collection's documents."""
        return DocumentRepository(self.connection, self.record.id)

    @property
    def sources(self) -> SourceRepository:
        """The document sources of the collection."""
        return SourceRepository(self.connection, self.record.id)

    def model(self) -> ModelRecord:
        """Return the collection's model as it is stored."""
        return ModelRepository(self.connection).get(self.record.model_id)

    def index_fingerprint(self) -> str:
        """Return the index fingerprint of the present model, chunking and language."""
        return index_fingerprint(
            self.model().fingerprint, self.record.chunking, self.record.analyzer
        )

    def with_text_settings(self, settings: TextSettings) -> CollectionRows:
        """Return these rows with other settings than the stored ones."""
        return replace(self, record=replace(self.record, **settings))

    def counts(self) -> Counts:
        """Count the documents, without reading them: the number in the snapshot is stored in the snapshot's row."""
        snapshot = self.names.snapshot(self.record.id)
        if snapshot is None:
            return Counts(0, 0, self.documents.count())
        tail = self.documents.count(snapshot.last_seq)
        return Counts(snapshot.vectors, self.documents.buried(snapshot.last_seq), tail)

    def changed_since_fit(self) -> bool:
        """Tell whether the model is unfitted, or was fitted on other documents than the present documents."""
        fitted = (self.record.fitted_seq, self.record.fitted_documents)
        return self.record.fitted_seq == 0 or fitted != (
            self.documents.last_seq(),
            self.documents.count(),
        )


class CollectionAccess:
    """The rows, files and caches that all operations of a collection share; thread-safe.

    Parameters
    ----------
    workspace : Workspace
    record : CollectionRecord
    """

    def __init__(self, workspace: Workspace, record: CollectionRecord) -> None:
        self.workspace = workspace
        self.name = record.name
        self.id = record.id
        self.views = ViewCache(workspace, record.id)
        self.filters = FilterCache()
        self.batcher: Batcher[SearchRequest, SearchResults] = Batcher(load_settings().threads)

    @property
    def folder(self) -> Path:
        """The folder of the collection's snapshots."""
        return self.workspace.collection_folder(self.id)

    def map_folder(self, record: CollectionRecord) -> Path:
        """Return the folder for the map of the collection's present fit; the folder may not exist."""
        return self.folder / record.map_directory

    @contextmanager
    def reading(self) -> Iterator[CollectionRows]:
        """Yield the rows in a transaction, which sees the state of one moment.

        Raises
        ------
        UnknownNameError
            If the collection was dropped; CollectionReplacedError if another collection now has the same name.
        """
        with self.workspace.database.reading() as connection:
            yield self.rows(connection)

    @contextmanager
    def writing(self) -> Iterator[CollectionRows]:
        """Yield the rows in a transaction that is committed after the block, or rolled back if the block raises."""
        with self.workspace.write_lock(), self.workspace.database.writing() as connection:
            yield self.rows(connection)

    @contextmanager
    def writing_rows(self) -> Iterator[CollectionRows]:
        """Yield the rows for a small change, without the write lock.

        In contrast, :meth:`writing` takes this lock, and removes leftover files at the end.
        """
        with self.workspace.database.writing() as connection:
            yield self.rows(connection)

    def rows(self, connection: Connection) -> CollectionRows:
        """Return the rows in the caller's transaction."""
        names = CollectionRepository(connection)
        record = names.find(self.name)
        if record is not None and record.id != self.id:
            raise CollectionReplacedError(self.name)
        if record is None:
            raise UnknownNameError(
                "collection",
                self.name,
                [other.name for other in names.all()],
                Advice(Action.MAKE_COLLECTION),
            )
        return CollectionRows(connection, record)

    def view(self) -> View:
        """Return the view of the newest state."""
        while True:
            with self.reading() as rows:
                try:
                    return self.views.at(rows.connection, rows.record)
                except StaleStateError:
                    continue  # another thread has already opened a newer view

    def encoder(self, rows: CollectionRows | None = None) -> Encoder:
        """Return the encoder of the collection's model; the encoder is opened once and cached."""
        if rows is None:
            with self.reading() as rows:
                return self.encoder(rows)
        return self.views.encoder(rows.connection, rows.record)

    def status(self) -> CollectionStatus:
        """Return the status of the collection, from one transaction, without opening the model or the index."""
        with self.reading() as rows:
            model, counts = rows.model(), rows.counts()
            snapshot = rows.names.snapshot(self.id)
            record = rows.record
            calibration = calibration_state(record, rows.index_fingerprint())
            since_fit = rows.documents.count(record.fitted_seq)
        configs = [GemConfig.from_json(part.config) for part in model.encoders]
        return CollectionStatus(
            name=self.name,
            documents=counts.documents,
            fingerprint=model.fingerprint,
            vectors=model.vectors,
            preset=", ".join(config.preset_name for config in configs),
            prior=max(config.prior for config in configs),
            fitted=model.sentences,
            since_fit=since_fit,
            index=IndexStatus(
                snapshot.kind if snapshot else record.index_kind,
                snapshot.directory if snapshot else None,
                snapshot.last_seq if snapshot else 0,
                counts.tail,
            ),
            bytes=snapshot.bytes if snapshot else 0,
            language=record.analyzer.language,
            analyzer=record.analyzer.version,
            dimension=model.dimension,
            description=record.description,
            calibration=calibration,
        )
