"""An assistant's client of the Model Context Protocol: the SDK's own, for tests without coroutines."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

import httpx2
from anyio.from_thread import start_blocking_portal
from mcp import Client, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult, Tool

MAIN = "from gem_index_cli.start import main; main()"


class Assistant:
    """Speaks to a server until the block ends.

    Parameters
    ----------
    server : StdioServerParameters, str or mcp.server.Server
        What starts it, its address, or the server itself, in this process.
    key : str, optional
        For an address.
    mode : str
        ``legacy`` for the handshake of clients before 2026.
    """

    def __init__(self, server: Any, key: str | None = None, mode: str = "auto") -> None:
        self._stack = ExitStack()
        self._server, self._key, self._mode = server, key, mode

    def __enter__(self) -> Assistant:
        portal = self._stack.enter_context(start_blocking_portal())
        self._call = portal.call
        server = self._server
        if isinstance(server, str):
            headers = {} if self._key is None else {"Authorization": f"Bearer {self._key}"}
            http = httpx2.AsyncClient(headers=headers, timeout=60)
            self._stack.callback(portal.call, http.aclose)
            server = streamable_http_client(server, http_client=http)
        elif isinstance(server, StdioServerParameters):
            server = stdio_client(server)
        opened = Client(server, mode=self._mode)
        self.client = self._stack.enter_context(portal.wrap_async_context_manager(opened))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.__exit__(kind, error, trace)

    def tools(self) -> dict[str, Tool]:
        return {tool.name: tool for tool in self._call(self.client.list_tools).tools}

    def call(self, tool: str, **arguments: Any) -> CallToolResult:
        found = self._call(self.client.call_tool, tool, arguments)
        assert isinstance(found, CallToolResult)
        return found

    def answer(self, tool: str, **arguments: Any) -> Any:
        """Return the structured answer of a tool that succeeds."""
        found = self.call(tool, **arguments)
        assert not found.is_error, found.content
        return found.structured_content

    def problem(self, tool: str, **arguments: Any) -> str:
        """Return what a tool says that fails: one line."""
        found = self.call(tool, **arguments)
        [part] = found.content
        assert found.is_error
        assert found.structured_content is None
        assert "\n" not in part.text
        return str(part.text)


def command(home: Path, *options: str, code: str = MAIN) -> StdioServerParameters:
    """Return what starts ``gem-index mcp`` of this checkout, which PYTHONPATH may name."""
    arguments = ["-c", code, "--home", str(home), "mcp", *options]
    return StdioServerParameters(command=sys.executable, args=arguments, env=dict(os.environ))
