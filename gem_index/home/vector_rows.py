"""The rows of registered word vectors, and the collections and models that use them."""

from __future__ import annotations

from gem_index.store.names import CollectionRepository, ModelRepository, WordVectorRepository
from gem_index.store.records import SourceRecord
from gem_index.store.workspace import Workspace
from gem_index.vectors.specification import VectorSpec

__all__ = ["find_users", "registered_sources"]


def registered_sources(workspace: Workspace) -> dict[str, SourceRecord]:
    """Return the registered word vectors by name."""
    with workspace.database.reading() as connection:
        return {record.name: record for record in WordVectorRepository(connection).all()}


def find_users(workspace: Workspace, name: str) -> list[str]:
    """Return the collections and named models that use registered word vectors, such as ``collection faq``."""
    with workspace.database.reading() as connection:
        models = {
            model.id: model
            for model in ModelRepository(connection).all()
            if any(name in VectorSpec.parse(part.vectors).names for part in model.encoders)
        }
        collections = [
            f"collection {record.name}"
            for record in CollectionRepository(connection).all()
            if record.model_id in models
        ]
    return collections + [f"model {model.name}" for model in models.values() if model.name]
