"""Commands on the HTTP server: serve, and the keys of its clients."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from gem_index.errors import (
    Action,
    Advice,
    ConfigError,
    InputError,
    Message,
    MissingExtraError,
    RecordError,
    UnreadableFileError,
)
from gem_index.errors.quoting import quoted, quoted_error, quoted_path
from gem_index_cli.context import home_of
from gem_index_cli.output import print_json, say
from gem_index_cli.parameters import AsJson

if TYPE_CHECKING:
    from gem_index.home.key_library import Permission

__all__ = ["Insecure", "KeyFile", "Names", "Tables", "keys", "pairs_of", "read_keys", "register"]

keys = typer.Typer(help="The keys of the HTTP server's clients.", no_args_is_help=True)

KeyFile = Annotated[
    Path | None,
    typer.Option(
        help="A file of keys, one per line with its permission: KEY read, KEY write or KEY admin. A KEY alone "
        "allows admin.",
        show_default=False,
    ),
]
Insecure = Annotated[
    bool,
    typer.Option(
        "--insecure",
        help="Allow the server to start without a key at an address that other machines can reach, or with a --name.",
    ),
]
Names = Annotated[
    list[str] | None,
    typer.Option(
        "--name",
        help="A host name by which clients reach the server, such as the name of a reverse proxy; may be repeated.",
        show_default=False,
    ),
]

Tables = Annotated[
    list[str] | None,
    typer.Option(
        "--table",
        help="NAME=URL: a table of a vector database that push filled. Requests call it NAME and search it like a "
        "collection; may be repeated.",
        show_default=False,
    ),
]


def serve(
    context: typer.Context,
    host: Annotated[str, typer.Option(help="The address to listen at.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="The port; 0 for any free port.")
    ] = 8080,
    workers: Annotated[
        int,
        typer.Option(
            min=1,
            max=256,
            help="Number of processes. With few cores use one, because each process loads the word vectors.",
        ),
    ] = 1,
    key_file: KeyFile = None,
    insecure: Insecure = False,
    name: Names = None,
    allow_origin: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-origin",
            help="The origin of a page or plugin that may send requests, such as app://obsidian.md or "
            "http://localhost:3000; may be repeated.",
            show_default=False,
        ),
    ] = None,
    alias: Annotated[
        list[str] | None,
        typer.Option(
            "--alias",
            help="ALIAS=MODEL: another name of a model, for clients with a fixed model name; may be repeated.",
            show_default=False,
        ),
    ] = None,
    target: Annotated[
        list[str] | None,
        typer.Option(
            "--target",
            help="NAME=URL: a vector database. Requests call it NAME and may push collections into it; may be repeated.",
            show_default=False,
        ),
    ] = None,
    table: Tables = None,
    backups: Annotated[
        Path | None,
        typer.Option(
            help="A folder outside of the home. Requests with a key for admin can make backups of the home in this folder.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Serve embeddings, re-ranking and search over HTTP, with the interfaces of OpenAI, Cohere, Jina, Ollama and TEI."""
    try:
        from gem_index.server.running import ServeOptions
        from gem_index.server.running import serve as run
    except ImportError as error:
        raise MissingExtraError("the server", "server") from error
    options = ServeOptions(
        home=str(home_of(context).root),
        host=host,
        port=port,
        workers=workers,
        keys={} if key_file is None else read_keys(key_file),
        insecure=insecure,
        names=tuple(name or ()),
        origins=tuple(allow_origin or ()),
        aliases=pairs_of("--alias", alias),
        targets=pairs_of("--target", target),
        tables=pairs_of("--table", table),
        backups=None if backups is None else str(backups),
    )
    run(options, lambda address: typer.echo(f"Serving at {address} until Ctrl-C.", err=True))


def pairs_of(option: str, given: list[str] | None) -> dict[str, str]:
    """Return the values of NAME=VALUE options by name."""
    found: dict[str, str] = {}
    for pair in given or ():
        name, equals, value = pair.partition("=")
        if not (name and equals and value) or name in found:
            raise ConfigError(f"{option} is {quoted(name)}; expected NAME=VALUE, each name once")
        found[name] = value
    return found


def read_keys(path: Path) -> dict[str, Permission]:
    """Return the permissions of the keys in a file, by their hashes."""
    from gem_index.home.key_library import digest_of

    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UnreadableFileError(str(path), quoted_error(error)) from error
    found: dict[str, Permission] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        key, *rest = line.split()
        allowed = rest[0] if rest else "admin"
        if rest == ["keys"]:
            problem = "a key that allows keys has a name, which a key file cannot give; expected read, write or admin"
            raise RecordError(str(path), number, Message(problem, Advice(Action.MAKE_MAKER)))
        if len(rest) > 1 or allowed not in ("read", "write", "admin"):
            raise RecordError(
                str(path), number, "expected KEY, or KEY and one of read, write, admin"
            )
        found[digest_of(key).hex()] = cast("Permission", allowed)
    if not found:
        raise InputError(f"{quoted_path(path)} holds no key; expected one a line")
    return found


@keys.command()
def add(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Name of the key, for the list and for removing it.")],
    allow: Annotated[
        str,
        typer.Option(
            help="read, write, admin or keys; each includes the ones before it. A key for keys makes and removes keys that "
            "allow less, by requests."
        ),
    ] = "read",
    as_json: AsJson = False,
) -> None:
    """Make a key and print it. Only its hash is stored."""
    key = home_of(context).keys.add(name, allow)  # type: ignore[arg-type]  # checked there
    if as_json:
        print_json({"name": name, "allow": allow, "key": key})
    else:
        say(key)


@keys.command(name="list")
def list_keys(context: typer.Context, as_json: AsJson = False) -> None:
    """List the names and permissions of the keys. The keys themselves are not stored."""
    rows = [
        {
            "name": each.name,
            "allow": each.permission,
            "created_at": each.created_at,
            "made_by": each.made_by,
        }
        for each in home_of(context).keys.list()
    ]
    if as_json:
        print_json(rows)
    else:
        for row in rows:
            maker = "" if row["made_by"] is None else f", made by {row['made_by']}"
            say(f"{row['name']}: {row['allow']}, of {row['created_at']}{maker}")


@keys.command()
def remove(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Name of the key.")],
    made: Annotated[
        bool, typer.Option("--made", help="Also remove the keys that it has made.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Remove a key. After at most a second, a running server no longer accepts it."""
    keys = home_of(context).keys
    _, *also = keys.remove(name, made=made)
    left = [each.name for each in keys.list() if each.made_by == name]
    if as_json:
        print_json({"removed": name, "also_removed": also, "made_keys_left": left})
        return
    say(f"removed the key {name}")
    if also:
        say(f"removed the keys that it made: {', '.join(also)}")
    if left:
        say(f"{len(left)} keys that it made are left: {', '.join(left)}")


def register(app: typer.Typer) -> None:
    """Add the commands to the tree."""
    app.command()(serve)
    app.add_typer(keys, name="keys")
