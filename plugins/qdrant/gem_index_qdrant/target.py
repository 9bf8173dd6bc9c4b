"""A collection of Qdrant as a target: the alias ``faq`` of a generation such as ``faq__gem_2``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from qdrant_client import models

from gem_index.targets import (
    WORD_DIMENSIONS,
    AliasTarget,
    TargetSchema,
    TargetUrl,
    integers_are_short,
    integers_within,
    row_of,
)
from gem_index_qdrant.database import Database
from gem_index_qdrant.table import QdrantTable, scrolled

__all__ = ["QdrantTarget"]

_INTEGERS = range(-(2**63), 2**64)
"""The integers that a server stores exactly; it would round others."""


class QdrantTarget(AliasTarget[QdrantTable]):
    """A live collection and perhaps a staged one.

    A folder is opened when it is first needed, and no other process may open it until :meth:`close`.

    Parameters
    ----------
    url : TargetUrl
        ``qdrant:///folder?collection=faq`` for qdrant-client's local mode, ``qdrant+http://host:6333/?collection=faq`` or
        ``qdrant+https://...`` for a server, with the secret ``key``.

    Raises
    ------
    ConfigError
        If a part of the URL is missing or unsuitable.
    """

    word_dimensions = WORD_DIMENSIONS
    too_old = "found a Qdrant without metadata of collections at {url}; expected version 1.16 or newer; update it"

    def __init__(self, url: TargetUrl) -> None:
        self._database = Database(url)
        super().__init__(url, "[A-Za-z0-9_-]{1,200}", "letters, digits, _ and -, at most 200")

    def unsupported(self, metadata: Mapping[str, Any]) -> list[str]:
        """Return the fields with integers beyond 64 bits."""
        return [name for name, value in metadata.items() if not integers_within(value, _INTEGERS)]

    def stores_json(self, texts: Sequence[str]) -> bool:
        """Tell whether it is certain that no integer has more than 64 bits."""
        return integers_are_short(texts)

    def exists(self) -> bool:
        """Tell whether there is a server or a folder."""
        return self._database.exists()

    def collections(self) -> set[str]:
        """Return the names of all collections."""
        found = self._database.call(lambda client: client.get_collections())
        return {each.name for each in found.collections}

    def aliased(self) -> str | None:
        """Return the collection that the alias names."""
        found = self._database.call(lambda client: client.get_aliases()).aliases
        named = (each.collection_name for each in found if each.alias_name == self.alias)
        return next(named, None)

    def schema_of(self, name: str) -> TargetSchema | None:
        """Return the schema in a collection's metadata."""
        config = self._database.call(lambda client: client.get_collection(name)).config
        return TargetSchema.from_strings(config.metadata or {})

    def table(self, name: str, schema: TargetSchema) -> QdrantTable:
        """Return the object of a collection."""
        return QdrantTable(self._database, name, schema, str(self.url))

    def rows(self) -> Iterator[dict[str, Any]]:
        """Iterate over the points of a collection of another program: the id of the point, and the fields of its payload."""
        for record in scrolled(self._database, self.alias, with_vectors=False):
            yield row_of(record.payload or {}, id=record.id)

    def point_alias(self, name: str | None) -> None:
        """Switch the alias to another collection, or remove it, by one request, which Qdrant applies in one step."""
        changes: list[models.AliasOperations] = []
        if self.aliased() is not None:
            delete = models.DeleteAlias(alias_name=self.alias)
            changes.append(models.DeleteAliasOperation(delete_alias=delete))
        if name is not None:
            create = models.CreateAlias(collection_name=name, alias_name=self.alias)
            changes.append(models.CreateAliasOperation(create_alias=create))
        self._database.call(lambda client: client.update_collection_aliases(changes))

    def remove(self, name: str) -> None:
        """Delete a collection."""
        self._database.call(lambda client: client.delete_collection(name))

    def close(self) -> None:
        """Close the connection; another process may then open the folder."""
        self._database.close()
