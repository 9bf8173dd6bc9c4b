"""The server's application: its routes, errors and middleware."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from importlib.metadata import version

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import PlainTextResponse, Response
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware

from gem_index.common.settings import load_settings
from gem_index.errors import GemIndexError
from gem_index.errors.quoting import quoted
from gem_index.home import Home
from gem_index.home.key_library import Permission
from gem_index.server import (
    access,
    backups,
    cohere,
    collections,
    documents,
    fields,
    files,
    group_searching,
    key_management,
    knowledge,
    maps,
    ollama,
    openai,
    page,
    reranking,
    searching,
    tei,
    weaviate,
)
from gem_index.server.backup_folder import BackupFolder
from gem_index.server.bodies import problem_of
from gem_index.server.context import ServerContext
from gem_index.server.documents import is_stream
from gem_index.server.errors import (
    OpenAIError,
    PlainError,
    RerankError,
    TeiError,
    error_descriptions,
    error_response,
    message_for,
    status_of,
)
from gem_index.server.files import is_upload
from gem_index.server.guard import REQUEST_ID, Guard, log_server_error
from gem_index.server.metrics import Metrics
from gem_index.server.models import DEFAULT
from gem_index.server.origins import Origins
from gem_index.server.paths import nearest
from gem_index.server.process import give_memory_back
from gem_index.server.responses import JsonResponse
from gem_index.server.routing import READ
from gem_index.server.security import KeyRing
from gem_index.server.settings import Limits

__all__ = ["create_app"]

_ABOUT = """Sentence vectors (GEM), re-ranking and search without a GPU or a neural network.

Errors are JSON in the form of the interface that a route belongs to. If the server has keys, each request needs one:
`Authorization: Bearer KEY`."""


def create_app(
    home: Home,
    *,
    limits: Limits | None = None,
    keys: Mapping[bytes, Permission] | None = None,
    key_required: bool = False,
    hosts: frozenset[str] | None = None,
    origins: Collection[str] = (),
    aliases: Mapping[str, str] | None = None,
    targets: Mapping[str, str] | None = None,
    tables: Mapping[str, str] | None = None,
    backup_folder: BackupFolder | None = None,
    end_process: Callable[[], None] = lambda: None,
) -> FastAPI:
    """Return the application of a home.

    Parameters
    ----------
    home : Home
    limits : Limits, optional
    keys : mapping of bytes to Permission, optional
        Keys in addition to the keys of the home: the SHA-256 of each key, with the key's permission.
    key_required : bool
        If True, requests always need a key. If False, requests need a key only if the home or ``keys`` has a key.
    hosts : frozenset of str, optional
        The host names that the header Host may have. By default, all names are allowed.
    origins : collection of str, optional
        The origins of pages of other sites that may send requests and read the answers; by default none.
    aliases : mapping of str to str, optional
        Additional names of models, for clients that have fixed model names.
    targets : mapping of str to str, optional
        The vector databases to which requests may push: the URL for each name.
    tables : mapping of str to str, optional
        The tables of vector databases that can be searched like collections: the URL for each name.
    backup_folder : BackupFolder, optional
        The folder in which requests may make backups. By default, requests may not make backups.
    end_process : callable
        Called at the end if threads still work; it must end the process, because the interpreter would wait for them.
    """
    bounds, metrics, allowed = limits or Limits(), Metrics(), Origins.of(origins)
    context = ServerContext(
        home, bounds, load_settings().threads, aliases or {}, targets or {}, tables, backup_folder
    )

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        await context.encode(DEFAULT, ["a text"])  # the first request does not wait for the kernels
        beside = [
            asyncio.create_task(_note_waiting(context, metrics)),
            asyncio.create_task(give_memory_back()),
        ]
        app.state.ready = True
        yield
        app.state.ready = False
        for task in beside:
            task.cancel()
        if not await context.close():
            end_process()

    app = FastAPI(
        title="gem-index",
        version=version("gem-index"),
        description=_ABOUT,
        lifespan=lifespan,
        redirect_slashes=False,  # because a redirect would send clients to the address in the header Host
        docs_url=None,  # because FastAPI's pages would load scripts from other servers
        redoc_url=None,
        separate_input_output_schemas=False,
        responses=error_descriptions(OpenAIError),
    )
    app.state.context, app.state.ready = context, False
    app.state.keys = KeyRing(home, keys or {}, required=key_required)
    openai.DIRECT.add_to(app, error_descriptions(OpenAIError))
    tei.DIRECT.add_to(app, error_descriptions(TeiError))
    for module in (
        openai, access, key_management, backups, collections, documents, fields, files, maps, searching,
        group_searching, knowledge,
    ):  # fmt: skip
        app.include_router(module.router)
    app.include_router(files.inspections)
    for module in (reranking, cohere):
        app.include_router(module.router, responses=error_descriptions(RerankError))
    for module in (ollama, weaviate):
        app.include_router(module.router, responses=error_descriptions(PlainError))
    app.include_router(tei.router, responses=error_descriptions(TeiError))
    app.include_router(page.router)

    @app.get("/health/live", tags=["Health"])
    @app.get("/health", tags=["Health"])
    async def live() -> dict[str, str]:
        """Answer, to show that the process works."""
        return {"status": "ok"}

    @app.get(
        "/health/ready",
        tags=["Health"],
        responses={503: {"description": "The server is starting or ending."}},
    )
    async def ready() -> JsonResponse:
        """Tell whether the server can answer requests: the word vectors are loaded, and the home exists."""
        if home.replaced:
            return JsonResponse({"status": "the home was removed or replaced"}, 503)
        done = bool(app.state.ready)
        return JsonResponse({"status": "ready" if done else "starting"}, 200 if done else 503)

    @app.get("/metrics", tags=["Health"], dependencies=READ, response_class=PlainTextResponse)
    async def prometheus() -> Response:
        """Return counts and times of requests for Prometheus."""
        metrics.note_waiting(context.encoding.waiting, context.waiting)
        return Response(metrics.text(), media_type="text/plain; version=0.0.4")

    _handle_errors(app)
    app.add_middleware(
        Guard,
        limits=bounds,
        hosts=hosts,
        origins=allowed,
        metrics=metrics,
        memory=context.memory,
        streams=lambda path: is_stream(path) or is_upload(path),
    )
    if allowed.allowed:
        app.add_middleware(CORSMiddleware, **allowed.cross_origin_rules)
    return app


async def _note_waiting(context: ServerContext, metrics: Metrics) -> None:
    """Publish every second how many requests wait in this process, because another process may answer ``/metrics``."""
    while metrics.shared:
        metrics.note_waiting(context.encoding.waiting, context.waiting)
        await asyncio.sleep(1)


def _expected(path: str, app: FastAPI) -> str:
    near = nearest(path, app.openapi()["paths"])
    return f"did you mean {near}?" if near else "expected a route of /openapi.json"


def _handle_errors(app: FastAPI) -> None:
    """Answer errors in the form of the interface to which the route belongs."""

    @app.exception_handler(GemIndexError)
    async def refused(request: Request, error: GemIndexError) -> JsonResponse:
        log_server_error(error, request.scope[REQUEST_ID])
        return error_response(request.scope["path"], status_of(error), message_for(error))

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> JsonResponse:
        first = error.errors()[0]
        if first["type"] == "json_invalid":
            reason = first.get("ctx", {}).get("error", "")
            return error_response(request.scope["path"], 400, f"the body is not JSON: {reason}")
        if isinstance(first.get("input"), bytes):  # the body is not JSON
            kind = quoted(request.headers.get("content-type"))
            problem = f"the header Content-Type is {kind}; expected application/json"
            return error_response(request.scope["path"], 400, problem)
        # OpenAI uses 400 for every wrong body, the others use 422
        status = 400 if request.scope["path"].startswith("/v1/embeddings") else 422
        return error_response(request.scope["path"], status, problem_of(error.errors()))

    @app.exception_handler(HTTPException)
    async def unrouted(request: Request, error: HTTPException) -> JsonResponse:
        path = quoted(f"{request.method} {request.url.path}")
        problem = {
            400: "the body is not JSON: it is not UTF-8, or nested too deeply",
            404: f"found {path}; {_expected(request.url.path, app)}",
            405: f"found {path}; expected another method: /openapi.json lists the methods of each path",
        }.get(error.status_code, str(error.detail))
        response = error_response(request.scope["path"], error.status_code, problem)
        response.headers.update(error.headers or {})
        return response
