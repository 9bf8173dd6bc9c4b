"""What the routes share: the home, the models, the queue of texts, the limits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from gem_index.arrays import F32
from gem_index.errors import InputError
from gem_index.gem.combined import Encoder
from gem_index.home import Home
from gem_index.quoting import quoted
from gem_index.server.encoding import EncodingQueue
from gem_index.server.errors import TooLargeError
from gem_index.server.models import ServedModels
from gem_index.server.settings import Limits
from gem_index.text import check_text

__all__ = ["ServerContext"]

_Result = TypeVar("_Result")


class ServerContext:
    """The state of one server process.

    Parameters
    ----------
    home : Home
    limits : Limits
    threads : int
        That search and read; more of them would get in one another's way.
    """

    def __init__(self, home: Home, limits: Limits, threads: int) -> None:
        self.home = home
        self.limits = limits
        self.models = ServedModels(home)
        self.encoding = EncodingQueue(limits.waiting)
        self._readers = ThreadPoolExecutor(threads, "gem-index-read")
        self._writer = ThreadPoolExecutor(1, "gem-index-write")

    async def read(self, work: Callable[[], _Result]) -> _Result:
        """Run something that reads, off the event loop."""
        return await asyncio.get_running_loop().run_in_executor(self._readers, work)

    async def write(self, work: Callable[[], _Result]) -> _Result:
        """Run something that writes, off the event loop, one after the other; it is finished even if its client goes."""
        running = asyncio.get_running_loop().run_in_executor(self._writer, work)
        return await asyncio.shield(running)

    async def encode(self, encoder: Encoder, texts: Sequence[object]) -> F32:
        """Check texts, and return their vectors (n, dimension).

        Raises
        ------
        TooLargeError
            If there are more or longer ones than the limits say.
        InputError
            If one is no text.
        """
        return await self.encoding.encode(encoder, self.checked(texts))

    def checked(self, texts: Sequence[object]) -> list[str]:
        """Return texts that are within the limits."""
        if len(texts) > self.limits.texts:
            raise TooLargeError(f"found {len(texts)} texts; expected at most {self.limits.texts}")
        found = []
        for place, text in enumerate(texts):
            if not isinstance(text, str):
                raise InputError(f"text {place} is {quoted(text)}; expected a string")
            if len(text) > self.limits.characters:
                raise TooLargeError(
                    f"text {place} has {len(text)} characters; expected at most {self.limits.characters}"
                )
            found.append(check_text(text, f"text {place}"))
        return found

    async def close(self) -> None:
        """Finish what was accepted."""
        await self.encoding.close()
        self._writer.shutdown()
        self._readers.shutdown()
