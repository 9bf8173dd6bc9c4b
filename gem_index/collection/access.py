"""Access to one collection: its rows in a transaction, its files, and the caches of its searches."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection

from gem_index.advice import Action, Advice
from gem_index.collection.batching import Batcher
from gem_index.collection.counts import Counts, count_documents
from gem_index.collection.filters import FilterCache
from gem_index.collection.results import SearchResults
from gem_index.collection.searching import SearchRequest
from gem_index.collection.view import StaleStateError, View, ViewCache
from gem_index.errors import CollectionReplacedError, UnknownNameError
from gem_index.gem.combined import Encoder
from gem_index.settings import load_settings
from gem_index.store.documents import DocumentRepository
from gem_index.store.names import CollectionRepository, ModelRepository
from gem_index.store.records import CollectionRecord, ModelRecord
from gem_index.store.sources import SourceRepository
from gem_index.store.workspace import Workspace

__all__ = ["CollectionAccess", "CollectionRows"]


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
        """The folders and queries that it is filled from."""
        return SourceRepository(self.connection, self.record.id)

    def model(self) -> ModelRecord:
        """Return the collection's model as it is stored."""
        return ModelRepository(self.connection).get(self.record.model_id)

    def counts(self) -> Counts:
        """Count the documents."""
        return count_documents(self.connection, self.record.id)

    def changed_since_fit(self) -> bool:
        """Tell whether the model is unfitted or was fitted on other documents than the present ones."""
        fitted = (self.record.fitted_seq, self.record.fitted_documents)
        return self.record.fitted_seq == 0 or fitted != (
            self.documents.last_seq(),
            self.documents.count(),
        )


class CollectionAccess:
    """The shared state of a collection's use cases; thread-safe.

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
        """Return the folder of the map of the collection's present fit; it may be missing."""
        return self.folder / record.map_directory

    @contextmanager
    def reading(self) -> Iterator[CollectionRows]:
        """Yield the rows as of one moment.

        Raises
        ------
        UnknownNameError
            If the collection was dropped; CollectionReplacedError if another one has its name now.
        """
        with self.workspace.database.reading() as connection:
            yield self.rows(connection)

    @contextmanager
    def writing(self) -> Iterator[CollectionRows]:
        """Yield the rows in a transaction that is committed after the block and rolled back if it raises."""
        with self.workspace.write_lock(), self.workspace.database.writing() as connection:
            yield self.rows(connection)

    @contextmanager
    def noting(self) -> Iterator[CollectionRows]:
        """Yield the rows in a transaction for what concerns no files: without the home's lock and the sweep after it."""
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
                    continue  # another thread has seen a newer one

    def encoder(self, rows: CollectionRows | None = None) -> Encoder:
        """Return the encoder of the collection's model; it is opened once and cached."""
        if rows is None:
            with self.reading() as rows:
                return self.encoder(rows)
        return self.views.encoder(rows.connection, rows.record)
