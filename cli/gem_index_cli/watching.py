"""The command that follows the changes of folders."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from gem_index.errors import ConfigError, GemIndexError, InputError
from gem_index_cli.advice import message_of
from gem_index_cli.context import home_of
from gem_index_cli.option_groups import takes
from gem_index_cli.output import print_json_lines, say
from gem_index_cli.parameters import AsJson, CollectionName
from gem_index_cli.sources import FolderOptions

if TYPE_CHECKING:
    from gem_index.results import UpsertReport

__all__ = ["register"]


@takes(folders=FolderOptions)
def watch(
    context: typer.Context,
    collection: CollectionName,
    folders: FolderOptions,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FOLDER]...", help="Folders to watch. Default: those of the collection."
        ),
    ] = None,
    encoding: Annotated[
        str | None,
        typer.Option(
            help="Encoding of text files; auto detects it. Default: UTF-8.", show_default=False
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Watch folders until Ctrl-C, and store new, changed and deleted files in the collection.

    At the start it reads files that changed while it was not running. If a file cannot be read, it reports the file; the
    collection keeps the content that was read before.
    """
    from gem_index.collection.watching import watch as watched

    home = home_of(context)
    found = home.collection(collection)
    said: set[str] = set()

    def problem(error: InputError) -> None:
        if str(error) not in said:  # once, not after every change of another file
            said.add(str(error))
            typer.echo(f"Skipped: {message_of(error)}", err=True)

    def failed(error: GemIndexError) -> None:
        if str(error) not in said:
            said.add(str(error))
            typer.echo(f"Error: {message_of(error)}", err=True)

    def changed(report: UpsertReport) -> None:
        if as_json:
            print_json_lines([asdict(report)])
        else:
            say(
                f"{report.collection}: {report.added} added, {report.updated} updated, {report.deleted} deleted; "
                f"{report.documents} documents now."
            )
        sys.stdout.flush()  # somebody may read it through a pipe

    known = [place for place in found.sources if place.startswith("/")]
    if not (names or known):
        raise ConfigError(
            f"found no folder, and {found.name} has no folder; expected one: gem-index watch {found.name} FOLDER"
        )
    readers = [folders.reader(name, encoding, problem, found) for name in names or known]
    for reader in readers:
        next(reader.files())  # raises if there is nothing to watch
    try:
        watched(found, readers, on_report=changed, on_error=failed, ignore=[home.root.resolve()])
    except KeyboardInterrupt:
        if not as_json:
            say("Stopped.")


def register(app: typer.Typer) -> None:
    """Add the command to the tree."""
    app.command()(watch)
