"""Base class of targets whose live and staged table have their own names, and the errors of tables of all targets."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar, Generic, TypeVar

from gem_index.errors import ConfigError, ForeignTableError
from gem_index.targets.protocol import TargetSchema, TargetTable
from gem_index.targets.url import TargetUrl

__all__ = [
    "TableTarget",
    "existing_table",
    "foreign_table",
    "missing_staged_table",
    "query_table_name",
]

_LONGEST = 50  # length of a table's name that every engine accepts
_QUERY = "__query"

Table = TypeVar("Table", bound=TargetTable)


def foreign_table(name: str, place: object, option: str = "table") -> ForeignTableError:
    """Return the error of a name that is in use for something that gem-index did not create.

    Parameters
    ----------
    name : str
    place : object
        The database, as messages show it.
    option : str
        The option of the URL that names the table.
    """
    return ForeignTableError(
        f"found {name} in {place}, which gem-index did not create; expected an unused name; "
        f"choose another name in ?{option}="
    )


def existing_table(name: str, place: object, noun: str = "table") -> ConfigError:
    """Return the error of a live table that exists when one is created."""
    return ConfigError(
        f"found the {noun} {name} in {place}; expected none; drop it before it is created"
    )


def missing_staged_table(name: str, place: object, noun: str = "table") -> ConfigError:
    """Return the error of a switch when there is no staged table."""
    return ConfigError(
        f"found no staged {noun} of {name} in {place}; expected one; push in full again"
    )


def query_table_name(name: str) -> str:
    """Return the name of the second table of a table (of query records), at most 50 characters."""
    if len(name) + len(_QUERY) <= _LONGEST:
        return f"{name}{_QUERY}"
    short = hashlib.sha256(name.encode()).hexdigest()[:8]
    return f"{name[: _LONGEST - len(_QUERY) - 9]}_{short}{_QUERY}"


class TableTarget(ABC, Generic[Table]):
    """A live table and perhaps a staged one, each with its own name.

    Parameters
    ----------
    url : TargetUrl
    names : mapping of str to str
        The tables' names by state: ``live``, ``staged``, and states in between that a switch needs.
    """

    noun: ClassVar[str] = "table"
    """What the engine calls a table; the option of the URL that names it is called so, too."""

    def __init__(self, url: TargetUrl, names: Mapping[str, str]) -> None:
        self.url = url
        self.names = dict(names)

    @abstractmethod
    def find(self, state: str) -> Table | None:
        """Return a table; raise :meth:`foreign` if its name is in use for something else."""

    @abstractmethod
    def add(self, state: str, schema: TargetSchema) -> Table:
        """Create an empty table; :meth:`find` has found no table in this state."""

    @abstractmethod
    def remove(self, state: str) -> None:
        """Drop a table of ours, if there is one."""

    def live(self) -> Table | None:
        """Return the table that readers see."""
        return self.find("live")

    def staged(self) -> Table | None:
        """Return the staged table."""
        return self.find("staged")

    def create(self, schema: TargetSchema) -> Table:
        """Create an empty live table."""
        if self.find("live") is not None:
            raise existing_table(self.names["live"], self.url, self.noun)
        return self.add("live", schema)

    def stage(self, schema: TargetSchema) -> Table:
        """Create an empty staged table, in place of an earlier one."""
        self._refuse_foreign_tables()
        self.remove("staged")
        return self.add("staged", schema)

    def drop(self) -> None:
        """Drop all tables, if all are ours."""
        self._refuse_foreign_tables()
        for state in self.names:
            self.remove(state)

    def both(self) -> tuple[Table | None, Table]:
        """Return the live table, if there is one, and the staged one, for a switch.

        Raises
        ------
        ConfigError
            If there is no staged table.
        """
        live, staged = self.find("live"), self.find("staged")
        if staged is None:
            raise missing_staged_table(self.names["live"], self.url, self.noun)
        return live, staged

    def foreign(self, name: str) -> ForeignTableError:
        """Return the error of a name that is in use for something else."""
        return foreign_table(name, self.url, self.noun)

    def _refuse_foreign_tables(self) -> None:
        for state in self.names:
            self.find(state)
