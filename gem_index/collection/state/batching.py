"""Requests of concurrent callers, answered together: who has to wait shares the work with whoever waits too."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Generic, TypeVar

from gem_index.forking import ForkSafeLock

__all__ = ["Batcher"]

Request = TypeVar("Request")
Answer = TypeVar("Answer")

_MOST = 16  # requests of a batch: the last one waits for all of them


class _Turn(Generic[Request, Answer]):
    """One caller's request.

    Attributes
    ----------
    leads : list of _Turn
        Itself and those that it answers, while it has a seat.
    answer : Answer or None
        What the caller that led it has found.
    woken : Lock
        Held until the caller is given a seat, or an answer, or has to ask alone.
    """

    def __init__(self, request: Request) -> None:
        self.request = request
        self.leads: list[_Turn[Request, Answer]] = []
        self.answer: Answer | None = None
        self.woken = Lock()
        self.woken.acquire()


class Batcher(Generic[Request, Answer]):
    """Lets a few callers work at the same time, each for all that wait when its turn comes; thread-safe.

    Threads that all search by themselves hand the interpreter's lock to one another many times a search, and each pays for a
    transaction of its own. A request is answered after it was made: its caller finds what it has stored before.

    Parameters
    ----------
    seats : int
        How many callers work at the same time.
    """

    def __init__(self, seats: int) -> None:
        self._seats = seats
        self._lock = ForkSafeLock()
        self._process = os.getpid()
        self._taken = 0
        self._waiting: list[_Turn[Request, Answer]] = []

    def answer(
        self, request: Request, answer_all: Callable[[Sequence[Request]], list[Answer]]
    ) -> Answer:
        """Return the answer to a request.

        Parameters
        ----------
        request : Request
        answer_all : callable
            Returns the answers to several requests; the same for all callers. If it raises, each caller asks alone.
        """
        mine: _Turn[Request, Answer] = _Turn(request)
        answers: list[Answer] = []
        try:
            self._enter(mine)
            if not mine.leads:
                mine.woken.acquire()
            if mine.leads:
                answers = _answers([turn.request for turn in mine.leads], answer_all)
        finally:
            self._leave(mine, answers)
        if answers:
            return answers[0]
        return mine.answer if mine.answer is not None else answer_all([request])[0]

    def _enter(self, mine: _Turn[Request, Answer]) -> None:
        """Take a free seat, or wait."""
        with self._lock:
            if self._process != os.getpid():
                # a forked child lacks the threads that had seats or waited
                self._process, self._taken, self._waiting = os.getpid(), 0, []
            if self._taken < self._seats:
                self._taken += 1
                mine.leads = [mine]
            else:
                self._waiting.append(mine)

    def _leave(self, mine: _Turn[Request, Answer], answers: list[Answer]) -> None:
        """Hand the seat to those that wait, and the answers to those that were led; also after an interrupt."""
        heirs: list[_Turn[Request, Answer]] = []
        with self._lock:
            if mine.leads:
                heirs, self._waiting = self._waiting[:_MOST], self._waiting[_MOST:]
                self._taken -= not heirs
            elif mine in self._waiting:
                self._waiting.remove(mine)
            if heirs:
                heirs[0].leads = heirs
        if heirs:
            heirs[0].woken.release()
        for place, turn in enumerate(mine.leads[1:], 1):
            turn.answer = answers[place] if answers else None
            turn.woken.release()


def _answers(
    requests: list[Request], answer_all: Callable[[Sequence[Request]], list[Answer]]
) -> list[Answer]:
    """Return the answers; none if there are several requests and one of them raises."""
    if len(requests) == 1:
        return answer_all(requests)
    try:
        return answer_all(requests)
    except Exception:  # noqa: BLE001 - each caller asks again alone, and meets its own error
        return []
