"""The application: its routes, its errors, what every request passes."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse, Response
from starlette.exceptions import HTTPException

from gem_index.errors import GemIndexError
from gem_index.home import Home
from gem_index.quoting import quoted
from gem_index.server import collections, openai, reranking, tei
from gem_index.server.context import ServerContext
from gem_index.server.errors import status_of
from gem_index.server.metrics import Metrics
from gem_index.server.middleware import Guard
from gem_index.home.key_library import Permission
from gem_index.server.security import KeyRing
from gem_index.server.settings import Limits
from gem_index.settings import load_settings

__all__ = ["create_app"]

_LOG = logging.getLogger("gem_index.server")
_OPENAI_TYPES = {401: "authentication_error", 403: "permission_error", 404: "not_found_error", 429: "rate_limit_error"}


def create_app(
    home: Home,
    *,
    limits: Limits | None = None,
    keys: Mapping[bytes, Permission] | None = None,
    key_required: bool = False,
    hosts: frozenset[str] | None = None,
) -> FastAPI:
    """Return the application of a home.

    Parameters
    ----------
    home : Home
    limits : Limits, optional
    keys : mapping of bytes to Permission, optional
        What keys allow by their SHA-256, beside those of the home. Without any key at all, requests need none,
    key_required : bool
        unless this is True.
    hosts : frozenset of str, optional
        What the header Host may name; anything by default.
    """
    bounds, metrics = limits or Limits(), Metrics()
    context = ServerContext(home, bounds, load_settings().threads)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        await context.read(context.models.default)
        app.state.ready = True
        yield
        app.state.ready = False
        await context.close()

    app = FastAPI(title="gem-index", version=version("gem-index"), lifespan=lifespan)
    app.state.context, app.state.keys, app.state.ready = context, KeyRing(home, keys or {}, required=key_required), False
    for router in (openai.router, reranking.router, tei.router, collections.router):
        app.include_router(router)

    @app.get("/health/live", tags=["Health"])
    @app.get("/health", tags=["Health"])
    async def live() -> dict[str, str]:
        """Tell that the process answers."""
        return {"status": "ok"}

    @app.get("/health/ready", tags=["Health"])
    async def ready() -> JSONResponse:
        """Tell whether requests are answered: the word vectors are read."""
        done = bool(app.state.ready)
        return JSONResponse({"status": "ready" if done else "starting"}, 200 if done else 503)

    @app.get("/metrics", tags=["Health"], response_class=PlainTextResponse)
    async def prometheus() -> Response:
        """Return counts and times of requests."""
        metrics.waiting.set(context.encoding.waiting)
        return Response(metrics.text(), media_type="text/plain; version=0.0.4")

    @app.exception_handler(GemIndexError)
    async def refused(request: Request, error: Exception) -> JSONResponse:
        return _answer(request, status_of(error), str(error))

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, RequestValidationError)
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"][1:]) or "the body"
        problem = f"{place}: found {quoted(first.get('input'))}; expected: {first['msg']}"
        return _answer(request, 422, problem)

    @app.exception_handler(HTTPException)
    async def unrouted(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, HTTPException)
        return _answer(request, error.status_code, str(error.detail))

    @app.exception_handler(Exception)
    async def failed(request: Request, error: Exception) -> JSONResponse:
        _LOG.exception("a request failed", exc_info=error)
        return _answer(request, 500, "the server failed; its log says why")

    app.add_middleware(
        Guard,
        limits=bounds,
        hosts=hosts,
        metrics=metrics,
        streams=lambda path: path.endswith("/documents/stream"),
    )
    return app


def _answer(request: Request, status: int, problem: str) -> JSONResponse:
    """Return an error in the shape of the interface that was asked."""
    path = request.url.path
    body: dict[str, Any] = {"error": {"message": problem, "type": "invalid_request_error"}}
    if path in ("/v1/rerank", "/v2/rerank"):
        body = {"message": problem}
    elif path in ("/embed", "/rerank", "/similarity", "/info"):
        body = {"error": problem, "error_type": "Overloaded" if status == 429 else "Validation"}
    elif path.startswith("/v1/"):
        kind = _OPENAI_TYPES.get(status, "server_error" if status >= 500 else "invalid_request_error")
        body = {"error": {"message": problem, "type": kind, "param": None, "code": None}}
    headers = {"Retry-After": "1"} if status in (429, 503) else {}
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return JSONResponse(body, status, headers)
