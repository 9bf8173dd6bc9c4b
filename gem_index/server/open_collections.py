"""The collections that a server has open."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from threading import Lock
from typing import TypeVar

from gem_index.collection import Collection
from gem_index.errors import UnknownNameError
from gem_index.home import Home

__all__ = ["OpenCollections"]

_Result = TypeVar("_Result")
_MOST = 64  # each maps its index, and may have vectors of its newest documents in memory


class OpenCollections:
    """Keeps collections open, so that their indexes stay mapped; the least recently used are closed.

    Parameters
    ----------
    home : Home
    """

    def __init__(self, home: Home) -> None:
        self._home = home
        self._open: OrderedDict[str, Collection] = OrderedDict()
        self._lock = Lock()

    def ask(self, name: str, question: Callable[[Collection], _Result]) -> _Result:
        """Return the result of a function of a collection; raises like :meth:`ask_all`."""
        return self.ask_all([name], lambda found: question(found[0]))

    def ask_all(
        self, names: Sequence[str], question: Callable[[Sequence[Collection]], _Result]
    ) -> _Result:
        """Return the result of a function of several collections.

        Raises
        ------
        UnknownNameError
            If there is none of one of the names.
        """
        held = [self._find(name) or self._open_again(name) for name in names]
        try:
            return question(held)
        except UnknownNameError as error:
            if error.kind != "collection":
                raise
            for each in held:  # one was dropped; another collection may have its name now
                self._forget(each)
        return question([self._open_again(name) for name in names])

    def _find(self, name: str) -> Collection | None:
        with self._lock:
            if name in self._open:
                self._open.move_to_end(name)
            return self._open.get(name)

    def _open_again(self, name: str) -> Collection:
        found = self._home.collection(name)
        with self._lock:
            found = self._open.setdefault(name, found)
            while len(self._open) > _MOST:
                self._open.popitem(last=False)
        return found

    def _forget(self, collection: Collection) -> None:
        with self._lock:
            if self._open.get(collection.name) is collection:
                del self._open[collection.name]
