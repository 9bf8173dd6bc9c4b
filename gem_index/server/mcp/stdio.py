"""Carry messages of the Model Context Protocol over standard input and output."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import suppress
from threading import Thread
from typing import Any, cast

import anyio
import anyio.to_thread
from mcp.server import Server
from mcp.server.stdio import stdio_server

from gem_index.server.running import log_as_json

__all__ = ["serve_stdio"]


def serve_stdio(server: Server[Any], output: int) -> None:
    """Serve one client until it closes standard input, or a signal ends it.

    Parameters
    ----------
    server : Server
    output : int
        The descriptor for messages; nothing else may be printed there.
    """
    log_as_json()
    asyncio.run(_serve(server, output))


async def _serve(server: Server[Any], output: int) -> None:
    loop = asyncio.get_running_loop()
    with anyio.CancelScope() as scope:

        def end(number: int) -> None:
            loop.remove_signal_handler(number)  # a second one ends the process at once
            scope.cancel()

        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, end, number)
        # Of files the SDK asks for lines, write and flush. Its own reader of standard input cannot be interrupted.
        streams = stdio_server(
            cast("anyio.AsyncFile[str]", _lines(0)), cast("anyio.AsyncFile[str]", _Output(output))
        )
        try:
            async with streams as (read, write):
                await server.run(read, write, server.create_initialization_options())
        except* BrokenPipeError:
            pass  # the client has closed its end


async def _lines(descriptor: int) -> AsyncIterator[str]:
    """Iterate over lines that a thread reads, for which the end of the process does not wait."""
    loop = asyncio.get_running_loop()
    arrived = asyncio.Queue[bytes]()

    def read() -> None:
        with os.fdopen(descriptor, "rb", closefd=False) as file, suppress(RuntimeError):
            for line in file:
                loop.call_soon_threadsafe(arrived.put_nowait, line)
            loop.call_soon_threadsafe(arrived.put_nowait, b"")

    Thread(target=read, name="gem-index-stdin", daemon=True).start()
    while line := await arrived.get():
        if line.strip():
            yield line.decode("utf-8", "replace")


class _Output:
    """Writes to a descriptor, off the event loop."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    async def write(self, text: str) -> None:
        await anyio.to_thread.run_sync(self._write, text.encode("utf-8"))

    async def flush(self) -> None:
        """Do nothing: every message is written at once."""

    def _write(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._descriptor, data) :]
