"""Commands on the HTTP server: serve, and the keys of its clients."""

from __future__ import annotations

import ipaddress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gem_index.errors import ConfigError, InputError, MissingExtraError
from gem_index.quoting import quoted, quoted_path
from gem_index_cli.context import home_of
from gem_index_cli.output import print_json, say
from gem_index_cli.parameters import AsJson

if TYPE_CHECKING:
    from gem_index.home.key_library import Permission

__all__ = ["keys", "register"]

keys = typer.Typer(help="The keys of the HTTP server's clients.", no_args_is_help=True)
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]", "::1"})


def serve(
    context: typer.Context,
    host: Annotated[str, typer.Option(help="The address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 for any that is free.")] = 8080,
    key_file: Annotated[
        Path | None,
        typer.Option(
            help="A file with a key a line, and what it allows: KEY [read|write|admin].",
            show_default=False,
        ),
    ] = None,
    insecure: Annotated[
        bool,
        typer.Option("--insecure", help="Listen at other addresses than this machine's own without a key."),
    ] = False,
    name: Annotated[
        list[str] | None,
        typer.Option(
            "--name",
            help="A name by which clients reach the server, such as that of a reverse proxy; may be given again.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Serve the home over HTTP: embeddings, re-ranking, search, in the interfaces of OpenAI, Cohere, Jina and TEI."""
    try:
        import uvicorn

        from gem_index.server.app import create_app
    except ImportError as error:
        raise MissingExtraError("the server", "server") from error
    home = home_of(context)
    given = {} if key_file is None else _read_keys(key_file)
    local = _is_loopback(host)
    if not local and not insecure and not given and not home.keys.list():
        raise ConfigError(
            f"the address {quoted(host)} is reached from other machines, and there is no key; expected one: make it with "
            "gem-index keys add NAME, or say --insecure"
        )
    hosts = None if insecure and not name else _LOOPBACK | {host.lower(), *(each.lower() for each in name or ())}
    app = create_app(home, keys=given, hosts=hosts, key_required=not local and not insecure)
    uvicorn.run(app, host=host, port=port, log_level="warning", access_log=False, timeout_graceful_shutdown=30)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _read_keys(path: Path) -> dict[bytes, Permission]:
    from gem_index.home.key_library import digest_of

    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the key file {quoted_path(path)} cannot be read: {error}") from error
    found: dict[bytes, Permission] = {}
    for number, line in enumerate(lines, 1):
        key, *rest = line.split()[:3] or [""]
        if not key or key.startswith("#"):
            continue
        allowed = rest[0] if rest else "admin"
        if len(rest) > 1 or allowed not in ("read", "write", "admin"):
            raise InputError(
                f"{quoted_path(path)}, line {number}: expected KEY, or KEY and one of read, write, admin"
            )
        found[digest_of(key)] = allowed  # type: ignore[assignment]
    if not found:
        raise InputError(f"{quoted_path(path)} holds no key; expected one a line")
    return found


@keys.command()
def add(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="By which it is listed and removed.")],
    allow: Annotated[str, typer.Option(help="read, write or admin; each includes those before.")] = "read",
    as_json: AsJson = False,
) -> None:
    """Make a key and print it: only its hash is stored."""
    key = home_of(context).keys.add(name, allow)  # type: ignore[arg-type]  # checked there
    if as_json:
        print_json({"name": name, "allow": allow, "key": key})
    else:
        say(key)


@keys.command(name="list")
def list_keys(context: typer.Context, as_json: AsJson = False) -> None:
    """List the keys, without the keys themselves."""
    rows = [
        {"name": each.name, "allow": each.permission, "created_at": each.created_at}
        for each in home_of(context).keys.list()
    ]
    if as_json:
        print_json(rows)
    else:
        for row in rows:
            say(f"{row['name']}: {row['allow']}, of {row['created_at']}")


@keys.command()
def remove(context: typer.Context, name: Annotated[str, typer.Argument()], as_json: AsJson = False) -> None:
    """Remove a key; a running server refuses it within a second."""
    home_of(context).keys.remove(name)
    if as_json:
        print_json({"removed": name})
    else:
        say(f"removed the key {name}")


def register(app: typer.Typer) -> None:
    """Add the commands to the tree."""
    app.command()(serve)
    app.add_typer(keys, name="keys")
