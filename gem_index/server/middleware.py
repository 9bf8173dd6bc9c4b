"""What is done with every request: host, size and time of the body, headers, an id, a line of the log, the metrics."""

from __future__ import annotations

import asyncio
import json
import logging
import time
import uuid
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias

from gem_index.server.metrics import Metrics
from gem_index.server.settings import Limits

__all__ = ["Guard"]

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

_LOG = logging.getLogger("gem_index.server")
_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
)
_LOCAL = ("localhost", "127.0.0.1", "[::1]")


class _RefusedError(Exception):
    def __init__(self, status: int, problem: str) -> None:
        super().__init__(problem)
        self.status = status


class Guard:
    """Wraps an application.

    Parameters
    ----------
    app : callable
    limits : Limits
    hosts : frozenset of str, optional
        Names that the header Host may hold, so that a page of another site cannot reach a local server under its own name
        (DNS rebinding); None for any.
    metrics : Metrics
    streams : callable
        Tells of a path whether its body is a stream, which is bounded line by line instead.
    """

    def __init__(
        self,
        app: App,
        limits: Limits,
        hosts: frozenset[str] | None,
        metrics: Metrics,
        streams: Callable[[str], bool],
    ) -> None:
        self._app = app
        self._limits = limits
        self._hosts = hosts
        self._metrics = metrics
        self._streams = streams

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id, started, status = uuid.uuid4().hex, time.perf_counter(), 500
        begun = False

        async def answer(message: Message) -> None:
            nonlocal status, begun
            if message["type"] == "http.response.start":
                status, begun = message["status"], True
                message["headers"] = [
                    *message.get("headers", ()),
                    *_HEADERS,
                    (b"x-request-id", request_id.encode()),
                ]
            await send(message)

        try:
            self._check_host(scope)
            body = receive if self._streams(scope["path"]) else self._bounded(scope, receive)
            await self._app(scope, body, answer)
        except _RefusedError as error:
            if not begun:
                await _refuse(answer, error)
        finally:
            route = getattr(scope.get("route"), "path", "other")
            seconds = time.perf_counter() - started
            self._metrics.note(scope["method"], route, status, seconds)
            line = {"request": request_id, "method": scope["method"], "route": route, "status": status}
            _LOG.info(json.dumps(line | {"ms": round(1e3 * seconds, 2)}))

    def _check_host(self, scope: MutableMapping[str, Any]) -> None:
        if self._hosts is None:
            return
        named = dict(scope["headers"]).get(b"host", b"").decode("latin-1")
        name = named.rpartition(":")[0] if named.rpartition(":")[2].isdigit() else named
        if name.lower() not in self._hosts:
            raise _RefusedError(403, f"the header Host holds {name[:100]!r}; expected a name of this server")

    def _bounded(self, scope: MutableMapping[str, Any], receive: Receive) -> Receive:
        """Return a receive that raises if a body is too large, or too slow."""
        most, stop = self._limits.body, time.monotonic() + self._limits.seconds
        declared = dict(scope["headers"]).get(b"content-length", b"0")
        if declared.isdigit() and int(declared) > most:
            raise _RefusedError(413, f"the body has {int(declared)} bytes; expected at most {most}")
        size, whole = 0, False

        async def take() -> Message:
            nonlocal size, whole
            if whole:  # waits for the client to go
                return await receive()
            try:
                message = await asyncio.wait_for(receive(), max(0.001, stop - time.monotonic()))
            except TimeoutError:
                raise _RefusedError(
                    408, f"the body did not arrive in {self._limits.seconds:g} seconds; expected it faster"
                ) from None
            size += len(message.get("body", b""))
            whole = not message.get("more_body", False)
            if size > most:
                raise _RefusedError(413, f"the body has more than {most} bytes; expected fewer")
            return message

        return take


async def _refuse(send: Send, error: _RefusedError) -> None:
    body = json.dumps({"error": {"message": str(error), "type": "invalid_request_error"}}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": error.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
