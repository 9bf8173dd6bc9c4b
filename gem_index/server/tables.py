"""The tables of vector databases that a server searches as if they were collections."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from time import monotonic
from typing import TypeVar

from gem_index.collection.push.searching import SearchedTarget
from gem_index.errors import (
    ConfigError,
    GemIndexError,
    InputError,
    TargetUnavailableError,
    UnknownNameError,
)
from gem_index.errors.quoting import quoted
from gem_index.home import Home
from gem_index.targets.registry import check_target

__all__ = ["OnlySearchedError", "ServedTable", "ServedTables"]

_Result = TypeVar("_Result")
_PAUSE = 5.0  # seconds without a call to a database that did not answer: a call takes half a minute, in which others wait


class OnlySearchedError(InputError):
    """A request to a table that only supports searches and reads."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"{quoted(name)} is a table of a vector database; expected a collection: a table can be searched and read only"
        )


class ServedTable:
    """A table that stays open in its own thread, because only one thread may use the clients of some databases.

    Parameters
    ----------
    home : Home
        Whose word vectors are used.
    name : str
    url : str
    """

    def __init__(self, home: Home, name: str, url: str) -> None:
        self.name = name
        self.thread = ThreadPoolExecutor(1, f"gem-index-table-{name}")
        self._home = home
        self._url = url
        self._open: SearchedTarget | None = None
        self._away: TargetUnavailableError | None = None
        self._away_until = 0.0

    def ask(self, question: Callable[[SearchedTarget], _Result]) -> _Result:
        """Return the result of a function of the table; call it in :attr:`thread`.

        Raises
        ------
        ConfigError
            If there is no such table, or it cannot be searched.
        TargetUnavailableError
            If the database does not answer. Calls of the next seconds get the same error at once, a later one connects
            again.
        """
        if self._away is not None and monotonic() < self._away_until:
            raise TargetUnavailableError(self._away.target, self._away.reason)
        try:
            if self._open is None:
                self._open = self._home.target(self._url)
            return question(self._open)
        except InputError:
            raise
        except GemIndexError as error:
            self._close()
            if isinstance(error, TargetUnavailableError):
                self._away, self._away_until = error, monotonic() + _PAUSE
            raise

    def close(self, *, wait: bool) -> None:
        """Close the table and end its thread."""
        self.thread.submit(self._close)
        self.thread.shutdown(wait=wait)

    def _close(self) -> None:
        held, self._open = self._open, None
        if held is not None:
            held.close()


class ServedTables:
    """Tables by name.

    Parameters
    ----------
    home : Home
    urls : mapping of str to str

    Raises
    ------
    ConfigError
        If a URL is malformed, or a collection has the name of a table.
    UnknownNameError, MissingTargetError
        If no installed engine has a URL's scheme.
    """

    def __init__(self, home: Home, urls: Mapping[str, str]) -> None:
        for name, url in urls.items():
            check_target(url)
            if _exists(home, name):
                raise ConfigError(
                    f"{quoted(name)} is a collection of the home; expected another name for the table"
                )
        self._tables = {name: ServedTable(home, name, url) for name, url in urls.items()}

    def __iter__(self) -> Iterator[ServedTable]:
        """Iterate over the tables."""
        return iter(self._tables.values())

    def find(self, name: str) -> ServedTable | None:
        """Return the table of a name; None if there is none."""
        return self._tables.get(name)

    def check_collection(self, name: str) -> None:
        """Raise OnlySearchedError for the name of a table."""
        if name in self._tables:
            raise OnlySearchedError(name)


def _exists(home: Home, name: str) -> bool:
    try:
        home.collection(name)
    except UnknownNameError:
        return False
    return True
