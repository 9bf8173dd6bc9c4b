"""Repeat calls of a database that cannot be reached for a while, or is overloaded."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from contextlib import suppress
from typing import ParamSpec, TypeVar

from gem_index.errors import TargetUnavailableError

__all__ = ["ATTEMPTS", "FIRST_WAIT", "LONGEST_WAIT", "with_retries"]

ATTEMPTS = 7
FIRST_WAIT = 0.5
"""Seconds before the second attempt; each later wait is about twice as long."""
LONGEST_WAIT = 15.0
"""Seconds."""

_P = ParamSpec("_P")
_R = TypeVar("_R")


def with_retries(call: Callable[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R:
    """Call a function that may be repeated, again if the database is unavailable.

    Waits grow exponentially and are jittered, so that several clients of a server that restarts do not return at once.

    Raises
    ------
    TargetUnavailableError
        Of the last attempt.
    """
    for attempt in range(ATTEMPTS - 1):
        with suppress(TargetUnavailableError):
            return call(*args, **kwargs)
        wait = min(FIRST_WAIT * 2**attempt, LONGEST_WAIT)
        time.sleep(wait + random.uniform(0, FIRST_WAIT))  # noqa: S311 - jitter, no secret
    return call(*args, **kwargs)
