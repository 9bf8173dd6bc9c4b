"""Base class of targets whose databases have aliases of collections.

Each push that replaces all vectors fills a new generation, such as the collection ``faq__gem_2``. Readers query the alias
``faq``. One request points it at the new generation. Each generation holds its schema.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Generic, Protocol, TypeVar

from gem_index.errors import ConfigError
from gem_index.targets.protocol import TargetSchema, TargetTable
from gem_index.targets.tables import existing_table, foreign_table, missing_staged_table
from gem_index.targets.url import TargetUrl

__all__ = ["AliasTarget", "Generation"]


class Generation(TargetTable, Protocol):
    """A collection that an alias can name."""

    @property
    def name(self) -> str:
        """The collection's own name."""
        ...

    def create(self) -> None:
        """Create the collection, which records its schema."""
        ...


Table = TypeVar("Table", bound=Generation)


class AliasTarget(ABC, Generic[Table]):
    """A live generation and perhaps a staged one.

    Parameters
    ----------
    url : TargetUrl
        With the option ``collection``.
    names : str
        Regular expression of the names that the database takes for an alias.
    expected : str
        The same in words.

    Raises
    ------
    ConfigError
        If the collection's name is missing or unsuitable.
    """

    too_old: str
    """The part of the error for a server that loses the schema of a new collection: what was found and expected."""

    def __init__(self, url: TargetUrl, names: str, expected: str) -> None:
        self.url = url
        self.alias = url.option("collection")
        if not re.fullmatch(names, self.alias):
            raise ConfigError(
                f"found the collection name {self.alias!r:.80}; expected {expected}; choose another name"
            )

    @abstractmethod
    def exists(self) -> bool:
        """Tell whether there is a database; a folder is not created by looking into it."""

    @abstractmethod
    def collections(self) -> set[str]:
        """Return the names of all collections; aliases are not among them."""

    @abstractmethod
    def aliased(self) -> str | None:
        """Return the collection that the alias names; None if there is no such alias."""

    @abstractmethod
    def schema_of(self, name: str) -> TargetSchema | None:
        """Return the schema that a collection holds; None if it is not one of ours."""

    @abstractmethod
    def table(self, name: str, schema: TargetSchema) -> Table:
        """Return the object of a collection, which need not exist."""

    @abstractmethod
    def point_alias(self, name: str | None) -> None:
        """Let the alias name a collection, by one request; None removes it."""

    @abstractmethod
    def remove(self, name: str) -> None:
        """Drop a collection."""

    def used(self) -> set[str]:
        """Return all names that a new collection must not have."""
        return self.collections()

    def before_switch(self, staged: Table) -> None:
        """Do nothing: an engine prepares the staged generation for its readers."""

    def live(self) -> Table | None:
        """Return the generation that the alias names."""
        name = self._shown() if self.exists() else None
        return None if name is None else self._open(name)

    def staged(self) -> Table | None:
        """Return the generation after the live one."""
        if not self.exists():
            return None
        shown, last = self._shown(), max(self._generations(), default=0)
        return self._open(self._name(last)) if last > self._number(shown) else None

    def create(self, schema: TargetSchema) -> Table:
        """Create an empty generation and the alias; generations without an alias are dropped."""
        if self._shown() is not None:
            raise existing_table(self.alias, self.url, "collection")
        unused = self._generations()
        table = self._add(schema)
        self.point_alias(table.name)
        self._remove(unused)
        return table

    def stage(self, schema: TargetSchema) -> Table:
        """Create an empty generation."""
        self._remove_unseen()
        return self._add(schema)

    def switch(self) -> None:
        """Point the alias at the staged generation, by one request, then drop the others."""
        staged = self.staged()
        if staged is None:
            raise missing_staged_table(self.alias, self.url, "collection")
        self.before_switch(staged)
        self.point_alias(staged.name)
        self._remove_unseen()

    def drop(self) -> None:
        """Drop the alias, then its generations."""
        if not self.exists():
            return
        if self._shown() is not None:
            self.point_alias(None)
        self._remove(self._generations())

    def _shown(self) -> str | None:
        """Return the collection that the alias names; raise ConfigError if it is not one of ours."""
        taken = self.alias in self.collections()
        name = None if taken else self.aliased()
        if taken or (name is not None and not (self._number(name) and self.schema_of(name))):
            raise foreign_table(self.alias, self.url, "collection")
        return name

    def _generations(self) -> list[int]:
        """Return the numbers of the generations; collections that gem-index did not create are not among them."""
        numbers = map(self._number, self.collections())
        return sorted(number for number in numbers if number and self.schema_of(self._name(number)))

    def _add(self, schema: TargetSchema) -> Table:
        """Create an empty generation after all others."""
        number = 1 + max(map(self._number, self.used()), default=0)
        table = self.table(self._name(number), schema)
        table.create()
        if self.schema_of(table.name) != schema:
            self._remove([number])
            raise ConfigError(self.too_old.format(url=self.url))
        return table

    def _remove_unseen(self) -> None:
        """Drop the generations that the alias does not name."""
        seen = self._number(self._shown())
        self._remove(number for number in self._generations() if number != seen)

    def _remove(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            self.remove(self._name(number))

    def _open(self, name: str) -> Table | None:
        schema = self.schema_of(name)
        return None if schema is None else self.table(name, schema)

    def _name(self, number: int) -> str:
        return f"{self.alias}__gem_{number}"

    def _number(self, name: str | None) -> int:
        """Return the number of a generation; 0 if the name is not one of a generation."""
        found = re.fullmatch(re.escape(self.alias) + r"__gem_([1-9][0-9]{0,8})", name or "")
        return int(found[1]) if found else 0
