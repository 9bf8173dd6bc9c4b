"""A pytest plugin: each test has its own event loop, which is closed afterwards.

Enable it with ``-p gem_index.testing.event_loops`` in pytest's ``addopts``. It is for frameworks whose synchronous methods
run coroutines in the thread's loop (``asyncio.get_event_loop``): otherwise LlamaIndex creates a loop that nobody closes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

__all__ = ["own_event_loop"]


@pytest.fixture(autouse=True)
def own_event_loop() -> Iterator[None]:
    """Give the thread of a test an event loop, and close it."""
    with asyncio.Runner() as runner:
        runner.get_loop()  # sets it as the thread's; leaving the block unsets it
        yield
