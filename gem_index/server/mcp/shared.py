"""The common parts of the tools: their collections, and the forms of arguments and answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, Field, PlainSerializer, model_validator

from gem_index.collection import Collection
from gem_index.collection.push.searching import SearchedTarget
from gem_index.collection.results import CollectionStatus
from gem_index.common.json_input import parse_json
from gem_index.errors import Action, Advice, UnknownNameError
from gem_index.home.collection_group import CollectionGroup
from gem_index.server.bodies import StrictBody
from gem_index.server.context import Pool, ServerContext

__all__ = [
    "Answer",
    "Arguments",
    "CollectionName",
    "Identifier",
    "Rounded",
    "SharedCollections",
    "ToolKind",
    "counted",
    "from_json",
]

_Result = TypeVar("_Result")


class SharedCollections:
    """The collections that the tools see.

    Parameters
    ----------
    context : ServerContext
    only : collection of str, optional
        Names of collections that the tools can see; the others are unknown to them. By default all.
    """

    def __init__(self, context: ServerContext, only: frozenset[str] | None = None) -> None:
        self.context = context
        self._only = only

    async def ask(
        self, name: str, question: Callable[[Collection], _Result], *, pool: Pool = "lookup"
    ) -> _Result:
        """Return the result of a function that reads a collection; ``pool`` as for the context's method."""
        return await self.context.ask(self._shown(name), question, pool=pool)

    async def ask_searched(
        self,
        name: str,
        question: Callable[[Collection | SearchedTarget], _Result],
        *,
        pool: Pool = "lookup",
    ) -> _Result:
        """Return the result of a function that searches or reads a collection or a table of a vector database."""
        shown = name if self.context.tables.find(name) else self._shown(name)
        return await self.context.ask_searched(shown, question, pool=pool)

    async def ask_group(
        self, names: Sequence[str], question: Callable[[CollectionGroup], _Result]
    ) -> _Result:
        """Return the result of a function that searches several collections together."""
        return await self.context.ask_group(list(map(self._shown, names)), question, pool="long")

    async def change(self, name: str, work: Callable[[Collection], _Result]) -> _Result:
        """Return the result of a function that writes to a collection."""
        return await self.context.change(self._shown(name), work)

    async def listed(self) -> list[CollectionStatus]:
        """Return the status of each collection, by name."""
        found = await self.context.read(self.context.home.collections)
        return [each for each in found if self._is_shown(each.name)]

    def _is_shown(self, name: str) -> bool:
        return self._only is None or name in self._only

    def _shown(self, name: str) -> str:
        self.context.tables.check_collection(name)
        if not self._is_shown(name):
            raise UnknownNameError(
                "collection", name, self._only or (), Advice(Action.MAKE_COLLECTION)
            )
        return name


class Arguments(StrictBody):
    """The arguments of a tool; a misspelled name is an error, capital letters in it are not."""

    @model_validator(mode="before")
    @classmethod
    def _in_small_letters(cls, found: Any) -> Any:
        if not isinstance(found, dict):
            return found
        known = {each.alias or name for name, each in cls.model_fields.items()}
        names = {name: str(name).lower() for name in found}
        return {
            small if small in known and small not in found else name: found[name]
            for name, small in names.items()
        }


def from_json(given: object) -> object:
    """Return the value of a text of JSON, as some assistants send an object; any other value unchanged."""
    if not isinstance(given, str) or not given.lstrip().startswith(("{", "[")):
        return given
    try:
        return parse_json(given)
    except ValueError:
        return given  # its type is refused


class Answer(BaseModel, ABC):
    """The answer of a tool."""

    @property
    @abstractmethod
    def summary(self) -> str:
        """The answer in a sentence."""


CollectionName = Annotated[
    str, Field(description="Name of a collection, as list_collections returns it.", max_length=200)
]
Identifier = Annotated[str, Field(min_length=1, max_length=512)]
Rounded = Annotated[float, PlainSerializer(lambda value: round(float(value), 4))]
"""A number with as many digits as an assistant needs."""


@dataclass(frozen=True)
class ToolKind:
    """A tool: its name and description for the assistant, its arguments and answer, and the function that answers."""

    name: str
    title: str
    description: str
    arguments: type[Arguments]
    answer: type[Answer]
    run: Callable[[SharedCollections, Any], Awaitable[Answer]]
    writes: bool = False


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, singular or plural."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
