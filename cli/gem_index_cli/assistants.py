"""The command for assistants: mcp."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated

import typer

from gem_index.errors import ConfigError, InputError, MissingExtraError
from gem_index_cli.context import home_of
from gem_index_cli.serving import Insecure, KeyFile, Names, Tables, pairs_of, read_keys

__all__ = ["register"]


def mcp(
    context: typer.Context,
    collection: Annotated[
        list[str] | None,
        typer.Option(
            help="A collection to show; may be repeated. Default: all.", show_default=False
        ),
    ] = None,
    table: Tables = None,
    allow_add: Annotated[
        bool,
        typer.Option("--allow-add", help="Also give the assistant a tool that stores documents."),
    ] = False,
    http: Annotated[
        bool,
        typer.Option(
            "--http", help="Listen over HTTP, at the path /mcp, instead of on standard input."
        ),
    ] = False,
    host: Annotated[
        str | None,
        typer.Option(help="The address to listen at. Default: 127.0.0.1.", show_default=False),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=65535,
            help="The port; 0 for any free port. Default: 8081.",
            show_default=False,
        ),
    ] = None,
    key_file: KeyFile = None,
    insecure: Insecure = False,
    name: Names = None,
) -> None:
    """Serve the collections to an assistant in the Model Context Protocol: list, search, read, explain, add.

    The assistant starts this command and communicates through standard input and output.
    """
    settings = {
        "--host": host,
        "--port": port,
        "--key-file": key_file,
        "--insecure": insecure or None,
        "--name": name or None,
    }
    given = [option for option, value in settings.items() if value is not None]
    if given and not http:
        raise ConfigError(f"found {given[0]} without --http; expected both, or neither")
    tables = pairs_of("--table", table)
    if not http:
        _serve_stdio(context, collection or (), tables, allow_add)
        return
    try:
        from gem_index.server.mcp.http import PATH, mcp_application
        from gem_index.server.running import ServeOptions, serve
    except ImportError as error:
        raise MissingExtraError("the MCP server", "mcp") from error
    options = ServeOptions(
        home=str(home_of(context).root),
        host=host or "127.0.0.1",
        port=8081 if port is None else port,
        keys={} if key_file is None else read_keys(key_file),
        insecure=insecure,
        names=tuple(name or ()),
        tables=tables,
    )
    serve(
        options,
        lambda address: typer.echo(f"Serving at {address}{PATH} until Ctrl-C.", err=True),
        partial(mcp_application, only=tuple(collection or ()), allow_add=allow_add),
    )


def _serve_stdio(
    context: typer.Context, collections: Sequence[str], tables: Mapping[str, str], allow_add: bool
) -> None:
    """Keep standard output for messages: print everything else to standard error."""
    if sys.stdin is None:
        raise InputError("standard input is closed; expected the messages of an assistant")
    if sys.stdin.isatty():
        typer.echo(
            "Waiting for an assistant's messages on standard input; Ctrl-C ends it.", err=True
        )
    output = os.dup(1)
    os.dup2(2, 1)
    try:
        from gem_index.server.mcp.server import mcp_server
        from gem_index.server.mcp.stdio import serve_stdio
    except ImportError as error:
        raise MissingExtraError("the MCP server", "mcp") from error
    serve_stdio(
        mcp_server(home_of(context), only=collections, tables=tables, allow_add=allow_add), output
    )


def register(app: typer.Typer) -> None:
    """Add the command to the tree."""
    app.command()(mcp)
