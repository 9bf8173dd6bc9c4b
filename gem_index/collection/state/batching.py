"""Answer concurrent requests in batches: one thread answers several waiting requests together."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Generic, TypeVar

from gem_index.common.forking import ForkSafeLock

__all__ = ["LARGEST_BATCH", "Batcher"]

Request = TypeVar("Request")
Answer = TypeVar("Answer")

LARGEST_BATCH = 16
"""The largest number of requests that are answered together; each of them waits for the whole batch."""


class _Pending(Generic[Request, Answer]):
    """One caller's request.

    Attributes
    ----------
    batch : list of _Pending
        The requests that this caller answers, its own request first. Empty while this caller waits, and if
        another caller answers this request.
    answer : Answer or None
        The answer that another caller found for this request.
    ready : Lock
        Locked until the caller gets a batch or an answer, or must run its request alone.
    """

    def __init__(self, request: Request) -> None:
        self.request = request
        self.batch: list[_Pending[Request, Answer]] = []
        self.answer: Answer | None = None
        self.ready = Lock()
        self.ready.acquire()


class Batcher(Generic[Request, Answer]):
    """Lets a few callers work at the same time; each caller answers a batch of waiting requests. Thread-safe.

    Without batches, each search would need its own transaction, and the threads would pass the interpreter's lock to
    each other many times per search. The transaction of a batch begins after all its requests have arrived. So each
    caller sees what it wrote before.

    Parameters
    ----------
    workers : int
        The largest number of callers that work at the same time.
    """

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._lock = ForkSafeLock()
        self._process = os.getpid()
        self._working = 0
        self._queue: list[_Pending[Request, Answer]] = []

    def answer(
        self, request: Request, answer_all: Callable[[Sequence[Request]], list[Answer]]
    ) -> Answer:
        """Return the answer to a request.

        Parameters
        ----------
        request : Request
        answer_all : callable
            Returns the answers to several requests. All callers pass the same function. If the function raises, each
            caller runs its request alone.
        """
        mine: _Pending[Request, Answer] = _Pending(request)
        answers: list[Answer] = []
        try:
            self._enter(mine)
            if not mine.batch:
                mine.ready.acquire()
            if mine.batch:
                answers = _answers([each.request for each in mine.batch], answer_all)
        finally:
            self._leave(mine, answers)
        if answers:
            return answers[0]
        return mine.answer if mine.answer is not None else answer_all([request])[0]

    def _enter(self, mine: _Pending[Request, Answer]) -> None:
        """Start a batch if fewer than ``workers`` callers work, else join the queue."""
        with self._lock:
            if self._process != os.getpid():
                # a forked process does not have the threads of its parent: begin with an empty queue
                self._process, self._working, self._queue = os.getpid(), 0, []
            if self._working < self._workers:
                self._working += 1
                mine.batch = [mine]
            else:
                self._queue.append(mine)

    def _leave(self, mine: _Pending[Request, Answer], answers: list[Answer]) -> None:
        """Start the next batch of the queue, and give each answer to its caller, even after an interrupt."""
        following: list[_Pending[Request, Answer]] = []
        with self._lock:
            if mine.batch:
                following = self._queue[:LARGEST_BATCH]
                self._queue = self._queue[LARGEST_BATCH:]
                self._working -= not following
            elif mine in self._queue:
                self._queue.remove(mine)
            if following:
                following[0].batch = following
        if following:
            following[0].ready.release()
        for place, other in enumerate(mine.batch[1:], 1):
            other.answer = answers[place] if answers else None
            other.ready.release()


def _answers(
    requests: list[Request], answer_all: Callable[[Sequence[Request]], list[Answer]]
) -> list[Answer]:
    """Return the answers; if there are several requests and one of them raises, return an empty list."""
    if len(requests) == 1:
        return answer_all(requests)
    try:
        return answer_all(requests)
    except Exception:  # noqa: BLE001 - each caller runs its request alone, and gets its own error
        return []
