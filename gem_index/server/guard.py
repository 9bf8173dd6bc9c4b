"""Middleware that checks every request (host, origin, size and time of the body), logs it, and adds headers."""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
import time
import traceback
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias

from fastapi import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from gem_index.errors import GemIndexError
from gem_index.errors.quoting import quoted
from gem_index.server.errors import (
    MemoryFullError,
    ShuttingDownError,
    WriterBusyError,
    error_response,
    status_of,
)
from gem_index.server.memory import Memory, Share
from gem_index.server.metrics import Metrics
from gem_index.server.origins import Origins
from gem_index.server.paths import route_by_usual_path
from gem_index.server.settings import Limits

__all__ = ["ACCESS", "REQUEST_ID", "Guard", "log_server_error", "note_failure"]

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

ACCESS = logging.getLogger("gem_index.server.access")
"""The access log: one record per request, with the attribute ``fields``; no record has a text or a key."""

REQUEST_ID = "gem_index.request"
"""The key of the request's id in the request's ASGI scope."""

_LOG = logging.getLogger("gem_index.server")
_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
)
# errors whose whole message the client gets
_TOLD = (MemoryFullError, ShuttingDownError, WriterBusyError)
_LOCAL = ("localhost", "127.0.0.1", "[::1]")
_GONE = 499  # nginx's status for a client that disconnected before its body arrived
_WATCHED_AFTER = 0.5
"""The seconds of work after which the server begins to watch the connection; then a request ends if its client leaves."""

_PART = 1 << 18
"""The bytes of an answer that are sent at once; the next part is sent only after the client has read enough."""
_REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")


class _RefusedError(HTTPException):
    """An error of the guard. While FastAPI reads a body, it would turn an error of another class into "not JSON"."""


class Guard:
    """Wraps an application, and checks and logs every request.

    Parameters
    ----------
    app : callable
    limits : Limits
    hosts : frozenset of str, optional
        The names that the header Host may have; None allows all names. The check prevents DNS rebinding: a page of
        another site cannot reach a local server through a host name that the site controls.
    origins : Origins
        The origins of pages of other sites that may send requests.
    metrics : Metrics
    memory : Memory
        The limited memory for the bodies of all requests.
    streams : callable
        Tells whether the body of a path is a stream. The size of a stream is not limited here; its route limits each
        line.
    refusal : callable
        Makes the answer of an error from the path, the status and the problem.
    """

    def __init__(
        self,
        app: App,
        limits: Limits,
        hosts: frozenset[str] | None,
        origins: Origins,
        metrics: Metrics,
        memory: Memory,
        streams: Callable[[str], bool],
        refusal: Callable[[str, int, str], Response] = error_response,
    ) -> None:
        self._app = app
        self._limits = limits
        self._hosts = hosts
        self._origins = origins
        self._metrics = metrics
        self._streams = streams
        self._refusal = refusal
        self._memory = memory

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request. This method raises no exception, because the log of an exception may quote texts."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope = route_by_usual_path(scope)
        exchange = _Exchange(scope, receive, send, self._limits, Share(self._memory), self._refusal)
        scope[REQUEST_ID] = exchange.request_id.decode()
        try:
            try:
                self._check_origin(scope, exchange.headers)
                exchange.check_length(stream=self._streams(scope["path"]))
                exchange.watch()
                await self._app(scope, exchange.take, exchange.answer)
            except _RefusedError as error:
                await exchange.refuse(error.status_code, error.detail)
            except ClientDisconnect:
                exchange.status = _GONE
            except asyncio.CancelledError:
                if exchange.left:
                    exchange.status = _GONE
                else:  # cancelled because the time for requests is over at a shutdown
                    await exchange.refuse(503, str(ShuttingDownError()))
            except Exception as error:  # noqa: BLE001 - the server outlives its requests
                note_failure(error, exchange.request_id.decode())
                problem = "the server failed; its log shows where: search it for the value of the header X-Request-ID"
                await exchange.refuse(500, problem)
        finally:
            exchange.end()
            self._note(exchange)

    def _note(self, exchange: _Exchange) -> None:
        scope, seconds = exchange.scope, time.perf_counter() - exchange.started
        route = getattr(scope.get("route"), "path", None)
        # unknown paths have one label, because clients could invent many paths
        method, route = ("any", "other") if route is None else (scope["method"], route)
        self._metrics.note(method, route, exchange.status, seconds)
        if ACCESS.isEnabledFor(logging.INFO):
            fields = {
                "request": exchange.request_id.decode(),
                "method": method,
                "route": route,
                "status": exchange.status,
                "ms": round(1e3 * seconds, 2),
            }
            ACCESS.info("request", extra={"fields": fields})

    def _check_origin(self, scope: Scope, headers: dict[bytes, bytes]) -> None:
        """Refuse requests to unknown host names, and requests from pages of other sites or ports.

        Without this check, any page in a user's browser could send documents to this server. The page could not read the
        answer, but the documents would be stored.
        """
        for name in (b"host", b"origin"):
            if sum(given == name for given, _ in scope["headers"]) > 1:
                raise _RefusedError(
                    400, f"found several headers {name.decode().title()}; expected one"
                )
        host = headers.get(b"host", b"").decode("latin-1").lower()
        if self._hosts is not None and _name_in(host) not in self._hosts:
            raise _RefusedError(
                403,
                f"the header Host is {quoted(host)}; expected a name of this server: start it with this name too",
            )
        origin = headers.get(b"origin")
        if origin is None:
            if _is_of_another_site(scope, headers):
                raise _RefusedError(
                    403,
                    "the header Sec-Fetch-Site says that a page of another site sends this; expected a page of this server",
                )
            return
        page = origin.decode("latin-1").lower()
        # a proxy in front of the server may add TLS
        schemes = ("http",) if _name_in(host) in _LOCAL else ("http", "https")
        own = {f"{scheme}://{host}" for scheme in schemes}
        if page not in own and not self._origins.allow(page):
            raise _RefusedError(
                403,
                f"the header Origin is {quoted(page)}; expected a page of this server, or an origin that it allows",
            )


def _is_of_another_site(scope: Scope, headers: dict[bytes, bytes]) -> bool:
    """Tell whether a page of another site or port sends the request; the request of a followed link does not count."""
    if headers.get(b"sec-fetch-site") not in (b"cross-site", b"same-site"):
        return False
    return scope["method"] != "GET" or headers.get(b"sec-fetch-mode") != b"navigate"


def _name_in(host: str) -> str:
    """Return a host in lower case without its port."""
    name, _, port = host.rpartition(":")
    return (name if port.isdigit() else host).lower()


class _Exchange:
    """A request and its answer: limits the body's size and time, adds headers, and ends if the client leaves.

    Attributes
    ----------
    left : bool
        Whether the client disconnected before the answer began.
    share : Share
        The memory of the body, and of the answer until the answer is sent.
    """

    def __init__(
        self,
        scope: Scope,
        receive: Receive,
        send: Send,
        limits: Limits,
        share: Share,
        refusal: Callable[[str, int, str], Response],
    ) -> None:
        self.scope = scope
        self.headers: dict[bytes, bytes] = dict(scope["headers"])
        given = self.headers.get(b"x-request-id", b"")
        self.request_id = given if _REQUEST_ID.fullmatch(given) else secrets.token_hex(16).encode()
        self.started = time.perf_counter()
        self.status = 500
        self._receive = receive
        self._send = send
        self._limits = limits
        self.share = share
        self._refusal = refusal
        self._stream = False
        self._begun = False
        self._start: Message | None = None  # the start of the answer; waits for the first part
        self.left = False
        self._watching: asyncio.TimerHandle | asyncio.Task[None] | None = None
        self._stop = time.monotonic() + limits.seconds
        declared = self.headers.get(b"content-length", b"0")
        self._whole = declared == b"0" and b"transfer-encoding" not in self.headers

    def check_length(self, *, stream: bool) -> None:
        """Refuse a body if its header declares too many bytes, except for a stream."""
        self._stream = stream
        if (coding := self.headers.get(b"content-encoding")) not in (None, b"", b"identity"):
            problem = (
                f"the header Content-Encoding is {quoted(coding.decode('latin-1'))}; expected none"
            )
            raise _RefusedError(415, problem)
        declared = self.headers.get(b"content-length", b"0")
        if not stream and declared.isdigit() and int(declared) > self._limits.body:
            raise _RefusedError(
                413, f"the body has {int(declared)} bytes; expected at most {self._limits.body}"
            )

    async def take(self) -> Message:
        """Return a part of the body."""
        # if the whole body has arrived, the next message comes when the client disconnects
        if self._whole:
            return await self._receive()
        seconds = self._limits.seconds
        # between two parts of a stream the server may work longer; a client that waits for it is not slow
        left = seconds if self._stream else max(0.001, self._stop - time.monotonic())
        try:
            async with asyncio.timeout(left):
                message = await self._receive()
        except TimeoutError:
            raise _RefusedError(
                408, f"the body did not arrive in {seconds:g} seconds; expected it faster"
            ) from None
        self._whole = not message.get("more_body", False)
        if not self._stream:
            self._hold(len(message.get("body", b"")))
        return message

    def watch(self) -> None:
        """From now on, cancel the task of the request if the client leaves before the answer begins."""
        task = asyncio.current_task()
        assert task is not None

        def begin() -> None:
            # while the application reads the body, the application itself notices if the client leaves
            if not self._whole:
                self._watch_later(begin)
            elif not self._begun:
                self._watching = asyncio.ensure_future(self._cancel_if_left(task))

        self._watch_later(begin)

    def _watch_later(self, begin: Callable[[], None]) -> None:
        self._watching = asyncio.get_running_loop().call_later(_WATCHED_AFTER, begin)

    async def _cancel_if_left(self, task: asyncio.Task[Any]) -> None:
        message = await self._receive()
        if message["type"] == "http.disconnect" and not self._begun:
            self.left = True
            task.cancel()

    def end(self) -> None:
        """Release the memory of the request, and stop watching the client."""
        if self._watching is not None:
            self._watching.cancel()
        self.share.release(self.share.held)

    async def answer(self, message: Message) -> None:
        """Send a part of the answer; a large part counts as used memory until it is sent."""
        if message["type"] == "http.response.start":
            self._start = self._with_headers(message)
            if not any(name == b"content-length" for name, _ in message["headers"]):
                await self._begin()  # the answer is a stream, whose first part may come later
            return
        body: bytes = message.get("body", b"")
        counted = len(body) if len(body) > _PART and not self._begun else 0
        try:
            self.share.hold(counted)
        except MemoryFullError as error:
            await self.refuse(503, str(error))
            return
        await self._begin()
        for begin in range(0, max(len(body), 1), _PART):
            part = body[begin : begin + _PART]
            more = begin + _PART < len(body) or message.get("more_body", False)
            await self._send({"type": message["type"], "body": part, "more_body": more})
        self.share.release(counted)

    async def _begin(self) -> None:
        if self._start is not None:
            start, self._start = self._start, None
            self.status, self._begun = start["status"], True
            await self._send(start)

    def _with_headers(self, message: Message) -> Message:
        given = list(message.get("headers", ()))
        own = {name for name, _ in given}  # already set, for example by gem-index's own page
        added = [pair for pair in _HEADERS if pair[0] not in own]
        added.append((b"x-request-id", self.request_id))
        if not self._whole:  # close the connection, because the rest of the body is not read
            added.append((b"connection", b"close"))
        message["headers"] = [*given, *added]
        return message

    async def refuse(self, status: int, problem: str) -> None:
        """If no answer has begun, answer with an error."""
        if not self._begun:
            response = self._refusal(self.scope["path"], status, problem)
            await response(self.scope, self._receive, self.answer)

    def _hold(self, size: int) -> None:
        if self.share.held + size > self._limits.body:
            raise _RefusedError(
                413, f"the body has more than {self._limits.body} bytes; expected fewer"
            )
        try:
            self.share.hold(size)
        except MemoryFullError as error:
            raise _RefusedError(503, str(error)) from error


def log_server_error(error: GemIndexError, request_id: str) -> None:
    """Log a server error (status ≥ 500) with details that the client does not get.

    Errors of a full or ending server are not logged, because the client gets the whole message.
    """
    if status_of(error) < 500 or isinstance(error, _TOLD):
        return
    fields = {"request": request_id, "error": type(error).__name__, "detail": str(error)}
    _LOG.error("a request failed", extra={"fields": fields})


def note_failure(error: BaseException, request_id: str) -> None:
    """Log where an error was raised. The message is not logged, because it may quote a text."""
    places = [
        f"{frame.filename}:{frame.lineno} {frame.name}"
        for frame in traceback.extract_tb(error.__traceback__)
    ]
    fields = {"request": request_id, "error": type(error).__name__, "at": places[-8:]}
    _LOG.error("a request failed", extra={"fields": fields})
