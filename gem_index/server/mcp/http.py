"""Carry messages of the Model Context Protocol over HTTP (its transport "streamable HTTP")."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, MutableMapping
from contextlib import asynccontextmanager
from typing import Any, cast

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.types import INTERNAL_ERROR, INVALID_REQUEST
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.routing import Route

from gem_index.errors import GemIndexError
from gem_index.errors.quoting import quoted
from gem_index.home import Home
from gem_index.server.errors import error_headers, message_for, status_of
from gem_index.server.guard import REQUEST_ID, Guard, Receive, Send, log_server_error
from gem_index.server.mcp.server import mcp_server
from gem_index.server.memory import Memory
from gem_index.server.metrics import Metrics
from gem_index.server.origins import Origins
from gem_index.server.responses import JsonResponse
from gem_index.server.routing import may_read
from gem_index.server.running import ServeOptions
from gem_index.server.security import KeyRing, needs
from gem_index.server.settings import Limits

__all__ = ["PATH", "mcp_application"]

PATH = "/mcp"


def mcp_application(
    options: ServeOptions, home: Home, *, only: Iterable[str] = (), allow_add: bool = False
) -> Starlette:
    """Return an application that answers assistants at ``/mcp``.

    It keeps no sessions: each request brings its key, and is answered by itself.

    Parameters
    ----------
    options : ServeOptions
        The header Origin, which browsers send, may have the same names as the header Host.
    home : Home
    only, allow_add
        As for :func:`~gem_index.server.mcp.server.mcp_server`.
    """
    limits, hosts = Limits.of_environment(), options.hosts
    allowed = Origins.of(options.origins)
    server = mcp_server(
        home,
        limits,
        only=only,
        tables=options.tables,
        allow_add=allow_add,
        may_write=needs("write"),
    )
    manager = StreamableHTTPSessionManager(
        server, json_response=True, stateless=True, max_request_body_size=limits.body
    )

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with manager.run():
            yield

    app = Starlette(
        routes=[Route(PATH, _Endpoint(manager), methods=["POST"])],
        lifespan=lifespan,
        exception_handlers={GemIndexError: _refused, HTTPException: _unrouted},
    )
    app.router.redirect_slashes = False  # to whatever address the header Host names
    app.state.keys = KeyRing(home, options.permissions, required=options.key_required)
    app.add_middleware(
        Guard,
        limits=limits,
        hosts=hosts,
        origins=allowed,
        metrics=Metrics(),
        memory=Memory(limits.memory),
        streams=lambda _path: False,
        refusal=_refusal,
    )
    if allowed.allowed:
        app.add_middleware(CORSMiddleware, **allowed.cross_origin_rules)
    return app


class _Endpoint:
    """Checks the key of a request before the SDK reads it."""

    def __init__(self, manager: StreamableHTTPSessionManager) -> None:
        self._manager = manager

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        await may_read(request)
        await self._manager.handle_request(scope, receive, send)


async def _refused(request: Request, error: Exception) -> JsonResponse:
    log_server_error(cast("GemIndexError", error), request.scope[REQUEST_ID])
    return _refusal(request.url.path, status_of(error), message_for(error))


async def _unrouted(request: Request, error: Exception) -> JsonResponse:
    assert isinstance(error, HTTPException)
    found = quoted(f"{request.method} {request.url.path}")
    response = _refusal(PATH, error.status_code, f"found {found}; expected POST {PATH}")
    response.headers.update(error.headers or {})
    return response


def _refusal(_path: str, status: int, problem: str) -> JsonResponse:
    """Return an error in the form of JSON-RPC, whatever the path; the id is null, because the message was not read."""
    code = INTERNAL_ERROR if status >= 500 else INVALID_REQUEST
    body = {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": problem}}
    return JsonResponse(body, status, error_headers(status))
