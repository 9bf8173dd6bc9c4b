"""What a system has to do to be measured."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from benchmarks.peers.data import Data
from benchmarks.peers.measuring import Way


class Engine(ABC):
    """A system that is searched.

    Attributes
    ----------
    package : str
        Whose version is noted.
    modules : tuple of str
        What a search imports.
    environment : mapping
        Variables for the process that searches.
    largest : int, optional
        Number of documents above which it is left out.
    """

    package: str
    modules: tuple[str, ...]
    environment: Mapping[str, str] = MappingProxyType({})
    largest: int | None = None

    @abstractmethod
    def open(self, data: Data, folder: Path) -> dict[str, Way]:
        """Open what was built, or fill it if it lives in memory, and return the ways to search it by name."""


class StoredEngine(Engine):
    """A system that one process builds in a folder, and another one opens."""

    @abstractmethod
    def build(self, data: Data, folder: Path) -> None:
        """Store and index all documents in an empty folder."""


class Graph(NamedTuple):
    """The parameters of a graph: links of a node, and the breadth of the search when it is built."""

    links: int
    breadth: int

    def __str__(self) -> str:
        return f"graph of {self.links} links, {self.breadth} when built"


def graph_for(documents: int) -> Graph:
    """Return what all graphs of a number of documents are built with.

    32 and 200 are what our kind ``hnsw`` has. For a million they would take some systems an hour on two cores.
    """
    return Graph(32, 200) if documents <= 200_000 else Graph(16, 100)


BREADTHS = (16, 32, 64, 128, 256, 512, 1024)
"""Of a search in a graph."""
