"""Encode texts of requests that arrive together in one batch, in a thread; the number of waiting texts is limited."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from gem_index.arrays import F32
from gem_index.gem.combined import Encoder
from gem_index.server.errors import OverloadedError

__all__ = ["EncodingQueue"]

_TOGETHER = 4096  # texts of several requests


@dataclass(frozen=True)
class _Request:
    encoder: Encoder
    texts: Sequence[str]
    answer: asyncio.Future[F32]


class EncodingQueue:
    """Encodes texts for coroutines of one event loop.

    While texts are encoded, new requests wait. Then all waiting texts for the same encoder are encoded together. A vector
    depends only on its text, so the other texts of a batch do not change it.

    Parameters
    ----------
    most_waiting : int
        Number of texts that may wait; a request with more is refused, unless no text waits.
    """

    def __init__(self, most_waiting: int) -> None:
        self._most_waiting = most_waiting
        self._waiting: OrderedDict[int, deque[_Request]] = (
            OrderedDict()
        )  # by the encoder's identity
        self._texts = 0
        self._running: asyncio.Task[None] | None = None
        self._pool = ThreadPoolExecutor(1, "gem-index-encode")

    @property
    def waiting(self) -> int:
        """The number of waiting texts."""
        return self._texts

    async def encode(self, encoder: Encoder, texts: Sequence[str]) -> F32:
        """Return the unit vectors of texts, float32 (n, dimension).

        Raises
        ------
        OverloadedError
            If too many texts wait already.
        """
        if self._texts and self._texts + len(texts) > self._most_waiting:
            raise OverloadedError(self._texts, "texts")
        answer: asyncio.Future[F32] = asyncio.get_running_loop().create_future()
        request = _Request(encoder, texts, answer)
        self._waiting.setdefault(id(encoder), deque()).append(request)
        self._texts += len(texts)
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
            batch = self._next_batch()
            wanted = [request for request in batch if not request.answer.cancelled()]
            if wanted:
                await self._answer(wanted)
            self._texts -= sum(len(request.texts) for request in batch)

    def _next_batch(self) -> list[_Request]:
        """Take requests of the longest waiting encoder, at least one; its others wait behind the other encoders."""
        key, requests = self._waiting.popitem(last=False)
        batch = [requests.popleft()]
        count = len(batch[0].texts)
        while requests and count + len(requests[0].texts) <= _TOGETHER:
            batch.append(requests.popleft())
            count += len(batch[-1].texts)
        if requests:
            self._waiting[key] = requests
        return batch

    async def _answer(self, batch: list[_Request]) -> None:
        loop = asyncio.get_running_loop()
        texts = [text for request in batch for text in request.texts]
        try:
            vectors = await loop.run_in_executor(self._pool, batch[0].encoder.encode, texts)
        except Exception as error:  # noqa: BLE001 - each waiting request is told
            if len(batch) > 1:  # one of them caused the error
                for request in batch:
                    await self._answer([request])
            elif not batch[0].answer.done():
                batch[0].answer.set_exception(error)
            return
        begin = 0
        for request in batch:
            end = begin + len(request.texts)
            if not request.answer.done():
                request.answer.set_result(vectors[begin:end])
            begin = end
