"""The state that all routes share: the home, the models, the queue of texts, the threads, the limits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import BoundedSemaphore, Event
from typing import Any, Literal, TypeAlias, TypeVar

from gem_index.collection import Collection
from gem_index.collection.push.searching import SearchedTarget
from gem_index.collection.state.batching import LARGEST_BATCH
from gem_index.common.arrays import F32
from gem_index.common.settings import load_settings
from gem_index.errors import InputError
from gem_index.errors.quoting import quoted
from gem_index.gem.combined import Encoder
from gem_index.home import Home
from gem_index.home.collection_group import CollectionGroup
from gem_index.server.backup_folder import BackupFolder
from gem_index.server.encoding import EncodingQueue
from gem_index.server.errors import (
    NoBackupsError,
    OverloadedError,
    ShuttingDownError,
    TooLargeError,
    WriterBusyError,
)
from gem_index.server.memory import Memory
from gem_index.server.models import ServedModels
from gem_index.server.open_collections import OpenCollections
from gem_index.server.settings import Limits
from gem_index.server.tables import ServedTables
from gem_index.server.words import CollectionWords, JsonRows, ModelWords
from gem_index.sparse import SparseEncoder
from gem_index.text.tokens import check_text

__all__ = ["UPLOADS", "Pool", "ServerContext", "search_pool"]

UPLOADS = 4
"""Number of files that may arrive, or wait to be stored, at once: each takes space on the disk."""

_GRACE = 2.0  # seconds for running work to notice that the server ends

Pool: TypeAlias = Literal["lookup", "batched", "alone", "long"]
"""The threads of a read: of lookups, of short searches that a collection answers together or alone, of long reads."""

_Result = TypeVar("_Result")


def search_pool(*, long: object, alone: object) -> Pool:
    """Return the pool of a search; it may take ``long``, or the collection answers it ``alone``, as with a filter."""
    return "long" if long else "alone" if alone else "batched"


class ServerContext:
    """The state of one server process.

    Parameters
    ----------
    home : Home
    limits : Limits
    threads : int
        Number of processors to use. Reads that may take long have this number of threads, other reads one more: more threads
        would only wait for each other, and the event loop for them. Searches that are answered together have
        ``LARGEST_BATCH`` times as many, because a collection answers those that wait in their threads.
    aliases : mapping of str to str
        Further names of models.
    targets : mapping of str to str
        Vector databases that requests may push to, by name, because a request may not contain a URL.
    tables : mapping of str to str, optional
        Tables of vector databases that are searched as collections are, by name.
    backups : BackupFolder, optional
        Where requests may make backups.

    Raises
    ------
    ConfigError, UnknownNameError, MissingTargetError
        As from :class:`~gem_index.server.tables.ServedTables`.
    """

    def __init__(
        self,
        home: Home,
        limits: Limits,
        threads: int,
        aliases: Mapping[str, str],
        targets: Mapping[str, str],
        tables: Mapping[str, str] | None = None,
        backups: BackupFolder | None = None,
    ) -> None:
        self.home = home
        self.limits = limits
        self.targets = dict(targets)
        self.tables = ServedTables(home, tables or {})
        self.backups = backups
        self.collections = OpenCollections(home)
        self.models = ServedModels(home, self._encoder_of, aliases)
        self.memory = Memory(limits.memory)
        self.encoding = EncodingQueue(limits.waiting, limits.work)
        self._background = ModelWords(SparseEncoder.background())
        self._collection_words = CollectionWords()
        self._readers: dict[Pool, ThreadPoolExecutor] = {
            "lookup": ThreadPoolExecutor(threads + 1, "gem-index-read"),
            "batched": ThreadPoolExecutor(threads * LARGEST_BATCH, "gem-index-search"),
            "alone": ThreadPoolExecutor(threads + 1, "gem-index-search-alone"),
            "long": ThreadPoolExecutor(threads, "gem-index-read-long"),
        }
        self._writer = ThreadPoolExecutor(1, "gem-index-write")
        self._examiner = ThreadPoolExecutor(1, "gem-index-examine")
        # the second thread refuses a backup while the first one makes another
        self._backups = ThreadPoolExecutor(2, "gem-index-backup")
        self.upload_places = BoundedSemaphore(UPLOADS)
        self._write_turn = asyncio.Lock()
        self._ending = Event()
        self._waiting = 0
        self._running: set[asyncio.Future[Any]] = set()

    @property
    def waiting(self) -> int:
        """The number of requests that wait for a thread or use one."""
        return self._waiting

    async def read(self, work: Callable[[], _Result], *, pool: Pool = "lookup") -> _Result:
        """Run a read in a thread of a pool, not on the event loop; ``long`` if it may take longer than a plain search.

        If the caller is cancelled, a read that has not begun is left out.

        Raises
        ------
        OverloadedError
            If too many requests wait already.
        """
        return await self._run(self._readers[pool], work)

    async def write(self, work: Callable[[], _Result]) -> _Result:
        """Run a write in the writing thread; if it has begun, it is finished even if its client disconnects.

        Raises
        ------
        OverloadedError
            If too many requests wait already.
        WriterBusyError
            If other writes take longer than ``GEM_INDEX_LOCK_TIMEOUT`` seconds.
        """
        self._check_waiting()
        self._waiting += 1
        try:
            async with asyncio.timeout(load_settings().lock_timeout):
                await self._write_turn.acquire()
        except TimeoutError:
            raise WriterBusyError from None
        finally:
            self._waiting -= 1
        writing = asyncio.ensure_future(self._run(self._writer, work))
        writing.add_done_callback(lambda _: self._write_turn.release())
        return await asyncio.shield(writing)

    async def ask(
        self, name: str, question: Callable[[Collection], _Result], *, pool: Pool = "lookup"
    ) -> _Result:
        """Return the result of a function that reads a collection; ``pool`` as for :meth:`read`."""
        self.tables.check_collection(name)
        return await self.read(lambda: self.collections.ask(name, question), pool=pool)

    async def ask_group(
        self,
        names: Sequence[str],
        question: Callable[[CollectionGroup], _Result],
        *,
        pool: Pool = "lookup",
    ) -> _Result:
        """Return the result of a function that searches several collections together."""
        for name in names:
            self.tables.check_collection(name)
        return await self.read(
            lambda: self.collections.ask_all(
                list(dict.fromkeys(names)), lambda found: question(CollectionGroup(found))
            ),
            pool=pool,
        )

    async def ask_searched(
        self,
        name: str,
        question: Callable[[Collection | SearchedTarget], _Result],
        *,
        pool: Pool = "lookup",
    ) -> _Result:
        """Return the result of a function that searches or reads a collection or a table of a vector database."""
        table = self.tables.find(name)
        if table is None:
            return await self.ask(name, question, pool=pool)
        return await self._run(table.thread, lambda: table.ask(question))

    async def examine(self, name: str, question: Callable[[Collection], _Result]) -> _Result:
        """Return the result of a function that reads a whole collection; one runs at a time, while searches continue."""
        self.tables.check_collection(name)
        return await self._run(self._examiner, lambda: self.collections.ask(name, question))

    async def change(self, name: str, work: Callable[[Collection], _Result]) -> _Result:
        """Return the result of a function that writes to a collection."""
        self.tables.check_collection(name)
        return await self.write(lambda: self.collections.ask(name, work))

    def backup_folder(self) -> BackupFolder:
        """Return the folder of the backups.

        Raises
        ------
        NoBackupsError
            If the server was started without one.
        """
        if self.backups is None:
            raise NoBackupsError
        return self.backups

    async def back_up(self, work: Callable[[], _Result]) -> _Result:
        """Make a backup beside all other requests."""
        return await self._run(self._backups, work)

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

    async def encode_words(self, model: str, texts: Sequence[object], *, queries: bool) -> JsonRows:
        """Check texts, and return the JSON of the sparse vectors of their words, of documents or of queries.

        The limits and errors are the same as for :meth:`encode`.
        """
        checked = self.check_texts(texts)
        words = await self._words_of(model)
        return await self.encoding.encode(words.queries if queries else words.documents, checked)

    async def _words_of(self, model: str) -> ModelWords:
        name = await self.read(lambda: self.models.collection_of(model))
        if name is None:
            await self.model(model)  # refuses an unknown name
            return self._background
        kept = await self.ask(name, self._collection_words.find)
        if kept is not None:
            return kept
        return await self.examine(
            name,
            lambda collection: self._collection_words.read(
                collection, lambda *_: self.check_not_ending()
            ),
        )

    def check_query(self, query: object, what: str = "query") -> str:
        """Return a query that is within the limits.

        Raises
        ------
        TooLargeError
            If it is longer than the limits say.
        """
        [text] = self.check_texts([query])
        if len(text) > self.limits.query:
            raise TooLargeError(
                f"the {what} has {len(text)} characters; expected at most {self.limits.query}: a longer text is a document"
            )
        return text

    def check_not_ending(self) -> None:
        """Stop work that reports its progress when the server ends.

        Raises
        ------
        ShuttingDownError
            If the server ends.
        """
        if self._ending.is_set():
            raise ShuttingDownError

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

    async def close(self) -> bool:
        """Close the context: stop the work that reports its progress, and wait some seconds for all other work.

        Returns
        -------
        bool
            Whether all work has ended; otherwise its threads still run.
        """
        self._ending.set()
        await self.encoding.close()
        if self._running:
            await asyncio.wait(self._running, timeout=_GRACE)
        ended = not self._running
        for pool in (
            *self._readers.values(), self._writer, self._examiner, self._backups,
        ):  # fmt: skip
            pool.shutdown(wait=ended, cancel_futures=True)
        for table in self.tables:
            table.close(wait=ended)
        return ended

    def _check_waiting(self) -> None:
        if self._waiting >= self.limits.requests:
            raise OverloadedError(self._waiting, "requests")

    async def _run(self, pool: ThreadPoolExecutor, work: Callable[[], _Result]) -> _Result:
        self._check_waiting()
        self._waiting += 1
        job = pool.submit(work)
        running = asyncio.wrap_future(job)
        self._running.add(running)
        running.add_done_callback(self._ended)
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            job.cancel()  # if its thread has begun, the work continues
            raise

    def _ended(self, running: asyncio.Future[Any]) -> None:
        self._waiting -= 1
        self._running.discard(running)
        if not running.cancelled():
            running.exception()  # a waiting client has the error already

    def _encoder_of(self, name: str) -> Encoder:
        return self.collections.ask(name, lambda collection: collection.encoder)
