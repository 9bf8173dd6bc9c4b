"""Answers to long work: one answer at the end, or server-sent events of its progress."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from typing import Any

from fastapi import Request, Response
from starlette.responses import StreamingResponse

from gem_index.collection import Collection
from gem_index.errors import GemIndexError
from gem_index.progress import Progress
from gem_index.server.context import ServerContext
from gem_index.server.errors import message_for, status_of
from gem_index.server.guard import REQUEST_ID, log_server_error, note_failure
from gem_index.server.responses import JsonResponse, to_json

__all__ = ["EVENTS", "answer_with_events", "answer_with_progress"]

EVENTS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The result. A client that accepts `text/event-stream` gets events instead: `progress` with stage, "
        "done and total, and at the end `done` with the result, or `error`.",
        "content": {"application/json": {}, "text/event-stream": {}},
    }
}
"""The part of the OpenAPI document about such answers."""

_EVERY = 10.0  # seconds without an event, after which a stream sends a comment

Work = Callable[[Collection, Progress], Mapping[str, Any]]
Running = Coroutine[Any, Any, Mapping[str, Any]]
Run = Callable[[str, Callable[[Collection], Mapping[str, Any]]], Running]


async def answer_with_events(
    request: Request, context: ServerContext, name: str, work: Work, run: Run | None = None
) -> Response:
    """Run a long operation on a collection; it continues if the client disconnects.

    ``run`` is a method of the context, by default the one for writes.
    """
    started = run or context.change
    await context.ask(
        name, lambda collection: collection.name
    )  # an unknown name is an answer with a status
    return await answer_with_progress(
        request, context, lambda progress: started(name, lambda c: work(c, progress))
    )


async def answer_with_progress(
    request: Request, context: ServerContext, run: Callable[[Progress], Running]
) -> Response:
    """Run a long operation that reports its progress; it continues if the client disconnects."""

    def unheard(_stage: str, _done: int, _total: int) -> None:
        """Ignore progress: this client only waits for the result."""
        context.check_not_ending()

    if "text/event-stream" not in request.headers.get("accept", ""):
        return JsonResponse(await run(unheard))
    events = _events(context, run, request.scope[REQUEST_ID])
    return StreamingResponse(events, media_type="text/event-stream")


async def _events(
    context: ServerContext, run: Callable[[Progress], Running], request_id: str
) -> AsyncIterator[bytes]:
    loop, newest = asyncio.get_running_loop(), asyncio.Queue[dict[str, Any]](1)

    def put(event: dict[str, Any]) -> None:
        if newest.full():  # a slow reader gets only the newest event
            newest.get_nowait()
        newest.put_nowait(event)

    def note(stage: str, done: int, total: int) -> None:
        context.check_not_ending()
        event = {"stage": stage, "done": done, "total": total}
        loop.call_soon_threadsafe(put, event)

    def end(ended: asyncio.Future[Mapping[str, Any]]) -> None:
        if not ended.cancelled():
            ended.exception()  # otherwise asyncio would log it, with its quotes of texts, if the client has disconnected
        put({})

    running = asyncio.ensure_future(run(note))
    running.add_done_callback(end)
    while True:
        try:
            async with asyncio.timeout(_EVERY):
                event = await newest.get()
        except TimeoutError:
            yield b": working\n\n"
            continue
        if running.done():
            break
        yield _event("progress", event)
    try:
        yield _event("done", running.result())
    except GemIndexError as error:
        log_server_error(error, request_id)
        yield _event("error", {"message": message_for(error), "status": status_of(error)})
    except Exception as error:  # noqa: BLE001 - the answer has begun: its end is an event
        note_failure(error, request_id)
        yield _event("error", {"message": "the server failed; its log says where", "status": 500})


def _event(kind: str, values: Mapping[str, Any]) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), to_json(values))
