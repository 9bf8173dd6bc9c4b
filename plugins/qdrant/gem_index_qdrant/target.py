"""A collection of Qdrant as a target.

Each push that replaces all vectors fills a generation of its own, the collection ``faq__gem_2``. Readers query the alias
``faq``, which one request points at the new generation. The metadata of each generation holds its schema.
"""

from __future__ import annotations

import re

from qdrant_client import models

from gem_index import TargetSchema, TargetUrl
from gem_index.errors import ConfigError
from gem_index_qdrant.database import Database
from gem_index_qdrant.table import QdrantTable

__all__ = ["QdrantTarget"]


class QdrantTarget:
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

    def __init__(self, url: TargetUrl) -> None:
        self.url = url
        self._database = Database(url)
        self._alias = url.option("collection")
        if not re.fullmatch(r"[A-Za-z0-9_-]{1,200}", self._alias):
            raise ConfigError(
                f"found the collection name {self._alias!r:.80}; expected letters, digits, _ and -, at most 200; "
                "choose another name"
            )

    def live(self) -> QdrantTable | None:
        """Return the collection that the alias names."""
        if not self._database.exists():
            return None
        name = self._shown()
        return None if name is None else self._open(name)

    def staged(self) -> QdrantTable | None:
        """Return the generation after the live one."""
        if not self._database.exists():
            return None
        shown = self._shown()
        last = max(self._generations(), default=0)
        if last <= (0 if shown is None else self._number(shown)):
            return None
        return self._open(self._name(last))

    def create(self, schema: TargetSchema) -> QdrantTable:
        """Create an empty generation and the alias; generations without an alias are dropped."""
        if self._shown() is not None:
            raise ConfigError(
                f"found the collection {self._alias} at {self.url}; expected none; drop it before it is created"
            )
        unused = self._generations()
        table = self._add(schema)
        self._point_alias(table.name)
        self._remove(unused)
        return table

    def stage(self, schema: TargetSchema) -> QdrantTable:
        """Create an empty generation."""
        self._remove_unseen()
        return self._add(schema)

    def switch(self) -> None:
        """Point the alias at the staged generation, by one request, then drop the others."""
        staged = self.staged()
        if staged is None:
            raise ConfigError(
                f"found no staged collection of {self._alias} at {self.url}; expected one; push in full again"
            )
        self._point_alias(staged.name)
        self._remove_unseen()

    def drop(self) -> None:
        """Drop the alias, then its generations."""
        if not self._database.exists():
            return
        self._point_alias(None)
        self._remove(self._generations())

    def close(self) -> None:
        """Close the connection; another process may then open the folder."""
        self._database.close()

    def _shown(self) -> str | None:
        """Return the collection that the alias names; raise ConfigError if it is not one of ours."""
        if self._alias in self._names():
            raise self._foreign()
        found = self._database.call(lambda client: client.get_aliases()).aliases
        for each in found:
            if each.alias_name == self._alias:
                if not self._number(each.collection_name) or not self._schema(each.collection_name):
                    raise self._foreign()
                return each.collection_name
        return None

    def _generations(self) -> list[int]:
        """Return the numbers of the generations; collections that gem-index did not create are not among them."""
        numbers = [self._number(name) for name in self._names()]
        return sorted(number for number in numbers if number and self._schema(self._name(number)))

    def _add(self, schema: TargetSchema) -> QdrantTable:
        """Create an empty generation after all others."""
        number = 1 + max((self._number(name) for name in self._names()), default=0)
        table = QdrantTable(self._database, self._name(number), schema, str(self.url))
        table.create()
        if self._schema(table.name) != schema:
            self._database.call(lambda client: client.delete_collection(table.name))
            raise ConfigError(
                f"found a Qdrant without metadata of collections at {self.url}; expected version 1.16 or newer; update it"
            )
        return table

    def _point_alias(self, name: str | None) -> None:
        """Let the alias name another collection, or none, by one request, which Qdrant applies in one step."""
        changes: list[models.AliasOperations] = []
        if self._shown() is not None:
            delete = models.DeleteAlias(alias_name=self._alias)
            changes.append(models.DeleteAliasOperation(delete_alias=delete))
        if name is not None:
            create = models.CreateAlias(collection_name=name, alias_name=self._alias)
            changes.append(models.CreateAliasOperation(create_alias=create))
        if changes:
            self._database.call(lambda client: client.update_collection_aliases(changes))

    def _remove_unseen(self) -> None:
        """Drop the generations that the alias does not name."""
        shown = self._shown()
        seen = 0 if shown is None else self._number(shown)
        self._remove([number for number in self._generations() if number != seen])

    def _remove(self, numbers: list[int]) -> None:
        for number in numbers:
            name = self._name(number)
            self._database.call(lambda client, name=name: client.delete_collection(name))  # type: ignore[misc]

    def _open(self, name: str) -> QdrantTable | None:
        schema = self._schema(name)
        return None if schema is None else QdrantTable(self._database, name, schema, str(self.url))

    def _schema(self, name: str) -> TargetSchema | None:
        config = self._database.call(lambda client: client.get_collection(name)).config
        return TargetSchema.from_strings(config.metadata or {})

    def _names(self) -> set[str]:
        """Return the names of all collections; aliases are not among them."""
        found = self._database.call(lambda client: client.get_collections())
        return {each.name for each in found.collections}

    def _name(self, number: int) -> str:
        return f"{self._alias}__gem_{number}"

    def _number(self, name: str) -> int:
        """Return the number of a generation; 0 for the name of anything else."""
        found = re.fullmatch(re.escape(self._alias) + r"__gem_([1-9][0-9]{0,8})", name)
        return int(found[1]) if found else 0

    def _foreign(self) -> ConfigError:
        return ConfigError(
            f"found {self._alias} at {self.url}, which gem-index did not create; expected an unused name; "
            "choose another name in ?collection="
        )
