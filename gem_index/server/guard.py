"""What is done with every request: host, size and time of the body, headers, an id, a line of the log, the metrics."""

from __future__ import annotations

import asyncio
import logging
import re
import time
import traceback
import uuid
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias

from gem_index.quoting import quoted
from gem_index.server.errors import error_response
from gem_index.server.metrics import Metrics
from gem_index.server.settings import Limits

__all__ = ["ACCESS", "Guard"]

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

ACCESS = logging.getLogger("gem_index.server.access")
"""A record a request, whose fields are in the attribute ``fields``; never a text or a key."""

_LOG = logging.getLogger("gem_index.server")
_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
)
_REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")


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
        self._held = 0  # bytes of bodies

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer a request; no error leaves here, so that none is logged with what it quotes."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, status, begun, held = time.perf_counter(), 500, False, 0
        headers = dict(scope["headers"])
        given = headers.get(b"x-request-id", b"")
        request_id = given if _REQUEST_ID.fullmatch(given) else uuid.uuid4().hex.encode()
        added = (*_HEADERS, (b"x-request-id", request_id))

        async def answer(message: Message) -> None:
            nonlocal status, begun
            if message["type"] == "http.response.start":
                status, begun = message["status"], True
                message["headers"] = [*message.get("headers", ()), *added]
            await send(message)

        def hold(size: int) -> None:
            nonlocal held
            held += size
            self._held += size
            if self._held > self._limits.memory:
                raise _RefusedError(503, "the bodies of other requests fill the server's memory; try again in a second")

        try:
            try:
                self._check_host(headers)
                body = self._bounded(headers, receive, hold, stream=self._streams(scope["path"]))
                await self._app(scope, body, answer)
            except _RefusedError as error:
                if not begun:
                    refusal = error_response(scope["path"], error.status, str(error))
                    refusal.headers["Connection"] = "close"
                    await refusal(scope, receive, answer)
            except Exception as error:  # noqa: BLE001 - the server outlives its requests
                note_failure(error, request_id.decode())
                if not begun:
                    problem = "the server failed; its log says where, by the header X-Request-ID"
                    await error_response(scope["path"], 500, problem)(scope, receive, answer)
        finally:
            self._held -= held
            self._note(scope, status, time.perf_counter() - started, request_id)

    def _note(self, scope: MutableMapping[str, Any], status: int, seconds: float, request_id: bytes) -> None:
        route = getattr(scope.get("route"), "path", "other")
        method = scope["method"] if route != "other" else "any"  # the client's choice, without bound
        self._metrics.note(method, route, status, seconds)
        if ACCESS.isEnabledFor(logging.INFO):
            fields = {
                "request": request_id.decode(),
                "method": method,
                "route": route,
                "status": status,
                "ms": round(1e3 * seconds, 2),
            }
            ACCESS.info("request", extra={"fields": fields})

    def _check_host(self, headers: dict[bytes, bytes]) -> None:
        if self._hosts is None:
            return
        named = headers.get(b"host", b"").decode("latin-1")
        name = named.rpartition(":")[0] if named.rpartition(":")[2].isdigit() else named
        if name.lower() not in self._hosts:
            raise _RefusedError(
                403, f"the header Host is {quoted(named)}; expected a name of this server: serve --name adds one"
            )

    def _bounded(
        self,
        headers: dict[bytes, bytes],
        receive: Receive,
        hold: Callable[[int], None],
        *,
        stream: bool,
    ) -> Receive:
        """Return a receive that raises if a body is too large or too slow; of a stream, if a part is."""
        most, seconds = self._limits.body, self._limits.seconds
        declared = headers.get(b"content-length", b"0")
        if not stream and declared.isdigit() and int(declared) > most:
            raise _RefusedError(413, f"the body has {int(declared)} bytes; expected at most {most}")
        stop, size, whole = time.monotonic() + seconds, 0, declared == b"0" and b"transfer-encoding" not in headers

        async def take() -> Message:
            nonlocal size, whole, stop
            if whole:  # the body is here, or there is none: this waits for the client to go
                return await receive()
            try:
                async with asyncio.timeout(max(0.001, stop - time.monotonic())):
                    message = await receive()
            except TimeoutError:
                raise _RefusedError(
                    408, f"the body did not arrive in {seconds:g} seconds; expected it faster"
                ) from None
            whole = not message.get("more_body", False)
            if stream:
                stop = time.monotonic() + seconds
                return message
            length = len(message.get("body", b""))
            size += length
            hold(length)
            if size > most:
                raise _RefusedError(413, f"the body has more than {most} bytes; expected fewer")
            return message

        return take


def note_failure(error: BaseException, request_id: str) -> None:
    """Log where an error was raised, without its message, which may quote a text."""
    places = [
        f"{frame.filename}:{frame.lineno} {frame.name}"
        for frame in traceback.extract_tb(error.__traceback__)
    ]
    fields = {"request": request_id, "error": type(error).__name__, "at": places[-8:]}
    _LOG.error("a request failed", extra={"fields": fields})
