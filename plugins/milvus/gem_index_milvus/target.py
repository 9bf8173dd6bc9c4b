"""A collection of Milvus as a target.

Each push that replaces all vectors fills a generation of its own, the collection ``faq__gem_2``. Readers query the alias
``faq``, which one request points at the new generation. The properties of each generation hold its schema.
"""

from __future__ import annotations

import re

from gem_index import TargetSchema, TargetUrl
from gem_index.errors import ConfigError
from gem_index_milvus.database import Database
from gem_index_milvus.table import MilvusTable, read_schema

__all__ = ["MilvusTarget"]


class MilvusTarget:
    """A live collection and perhaps a staged one.

    A folder is opened when it is first needed, and no other process may open it until :meth:`close`.

    Parameters
    ----------
    url : TargetUrl
        ``milvus:///folder/name.db?collection=faq`` for milvus-lite, ``milvus+http://host:19530/?collection=faq`` or
        ``milvus+https://...`` for a server, with the secret ``token`` (or ``key``), or ``user`` and ``password``; the
        option ``database``.

    Raises
    ------
    ConfigError
        If a part of the URL is missing or unsuitable.
    """

    def __init__(self, url: TargetUrl) -> None:
        self.url = url
        self._database = Database(url)
        self._alias = url.option("collection")
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,199}", self._alias):
            raise ConfigError(
                f"found the collection name {self._alias!r:.80}; expected letters, digits and _, at most 200, "
                "and no digit at the beginning; choose another name"
            )

    def live(self) -> MilvusTable | None:
        """Return the collection that the alias names."""
        if not self._database.exists():
            return None
        name = self._shown()
        return None if name is None else self._open(name)

    def staged(self) -> MilvusTable | None:
        """Return the generation after the live one."""
        if not self._database.exists():
            return None
        shown = self._shown()
        last = max(self._generations(), default=0)
        if last <= (0 if shown is None else self._number(shown)):
            return None
        return self._open(self._name(last))

    def create(self, schema: TargetSchema) -> MilvusTable:
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

    def stage(self, schema: TargetSchema) -> MilvusTable:
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
        # Readers find it in memory.
        self._database.call("load_collection", staged.name)
        self._point_alias(staged.name)
        self._remove_unseen()

    def drop(self) -> None:
        """Drop the alias, then its generations."""
        if not self._database.exists():
            return
        if self._shown() is not None:
            self._database.call("drop_alias", self._alias)
        self._remove(self._generations())

    def close(self) -> None:
        """Close the connection; another process may then open the folder."""
        self._database.close()

    def _shown(self) -> str | None:
        """Return the collection that the alias names; raise ConfigError if it is not one of ours."""
        if self._alias in self._names():
            raise self._foreign()
        aliases = self._database.call("list_aliases")
        if self._alias not in aliases["aliases"]:
            return None
        found = self._database.call("describe_alias", self._alias)
        name = str(found["collection_name"])
        if not self._number(name) or not self._schema(name):
            raise self._foreign()
        return name

    def _generations(self) -> list[int]:
        """Return the numbers of the generations; collections that gem-index did not create are not among them."""
        numbers = [self._number(name) for name in self._names()]
        return sorted(number for number in numbers if number and self._schema(self._name(number)))

    def _add(self, schema: TargetSchema) -> MilvusTable:
        """Create an empty generation after all others."""
        names = self._names() | self._database.folders(f"{self._alias}__gem_*")
        number = 1 + max(map(self._number, names), default=0)
        table = MilvusTable(self._database, self._name(number), schema, str(self.url))
        table.create()
        if self._schema(table.name) != schema:
            self._remove([number])
            raise ConfigError(
                f"found a Milvus without properties of collections at {self.url}; expected version 2.5 or newer; update it"
            )
        return table

    def _point_alias(self, name: str) -> None:
        """Let the alias name another collection, which Milvus does in one step."""
        method = "create_alias" if self._shown() is None else "alter_alias"
        self._database.call(method, name, self._alias)

    def _remove_unseen(self) -> None:
        """Drop the generations that the alias does not name."""
        shown = self._shown()
        seen = 0 if shown is None else self._number(shown)
        self._remove([number for number in self._generations() if number != seen])

    def _remove(self, numbers: list[int]) -> None:
        for number in numbers:
            self._database.call("drop_collection", self._name(number))

    def _open(self, name: str) -> MilvusTable | None:
        schema = self._schema(name)
        return None if schema is None else MilvusTable(self._database, name, schema, str(self.url))

    def _schema(self, name: str) -> TargetSchema | None:
        return read_schema(self._database.call("describe_collection", name))

    def _names(self) -> set[str]:
        """Return the names of all collections; aliases are not among them."""
        return set(self._database.call("list_collections"))

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
