"""A pytest plugin: each test has an event loop of its own, which is closed.

With ``-p gem_index.testing.event_loops`` in pytest's ``addopts``, for frameworks whose synchronous methods run coroutines in
the loop of the thread (``asyncio.get_event_loop``): LlamaIndex otherwise creates one that nobody closes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

__all__ = ["own_event_loop"]


@pytest.fixture(autouse=True)
def own_event_loop() -> Iterator[None]:
    """Give the thread of a test a loop, and close it."""
    with asyncio.Runner() as runner:
        runner.get_loop()  # sets it as the thread's; leaving the block unsets it
        yield
