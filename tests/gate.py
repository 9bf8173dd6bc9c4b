"""Threads that are stopped inside a step, so that a race is certain instead of accidental."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

_Result = TypeVar("_Result")


class Gate:
    """Holds the first thread that comes inside until it is opened, and counts those that are inside at once.

    Attributes
    ----------
    entered, most : int
        How many have come inside, and how many were inside at the same time.
    """

    def __init__(self) -> None:
        self.entered = self.most = 0
        self._now = 0
        self._lock = threading.Lock()
        self._first_inside, self._second_inside = threading.Event(), threading.Event()
        self._opened = threading.Event()

    def around(self, work: Callable[..., _Result]) -> Callable[..., _Result]:
        """Return the step with the gate around it."""

        def call(*arguments, **options):
            with self._lock:
                self.entered += 1
                self._now += 1
                self.most = max(self.most, self._now)
                first = self.entered == 1
            if first:
                self._first_inside.set()
                assert self._opened.wait(90)
            else:
                self._second_inside.set()
            try:
                return work(*arguments, **options)
            finally:
                with self._lock:
                    self._now -= 1

        return call

    def run_two(
        self, one: Callable[[], _Result], other: Callable[[], _Result] | None = None
    ) -> tuple[_Result, _Result]:
        """Run something in a thread that is held inside, then again or something else in another; return both results."""
        with ThreadPoolExecutor(2) as pool:
            try:
                first = pool.submit(one)
                assert self._first_inside.wait(90)
                second = pool.submit(other or one)
                # a second thread that may enter enters at once; one that must wait for the lock does not
                self._second_inside.wait(0.5)
            finally:
                self._opened.set()
            return first.result(30), second.result(30)
