"""Repository of the document sources of a collection: folders and queries."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import Connection, delete, insert, select, update

from gem_index.store.schema import files, sources

__all__ = ["FileRecord", "SourceRepository", "StoredSource"]

_BATCH = 500  # paths in one statement


@dataclass(frozen=True)
class StoredSource:
    """A document source; ``options`` says how to read it, ``since`` is the highest value of a query's column so far."""

    id: int
    location: str
    options: Mapping[str, Any]
    since: Any


@dataclass(frozen=True)
class FileRecord:
    """A file as it was when its documents were stored."""

    path: str
    size: int
    modified: int
    sha256: str
    documents: int
    version: int


class SourceRepository:
    """The document sources of one collection."""

    def __init__(self, connection: Connection, collection_id: int) -> None:
        self._connection = connection
        self._collection_id = collection_id

    def all(self) -> list[StoredSource]:
        """Return all sources in the order in which they were added."""
        query = select(sources.c.id, sources.c.location, sources.c.options, sources.c.since)
        rows = self._connection.execute(
            query.where(sources.c.collection_id == self._collection_id).order_by(sources.c.id)
        )
        return [
            StoredSource(
                row.id,
                row.location,
                json.loads(row.options),
                None if row.since is None else json.loads(row.since),
            )
            for row in rows
        ]

    def find(self, location: str) -> StoredSource | None:
        """Return the source at a location, if there is one."""
        return next((source for source in self.all() if source.location == location), None)

    def add(self, location: str) -> StoredSource:
        """Store a new source and return it."""
        values = {"collection_id": self._collection_id, "location": location, "options": "{}"}
        self._connection.execute(insert(sources), values)
        found = self.find(location)
        assert found is not None
        return found

    def keep(self, source_id: int, options: Mapping[str, Any], since: Any = None) -> None:
        """Set how to read a source, and the highest value of its column."""
        values = {
            "options": json.dumps(options, sort_keys=True),
            "since": None if since is None else json.dumps(since),
        }
        self._connection.execute(update(sources).where(sources.c.id == source_id).values(values))

    def files(self, source_id: int) -> dict[str, FileRecord]:
        """Return the files of a folder by path."""
        columns = [column for column in files.c if column.name != "source_id"]
        rows = self._connection.execute(select(*columns).where(files.c.source_id == source_id))
        return {row.path: FileRecord(*row) for row in rows}

    def keep_files(self, source_id: int, records: Iterable[FileRecord]) -> None:
        """Store the records of files, instead of earlier ones."""
        rows = [asdict(record) | {"source_id": source_id} for record in records]
        self.forget_files(source_id, (row["path"] for row in rows))
        if rows:
            self._connection.execute(insert(files), rows)

    def forget_files(self, source_id: int, paths: Iterable[str]) -> None:
        """Remove the records of files."""
        wanted = list(paths)
        for begin in range(0, len(wanted), _BATCH):
            batch = files.c.path.in_(wanted[begin : begin + _BATCH])
            self._connection.execute(delete(files).where(files.c.source_id == source_id, batch))
