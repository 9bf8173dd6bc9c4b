"""Fork safety: locks that are free in the child, cached properties without a lock, and a gate that delays a fork.

A child has the parent's memory but only the thread that forked: a lock that another thread held would never be released.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Condition, Lock, get_ident
from typing import Any, TypeVar
from weakref import WeakSet

__all__ = ["ForkGate", "ForkSafeLock", "cached_property"]

Result = TypeVar("Result")


class ForkSafeLock:
    """A lock for ``with`` that is free in a forked child, whichever thread held it in the parent."""

    def __init__(self) -> None:
        self._lock = Lock()
        _LOCKS.add(self)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def renew(self) -> None:
        """Free the lock in a child, where the thread that held it does not exist."""
        self._lock = Lock()


_LOCKS: WeakSet[ForkSafeLock] = WeakSet()


def _renew_locks() -> None:
    for lock in list(_LOCKS):
        lock.renew()


os.register_at_fork(after_in_child=_renew_locks)


class ForkGate:
    """A gate that threads enter while no fork runs; a fork waits until no other thread is inside.

    Parameters
    ----------
    before_fork : callable
        Called right before the fork, when no other thread is inside.
    """

    def __init__(self, before_fork: Callable[[], None]) -> None:
        self._before_fork = before_fork
        self._changed = Condition(Lock())
        self._inside: dict[int, int] = {}
        self._closed = False
        os.register_at_fork(
            before=self._close, after_in_parent=self._open, after_in_child=self._renew
        )

    @contextmanager
    def passing(self) -> Iterator[None]:
        """Keep forks out while the block runs; a thread that is inside may enter again."""
        me = get_ident()
        with self._changed:
            self._changed.wait_for(lambda: not self._closed or me in self._inside)
            self._inside[me] = self._inside.get(me, 0) + 1
        try:
            yield
        finally:
            with self._changed:
                self._inside[me] -= 1
                if not self._inside[me]:
                    del self._inside[me]
                    self._changed.notify_all()

    def _close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.wait_for(lambda: not self._inside.keys() - {get_ident()}, _LONGEST_WAIT)
        self._before_fork()

    def _open(self) -> None:
        with self._changed:
            self._closed = False
            self._changed.notify_all()

    def _renew(self) -> None:
        me = get_ident()
        self._changed = Condition(Lock())
        self._inside = {me: self._inside[me]} if me in self._inside else {}
        self._closed = False


_LONGEST_WAIT = (
    60.0  # seconds; then the fork proceeds, and a child that uses the database may find it locked
)


class cached_property(functools.cached_property[Result]):  # noqa: N801 - named like the class it replaces
    """``functools.cached_property`` as of Python 3.12: without a lock, so that two threads may both compute the value."""

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        assert self.attrname is not None
        value = vars(instance)[self.attrname] = self.func(instance)
        return value
