"""Encode the texts of many requests in batches; a long request is divided into slices, so short ones do not wait."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from gem_index.server.errors import OverloadedError

__all__ = ["SHORT", "EncodesTexts", "EncodingQueue", "work_of"]

_Rows = TypeVar("_Rows", bound=npt.NDArray[Any])
_Made = TypeVar("_Made", bound=npt.NDArray[Any], covariant=True)

SHORT = 4096
"""Characters of a request that is short; made-up words, which are the slowest, then take some 10 ms."""

_SLICE = 1 << 16  # characters that are encoded at once, of one long request or of several requests
_TOGETHER = 4096  # texts of several requests


def work_of(texts: Sequence[str]) -> int:
    """Return the amount of work for texts: the number of characters, plus one for each text."""
    return len(texts) + sum(map(len, texts))


class EncodesTexts(Protocol[_Made]):
    """Makes rows of texts; a row depends only on its text."""

    def encode(self, texts: Sequence[str]) -> _Made:
        """Return an array with a row for each text."""
        ...


class _Request:
    """The texts of a request, and the vectors of those that are encoded."""

    def __init__(
        self, encoder: EncodesTexts[Any], texts: Sequence[str], answer: asyncio.Future[Any]
    ) -> None:
        self.encoder = encoder
        self.texts = texts
        self.answer = answer
        self.encoded: list[Any] = []
        self.begin = 0

    @property
    def left(self) -> int:
        """The number of texts that are not encoded yet."""
        return len(self.texts) - self.begin

    @property
    def next_size(self) -> int:
        """The characters of the next text."""
        return sum(map(len, self.texts[self.begin : self.begin + 1]))

    def next_slice(self, characters: int, count: int) -> list[str]:
        """Take the next texts, at least one, with about this many characters."""
        end, size = self.begin, 0
        while end < len(self.texts) and end - self.begin < count:
            size += len(self.texts[end])
            if end > self.begin and size > characters:
                break
            end += 1
        taken = list(self.texts[self.begin : end])
        self.begin = end
        return taken

    def add(self, vectors: Any) -> None:
        """Add the vectors of a slice; the last one completes the answer."""
        self.encoded.append(vectors)
        if not self.left and not self.answer.done():
            whole = self.encoded[0] if len(self.encoded) == 1 else np.concatenate(self.encoded)
            self.answer.set_result(whole)

    def fail(self, error: Exception) -> None:
        """Complete the answer with an error."""
        if not self.answer.done():
            self.answer.set_exception(error)


class EncodingQueue:
    """Encodes texts for coroutines of one event loop.

    Short requests have a thread of their own, so that they do not wait for long ones. In each of the two threads, requests
    that wait for the same encoder are encoded together, and a request with much work is encoded in slices, between which the
    others have their turn. A vector depends only on its text, so the other texts of a batch do not change it.

    Parameters
    ----------
    most_texts, most_work : int
        Number of texts, and work by :func:`work_of`, that may wait; a request with more is refused, unless nothing waits.
    """

    def __init__(self, most_texts: int, most_work: int) -> None:
        self._most_texts = most_texts
        self._most_work = most_work
        self._texts = 0
        self._work = 0
        self._short, self._long = _Lane("gem-index-encode"), _Lane("gem-index-encode-long")

    @property
    def waiting(self) -> int:
        """The number of waiting texts."""
        return self._texts

    async def encode(self, encoder: EncodesTexts[_Rows], texts: Sequence[str]) -> _Rows:
        """Return the rows of texts: of an encoder their unit vectors, float32 (n, dimension).

        If the caller is cancelled, the texts that are not encoded yet are left out.

        Raises
        ------
        OverloadedError
            If too many texts wait already.
        """
        work = work_of(texts)
        if self._texts and self._texts + len(texts) > self._most_texts:
            raise OverloadedError(self._texts, "texts")
        if self._texts and self._work + work > self._most_work:
            raise OverloadedError(self._work, "characters of texts")
        lane = self._short if work <= SHORT else self._long
        self._texts += len(texts)
        self._work += work
        try:
            return await lane.encode(encoder, texts)
        finally:
            self._texts -= len(texts)
            self._work -= work

    async def close(self) -> None:
        """Encode all waiting texts."""
        await self._short.close()
        await self._long.close()


class _Lane:
    """One thread that encodes, and the requests that wait for it.

    Parameters
    ----------
    name : str
        Of the thread.
    """

    def __init__(self, name: str) -> None:
        self._waiting: OrderedDict[int, deque[_Request]] = (
            OrderedDict()
        )  # by the encoder's identity
        self._running: asyncio.Task[None] | None = None
        self._pool = ThreadPoolExecutor(1, name)

    async def encode(self, encoder: EncodesTexts[_Rows], texts: Sequence[str]) -> _Rows:
        """Return the vectors of texts."""
        answer: asyncio.Future[_Rows] = asyncio.get_running_loop().create_future()
        self._put(_Request(encoder, texts, answer))
        if self._running is None or self._running.done():
            self._running = asyncio.create_task(self._run())
        return await answer

    async def close(self) -> None:
        """Encode all waiting texts."""
        if self._running is not None:
            await self._running
        self._pool.shutdown()

    async def _run(self) -> None:
        while self._waiting:
            slices = self._next_slices()
            if slices:
                await self._answer(slices)
            for request, _ in slices:
                if request.left:
                    self._put(request)

    def _put(self, request: _Request) -> None:
        self._waiting.setdefault(id(request.encoder), deque()).append(request)

    def _next_slices(self) -> list[tuple[_Request, list[str]]]:
        """Take slices of requests of the longest waiting encoder; its others wait behind the other encoders."""
        key, requests = self._waiting.popitem(last=False)
        slices: list[tuple[_Request, list[str]]] = []
        characters, texts = _SLICE, _TOGETHER
        while requests:
            request = requests[0]
            if request.answer.done():  # its client has disconnected
                requests.popleft()
                continue
            if slices and (request.next_size > characters or not texts):
                break
            taken = requests.popleft().next_slice(characters, texts)
            slices.append((request, taken))
            characters -= sum(map(len, taken))
            texts -= len(taken)
        if requests:
            self._waiting[key] = requests
        return slices

    async def _answer(self, slices: list[tuple[_Request, list[str]]]) -> None:
        loop = asyncio.get_running_loop()
        texts = [text for _, taken in slices for text in taken]
        try:
            vectors = await loop.run_in_executor(self._pool, slices[0][0].encoder.encode, texts)
        except Exception as error:  # noqa: BLE001 - each waiting request is told
            if len(slices) > 1:  # one of them caused the error
                for each in slices:
                    await self._answer([each])
            else:
                slices[0][0].fail(error)
            return
        begin = 0
        for request, taken in slices:
            request.add(vectors[begin : begin + len(taken)])
            begin += len(taken)
