"""The state that all routes share: the home, the models, the queue of texts, the threads, the limits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import BoundedSemaphore
from typing import Any, TypeVar

from gem_index.arrays import F32
from gem_index.collection import Collection
from gem_index.errors import InputError
from gem_index.gem.combined import Encoder
from gem_index.home import Home
from gem_index.quoting import quoted
from gem_index.server.encoding import EncodingQueue
from gem_index.server.errors import OverloadedError, TooLargeError
from gem_index.server.memory import Memory
from gem_index.server.models import ServedModels
from gem_index.server.open_collections import OpenCollections
from gem_index.server.settings import Limits
from gem_index.text.tokens import check_text

__all__ = ["UPLOADS", "ServerContext"]

UPLOADS = 4
"""Number of files that may arrive, or wait to be stored, at once: each takes space on the disk."""

_Result = TypeVar("_Result")


class ServerContext:
    """The state of one server process.

    Parameters
    ----------
    home : Home
    limits : Limits
    threads : int
        Number of threads that search and read; more than processors would slow each other down.
    aliases : mapping of str to str
        Further names of models.
    targets : mapping of str to str
        Vector databases that requests may push to, by name, because a request may not contain a URL.
    """

    def __init__(
        self,
        home: Home,
        limits: Limits,
        threads: int,
        aliases: Mapping[str, str],
        targets: Mapping[str, str],
    ) -> None:
        self.home = home
        self.limits = limits
        self.targets = dict(targets)
        self.collections = OpenCollections(home)
        self.models = ServedModels(home, self._encoder_of, aliases)
        self.memory = Memory(limits.memory)
        self.encoding = EncodingQueue(limits.waiting)
        self._readers = ThreadPoolExecutor(threads, "gem-index-read")
        self._writer = ThreadPoolExecutor(1, "gem-index-write")
        self._examiner = ThreadPoolExecutor(1, "gem-index-examine")
        self.upload_places = BoundedSemaphore(UPLOADS)
        self._waiting = 0
        self._running: set[asyncio.Future[Any]] = set()

    @property
    def waiting(self) -> int:
        """The number of requests that wait for a thread or use one."""
        return self._waiting

    async def read(self, work: Callable[[], _Result]) -> _Result:
        """Run a read in a thread, not on the event loop.

        Raises
        ------
        OverloadedError
            If too many requests wait already.
        """
        return await self._run(self._readers, work)

    async def write(self, work: Callable[[], _Result]) -> _Result:
        """Run a write in the writing thread; it is finished even if its client disconnects."""
        return await asyncio.shield(asyncio.ensure_future(self._run(self._writer, work)))

    async def ask(self, name: str, question: Callable[[Collection], _Result]) -> _Result:
        """Return the result of a function that reads a collection."""
        return await self.read(lambda: self.collections.ask(name, question))

    async def examine(self, name: str, question: Callable[[Collection], _Result]) -> _Result:
        """Return the result of a function that reads a whole collection; only one runs at a time, beside searches."""
        return await self._run(self._examiner, lambda: self.collections.ask(name, question))

    async def change(self, name: str, work: Callable[[Collection], _Result]) -> _Result:
        """Return the result of a function that writes to a collection."""
        return await self.write(lambda: self.collections.ask(name, work))

    async def model(self, name: str) -> Encoder:
        """Return the encoder of a model's name or fingerprint.

        Raises
        ------
        UnknownNameError
            If there is none.
        """
        known = self.models.known(name)
        return await self.read(lambda: self.models.get(name)) if known is None else known

    async def encode(self, model: str, texts: Sequence[object]) -> F32:
        """Check texts, and return their unit vectors, float32 (n, dimension); zeros for a text without a word.

        Raises
        ------
        UnknownNameError
            If there is no such model.
        TooLargeError
            If there are more or longer texts than the limits say.
        InputError
            If one is no text.
        OverloadedError
            If too many wait already.
        """
        checked = self.check_texts(texts)
        return await self.encoding.encode(await self.model(model), checked)

    def check_texts(self, texts: Sequence[object]) -> list[str]:
        """Return texts that are within the limits."""
        if len(texts) > self.limits.texts:
            raise TooLargeError(f"found {len(texts)} texts; expected at most {self.limits.texts}")
        return [self._check_text(text, place) for place, text in enumerate(texts)]

    def _check_text(self, text: object, place: int) -> str:
        if not isinstance(text, str):
            raise InputError(f"text {place} is {quoted(text)}; expected a string")
        if len(text) > self.limits.characters:
            raise TooLargeError(
                f"text {place} has {len(text)} characters; expected at most {self.limits.characters}"
            )
        return check_text(text, f"text {place}")

    async def close(self) -> None:
        """Finish the accepted requests."""
        await self.encoding.close()
        while self._running:
            await asyncio.wait(self._running)
        self._writer.shutdown()
        self._readers.shutdown()
        self._examiner.shutdown()

    async def _run(self, pool: ThreadPoolExecutor, work: Callable[[], _Result]) -> _Result:
        if self._waiting >= self.limits.requests:
            raise OverloadedError(self._waiting, "requests")
        self._waiting += 1
        running = asyncio.get_running_loop().run_in_executor(pool, work)
        self._running.add(running)
        running.add_done_callback(self._ended)
        return await asyncio.shield(running)  # the thread goes on even if the client disconnects

    def _ended(self, running: asyncio.Future[Any]) -> None:
        self._waiting -= 1
        self._running.discard(running)
        if not running.cancelled():
            running.exception()  # a waiting client has the error already

    def _encoder_of(self, name: str) -> Encoder:
        return self.collections.ask(name, lambda collection: collection.encoder)
