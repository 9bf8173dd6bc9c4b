"""Repositories of word vectors, models and collections."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from sqlalchemy import (
    Column,
    Connection,
    ScalarSelect,
    Select,
    bindparam,
    delete,
    func,
    insert,
    select,
    update,
)

from gem_index.store.records import (
    CollectionRecord,
    ModelRecord,
    SnapshotRecord,
    SourceRecord,
    TextSettings,
    now,
)
from gem_index.store.schema import (
    collections,
    documents,
    model_parts,
    models,
    snapshots,
    tombstones,
    vector_sources,
)

__all__ = ["CollectionRepository", "ModelRepository", "WordVectorRepository"]

_SOURCE_COLUMNS = [column for column in vector_sources.c if column.name != "id"]
_PART_COLUMNS = [column for column in model_parts.c if column.name not in ("id", "model_id")]
_SNAPSHOT_COLUMNS = [column for column in snapshots.c if column.name != "id"]


def _newest(column: Column[int], owner: Column[int]) -> ScalarSelect[int]:
    """Return a subquery for the largest value in a collection's rows, 0 if it has none."""
    largest = select(func.coalesce(func.max(column), 0)).where(owner == collections.c.id)
    return largest.correlate(collections).scalar_subquery()


# Built once: every search runs this query to check whether its view is still up to date.
_COLLECTION = select(
    collections,
    snapshots.c.directory,
    _newest(documents.c.seq, documents.c.collection_id).label("last_seq"),
    _newest(tombstones.c.change, tombstones.c.collection_id).label("last_change"),
).select_from(collections.outerjoin(snapshots))
_COLLECTION_BY_NAME = _COLLECTION.where(collections.c.name == bindparam("wanted"))


class WordVectorRepository:
    """Registered word vectors."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def all(self) -> list[SourceRecord]:
        """Return all sources by name."""
        rows = self._connection.execute(select(*_SOURCE_COLUMNS).order_by(vector_sources.c.name))
        return [SourceRecord(**row) for row in rows.mappings()]

    def add(self, record: SourceRecord) -> None:
        """Store a new source."""
        self._connection.execute(insert(vector_sources), asdict(record))

    def remove(self, name: str) -> None:
        """Remove a source."""
        self._connection.execute(delete(vector_sources).where(vector_sources.c.name == name))


class ModelRepository:
    """Fitted and background models, named or belonging to a collection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def get(self, model_id: int) -> ModelRecord:
        """Return the model with this row id, which must exist."""
        return self._load(select(models).where(models.c.id == model_id))[0]

    def all(self) -> list[ModelRecord]:
        """Return all models, also the models of collections."""
        return self._load(select(models).order_by(models.c.name, models.c.id))

    def _load(self, query: Select[Any]) -> list[ModelRecord]:
        rows = list(self._connection.execute(query).mappings())
        parts: dict[int, list[ModelRecord]] = {row["id"]: [] for row in rows if not row["config"]}
        if parts:
            wanted = model_parts.c.model_id.in_(parts)
            query = select(model_parts).where(wanted).order_by(model_parts.c.id)
            for row in self._connection.execute(query).mappings():
                values = {key: value for key, value in row.items() if key not in ("id", "model_id")}
                parts[row["model_id"]].append(ModelRecord(name=None, **values))
        return [ModelRecord(**row, parts=tuple(parts.get(row["id"], ()))) for row in rows]

    def named(self) -> dict[str, ModelRecord]:
        """Return the named models by name."""
        return {record.name: record for record in self.all() if record.name is not None}

    def add(self, record: ModelRecord) -> int:
        """Store a model and return its row id."""
        values = {c.name: getattr(record, c.name) for c in models.c if c.name != "id"}
        result = self._connection.execute(insert(models).values(values))
        assert result.inserted_primary_key is not None
        model_id = int(result.inserted_primary_key[0])
        for part in record.parts:
            values = {c.name: getattr(part, c.name) for c in _PART_COLUMNS}
            self._connection.execute(insert(model_parts).values(values | {"model_id": model_id}))
        return model_id

    def remove(self, model_id: int) -> None:
        """Remove a model that no collection uses."""
        self._connection.execute(delete(models).where(models.c.id == model_id))


class CollectionRepository:
    """Collections and their current snapshots."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def all(self) -> list[CollectionRecord]:
        """Return all collections by name."""
        rows = self._connection.execute(_COLLECTION.order_by(collections.c.name))
        return [CollectionRecord(**row) for row in rows.mappings()]

    def get(self, collection_id: int) -> CollectionRecord:
        """Return the collection with this row id, which must exist."""
        row = self._connection.execute(_COLLECTION.where(collections.c.id == collection_id))
        return CollectionRecord(**row.mappings().one())

    def find(self, name: str) -> CollectionRecord | None:
        """Return the collection of that name, if there is one."""
        row = self._connection.execute(_COLLECTION_BY_NAME, {"wanted": name})
        found = row.mappings().first()
        return None if found is None else CollectionRecord(**found)

    def add(
        self,
        name: str,
        model_id: int,
        index_kind: str,
        reading: str = "{}",
        chunking: str = "{}",
        analysis: str = "{}",
        description: str = "",
    ) -> CollectionRecord:
        """Store a new, empty collection."""
        values = {
            "name": name,
            "model_id": model_id,
            "index_kind": index_kind,
            "fitted_seq": 0,
            "fitted_documents": 0,
            "created_at": now(),
            "reading": reading,
            "cutting": chunking,
            "analysis": analysis,
            "description": description,
        }
        self._connection.execute(insert(collections), values)
        found = self.find(name)
        assert found is not None
        return found

    def remove(self, collection_id: int) -> None:
        """Remove a collection with its documents, tombstones and snapshot row."""
        self._connection.execute(delete(collections).where(collections.c.id == collection_id))

    def use_index(self, collection_id: int, kind: str) -> None:
        """Set the kind of index for the collection's future snapshots."""
        self._connection.execute(
            update(collections).where(collections.c.id == collection_id).values(index_kind=kind)
        )

    def use_reading(self, collection_id: int, reading: str) -> None:
        """Set how later files are read."""
        self._connection.execute(
            update(collections).where(collections.c.id == collection_id).values(reading=reading)
        )

    def use_text_settings(self, collection_id: int, settings: TextSettings) -> None:
        """Set what the collection does with texts."""
        chosen = update(collections).where(collections.c.id == collection_id)
        self._connection.execute(chosen.values(**settings))

    def use_description(self, collection_id: int, description: str) -> None:
        """Set the description of the collection."""
        self._connection.execute(
            update(collections)
            .where(collections.c.id == collection_id)
            .values(description=description)
        )

    def use_calibration(self, collection_id: int, calibration: str) -> None:
        """Set which scores of the collection are weak."""
        self._connection.execute(
            update(collections)
            .where(collections.c.id == collection_id)
            .values(calibration=calibration)
        )

    def use_synonyms(self, collection_id: int, synonyms: str) -> None:
        """Set the synonyms of the words of queries."""
        self._connection.execute(
            update(collections).where(collections.c.id == collection_id).values(synonyms=synonyms)
        )

    def use_model(
        self, collection_id: int, model_id: int, fitted_seq: int, fitted_documents: int
    ) -> None:
        """Set the collection's model, which was fitted on ``fitted_documents`` documents up to ``fitted_seq``."""
        self._connection.execute(
            update(collections)
            .where(collections.c.id == collection_id)
            .values(model_id=model_id, fitted_seq=fitted_seq, fitted_documents=fitted_documents)
        )

    def snapshot(self, collection_id: int) -> SnapshotRecord | None:
        """Return the current snapshot, if there is one."""
        row = self._connection.execute(
            select(*_SNAPSHOT_COLUMNS).where(snapshots.c.collection_id == collection_id)
        )
        found = row.mappings().first()
        return None if found is None else SnapshotRecord(**found)

    def use_snapshot(self, record: SnapshotRecord) -> None:
        """Replace the current snapshot."""
        self._connection.execute(
            delete(snapshots).where(snapshots.c.collection_id == record.collection_id)
        )
        self._connection.execute(insert(snapshots), asdict(record))
