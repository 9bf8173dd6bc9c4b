"""Every test has an event loop of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _own_event_loop() -> Iterator[None]:
    """Give LlamaIndex a loop and close it: its ``asyncio_run`` otherwise creates one that nobody closes."""
    with asyncio.Runner() as runner:
        runner.get_loop()  # sets it as the thread's; leaving the block unsets it
        yield
