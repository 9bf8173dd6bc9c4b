"""The server: the tools for each client, their calls, and errors."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any

from mcp.server import Server, ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
    ToolAnnotations,
)
from pydantic import ValidationError
from pydantic.json_schema import GenerateJsonSchema

from gem_index.common.settings import load_settings
from gem_index.errors import GemIndexError
from gem_index.errors.quoting import quoted
from gem_index.home import Home
from gem_index.server.bodies import expectation
from gem_index.server.context import ServerContext
from gem_index.server.errors import ADVICE_FOR_ASSISTANTS, ForbiddenError, message_for
from gem_index.server.guard import log_server_error, note_failure
from gem_index.server.mcp.shared import SharedCollections, ToolKind
from gem_index.server.mcp.tools import TOOLS
from gem_index.server.settings import Limits

__all__ = ["MayWrite", "mcp_server"]

MayWrite = Callable[[Any], Awaitable[None]]
"""Raises :class:`ForbiddenError` if a request, None on standard input, may not write."""

_ABOUT = (
    "Collections of texts, searched by meaning and by words. list_collections names them, search finds documents, read "
    "returns complete documents."
)


async def _always(_: Any) -> None:
    """Allow writing: on standard input, the client is the program that started the process."""


def mcp_server(
    home: Home,
    limits: Limits | None = None,
    *,
    only: Iterable[str] = (),
    tables: Mapping[str, str] | None = None,
    allow_add: bool = False,
    may_write: MayWrite = _always,
) -> Server[None]:
    """Return the server of a home, without a transport for its messages.

    Parameters
    ----------
    home : Home
    limits : Limits, optional
        By default the limits that the environment sets.
    only : iterable of str
        The collections to show; all by default.
    tables : mapping of str to str, optional
        Tables of vector databases to show as collections, always: their URLs by name.
    allow_add : bool
        Whether there is a tool that stores documents.
    may_write : callable
        Decides whether a request may use it; each by default.

    Raises
    ------
    UnknownNameError, MissingTargetError
        If a collection to show does not exist, or no installed engine has the scheme of a table's URL.
    ConfigError
        If a table's URL is malformed, or its name is the name of a collection.
    """
    shown = frozenset(only)
    for name in sorted(shown):
        home.collection(name)
    bounds = limits or Limits.of_environment()
    context = ServerContext(home, bounds, load_settings().threads, {}, {}, tables)
    shared = SharedCollections(context, shown or None)
    kinds = {kind.name: kind for kind in TOOLS if allow_add or not kind.writes}
    advertised = {name: _advertise(kind) for name, kind in kinds.items()}

    @asynccontextmanager
    async def lifespan(_: Server[None]) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await context.close()

    async def list_tools(
        asked: ServerRequestContext[None], _: PaginatedRequestParams | None
    ) -> ListToolsResult:
        writes = await _allows(may_write, asked)
        usable = [name for name, kind in kinds.items() if writes or not kind.writes]
        return ListToolsResult(tools=[advertised[name] for name in usable])

    async def call_tool(
        asked: ServerRequestContext[None], call: CallToolRequestParams
    ) -> CallToolResult:
        kind = kinds.get(call.name)
        if kind is None:
            problem = f"no tool is named {quoted(call.name)}; expected one of {', '.join(kinds)}"
            raise MCPError(INVALID_PARAMS, problem)
        try:
            if kind.writes:
                await may_write(asked.request)
            return await _answer(kind, shared, call.arguments or {})
        except GemIndexError as error:
            log_server_error(error, str(asked.request_id))
            return _failure(message_for(error, ADVICE_FOR_ASSISTANTS))
        except Exception as error:  # noqa: BLE001 - the server outlives its requests
            note_failure(error, str(asked.request_id))
            return _failure("the server failed; its log says where")

    return Server(
        "gem-index",
        version=version("gem-index"),
        title="gem-index",
        instructions=_ABOUT,
        lifespan=lifespan,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


async def _allows(may_write: MayWrite, asked: ServerRequestContext[None]) -> bool:
    try:
        await may_write(asked.request)
    except ForbiddenError:
        return False
    return True


class _Schema(GenerateJsonSchema):
    """A schema without titles that only repeat the names of fields, because assistants read the whole schema."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - pydantic's signature
        """Return whether a schema gets a title made of its name."""
        return False


def _advertise(kind: ToolKind) -> Tool:
    return Tool(
        name=kind.name,
        title=kind.title,
        description=kind.description,
        input_schema=kind.arguments.model_json_schema(schema_generator=_Schema),
        output_schema=kind.answer.model_json_schema(schema_generator=_Schema, mode="serialization"),
        annotations=ToolAnnotations(
            title=kind.title,
            read_only_hint=not kind.writes,
            destructive_hint=kind.writes,  # a document of the same id is replaced
            idempotent_hint=True,
            open_world_hint=False,
        ),
    )


async def _answer(
    kind: ToolKind, shared: SharedCollections, arguments: dict[str, Any]
) -> CallToolResult:
    try:
        asked = kind.arguments.model_validate(arguments)
    except ValidationError as error:
        return _failure(_problem(kind, error))
    answer = await kind.run(shared, asked)
    content = answer.model_dump(mode="json", exclude_none=True)
    # also JSON as text, for clients that pass on only text; JSON, so that a found text cannot imitate the structure
    as_text = json.dumps(content, ensure_ascii=False, allow_nan=False)
    return CallToolResult(
        content=[TextContent(text=answer.summary), TextContent(text=as_text)],
        structured_content=content,
    )


def _problem(kind: ToolKind, error: ValidationError) -> str:
    """Return the error of arguments, in one line."""
    first = error.errors(include_url=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    if first["type"] == "missing":
        return f"{kind.name} was called without {place}; expected it"
    if first["type"] == "extra_forbidden" and len(first["loc"]) > 1:
        return f"found {quoted(place)}; expected no field of that name"
    if first["type"] == "extra_forbidden":
        names = ", ".join(each.alias or name for name, each in kind.arguments.model_fields.items())
        return f"{kind.name} has no argument {quoted(place)}; expected {names or 'none'}"
    return f"{place} is {quoted(first['input'])}; expected {expectation(first['msg'])}"


def _failure(problem: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=problem)], is_error=True)
