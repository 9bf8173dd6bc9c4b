"""Commands on collections: refit, status, describe, synonyms, drift, verify, compact, export, backup, drop, import."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gem_index.errors import InputError
from gem_index_cli.context import home_of
from gem_index_cli.output import (
    in_units,
    print_json,
    print_json_lines,
    print_table,
    say,
    tell_void_calibration,
)
from gem_index_cli.output_files import check_table, write_result
from gem_index_cli.parameters import AsJson, AsJsonLines, CollectionName, Output, Shown
from gem_index_cli.progress import progress_bar

if TYPE_CHECKING:
    from gem_index.results import Novelty

__all__ = ["register"]

_LISTED = 20
_BEGINNING = 120  # characters of a text in a list


def refit(context: typer.Context, collection: CollectionName, as_json: AsJson = False) -> None:
    """Fit the model of a collection on its present texts and encode them again."""
    found = home_of(context).collection(collection)
    with progress_bar("fit") as progress:
        found.refit(progress)
    _print_status([found.status()], as_json)


def status(
    context: typer.Context,
    collection: Annotated[
        str | None, typer.Argument(metavar="[COLLECTION]", help="One collection; all by default.")
    ] = None,
    as_json: AsJson = False,
    as_json_lines: AsJsonLines = False,
) -> None:
    """Show collections: documents, model and index."""
    home = home_of(context)
    found = home.collections() if collection is None else [home.collection(collection).status()]
    if as_json_lines:
        print_json_lines(found)
        return
    if not found and not as_json:
        say(
            f"No collections in {home.root}. Make one: gem-index build NAME FILE, or gem-index demo"
        )
        return
    _print_status(found, as_json)


def _print_status(found: list[Any], as_json: bool) -> None:
    if as_json:
        from dataclasses import asdict

        print_json({"collections": [asdict(status) for status in found]})
        return
    print_table(
        (
            "collection",
            ">documents",
            "vectors",
            "language",
            ">fitted",
            ">tail",
            ">size",
        ),
        (
            (
                s.name,
                s.documents,
                s.vectors,
                s.language if s.analyzer > 1 else "en (before 0.1)",
                s.fitted or "no",
                s.index.tail,
                in_units(s.bytes),
            )
            for s in found
        ),
    )
    for s in found:
        tell_void_calibration(s)
    if any(s.index.tail for s in found):
        say("tail: documents newer than the index; searches compare them one by one.")


def describe(
    context: typer.Context,
    collection: CollectionName,
    description: Annotated[
        str | None, typer.Argument(metavar="[TEXT]", help='The new description; "" for none.')
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show or set the description of a collection, which assistants read."""
    found = home_of(context).collection(collection)
    if description is not None:
        found.set_description(description)
    if as_json:
        print_json({"collection": found.name, "description": found.description})
    else:
        say(found.description or f"{found.name} has no description.")


def synonyms(
    context: typer.Context,
    collection: CollectionName,
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE]",
            help="A file with one group per line, such as: vpn, virtual private network. An empty file removes all.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show or set the synonyms and abbreviations of a collection.

    A query that contains one form of a group also searches for the others. Nothing is indexed again.
    """
    from gem_index.readers.synonyms import read_synonyms

    found = home_of(context).collection(collection)
    if file is not None:
        found.set_synonyms(read_synonyms(file))
    groups = found.synonyms.groups
    if as_json:
        print_json({"collection": found.name, "synonyms": groups})
        return
    for group in groups:
        say(", ".join(group))
    if not groups:
        say(f"{found.name} has no synonyms.")


def verify(
    context: typer.Context,
    collection: Annotated[
        str | None,
        typer.Argument(metavar="[COLLECTION]", help="One collection; everything by default."),
    ] = None,
    fix: Annotated[bool, typer.Option("--fix", help="Rebuild damaged indexes.")] = False,
    as_json: AsJson = False,
) -> None:
    """Compare all stored files with their hashes and counts; exit 1 if a problem remains."""
    with progress_bar("verify") as progress:
        problems = home_of(context).verify(collection, fix, progress)
    wrong = any(not problem.fixed for problem in problems)
    if as_json:
        from dataclasses import asdict

        print_json({"ok": not wrong, "problems": [asdict(problem) for problem in problems]})
    elif problems:
        for problem in problems:
            say(f"{problem.kind}: {problem.detail}{' (fixed)' if problem.fixed else ''}")
    else:
        say("All is well.")
    if wrong:
        raise typer.Exit(1)


def drop(
    context: typer.Context,
    collection: CollectionName,
    yes: Annotated[
        bool,
        typer.Option("--yes", "-y", help="Do not ask. Needed if standard input is not a terminal."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Remove a collection with all its documents."""
    home = home_of(context)
    documents = home.collection(collection).status().documents
    if not yes:
        if not sys.stdin.isatty():
            raise InputError(
                f"standard input is not a terminal, so nobody can be asked whether to remove {collection} with {documents} "
                "documents; expected --yes to remove it"
            )
        typer.confirm(f"Remove {collection} with {documents} documents?", abort=True)
    home.drop(collection)
    if as_json:
        print_json({"dropped": collection, "documents": documents})
    else:
        say(f"{collection} is gone with {documents} documents.")


def compact(
    context: typer.Context,
    collection: Annotated[
        str | None,
        typer.Argument(metavar="[COLLECTION]", help="One collection; all by default."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Erase deleted texts: afterwards no file contains a byte of them."""
    home = home_of(context)
    with progress_bar("encode") as progress:
        home.compact(collection, progress)
    names = [collection] if collection else [status.name for status in home.collections()]
    if as_json:
        print_json({"compacted": names})
    else:
        say(f"Compacted: {', '.join(names) or 'the database'}.")


def export(
    context: typer.Context,
    collection: CollectionName,
    output: Annotated[Path, typer.Option("-o", "--output", help="A .jsonl or .parquet file.")],
    as_json: AsJson = False,
) -> None:
    """Write a collection to a file, with its vectors and its model."""
    with progress_bar("export") as progress:
        documents = home_of(context).collection(collection).export(output, progress)
    if as_json:
        print_json({"collection": collection, "documents": documents, "output": str(output)})
    else:
        say(f"{documents} documents of {collection} in {output}.")


def restore(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file that export wrote.")],
    collection: Annotated[
        str | None,
        typer.Argument(metavar="[COLLECTION]", help="Its name; by default the exported one."),
    ] = None,
    fit: Annotated[
        bool,
        typer.Option(
            "--fit",
            help="Take the documents and the configuration from the file, and fit the model on them here.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Restore a collection from a file that export wrote."""
    with progress_bar("encode") as progress:
        made = home_of(context).import_collection(file, collection, progress, fit=fit)
    _print_status([made.status()], as_json)


def backup(
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A new folder.")],
    as_json: AsJson = False,
) -> None:
    """Copy the home to a new folder that can be used as a home. The original may be in use."""
    with progress_bar("backup") as progress:
        home_of(context).backup(folder, progress)
    if as_json:
        print_json({"backup": str(folder)})
    else:
        say(f"The home is in {folder}: use it with --home, or copy it back.")


def drift(
    context: typer.Context,
    collection: CollectionName,
    output: Output = None,
    show: Shown = None,
    as_json: AsJson = False,
) -> None:
    """Measure how much a refit would change a collection, and whether its new documents are about new subjects.

    The rows of --output are the documents about new subjects.
    """
    check_table(output, show)
    opened = home_of(context).collection(collection)
    with progress_bar("fit") as progress:
        found = opened.drift(progress=progress)
    if output is not None:
        write_result(opened, found, output, show, as_json)
        return
    if as_json:
        print_json(found)
        return
    say(
        f"{found.since_fit} of {found.documents} documents came after the fit. A refit would change a cosine by "
        f"{found.score_change:.3f} on average."
    )
    if found.novelty is not None:
        _print_novelty(found.novelty)
    elif found.since_fit:
        say(
            "There are fewer than 20 new texts, or fewer than 20 texts of the fit: too few to look for new subjects."
        )
    say(
        {
            "refit": f"Refit it: gem-index refit {collection}",
            "look": "Look at these documents. If they belong to the collection, refit it: gem-index refit "
            f"{collection}",
            "none": "No refit is needed.",
        }[found.advice]
    )


def _print_novelty(novelty: Novelty) -> None:
    """Print the shares with their intervals; if there are new subjects, their topics and documents."""
    say(f"Compared: {novelty.compared} new texts with {novelty.fitted} of the fit.")
    print_table(
        ("new texts", ">share", ">interval", ">expected"),
        [
            (
                name,
                f"{share.share:.3f}",
                f"{share.low:.3f} to {share.high:.3f}",
                f"{share.expected:.3f}",
            )
            for name, share in (
                ("far from the texts of the fit", novelty.far),
                ("among the nearest of each other", novelty.together),
            )
        ],
    )
    if not novelty.found:
        say("No new subjects.")
        return
    say(f"New subjects: {len(novelty.documents)} texts are far from the texts of the fit.")
    print_table(
        (">documents", "words", "typical"),
        [
            (
                each.documents,
                ", ".join(each.words),
                " ".join(each.examples[0].text[:_BEGINNING].split()),
            )
            for each in novelty.topics
        ],
    )
    print_table(
        ("id", ">similarity", "words", "text"),
        [
            (
                each.id,
                f"{each.similarity:.3f}",
                ", ".join(novelty.topics[each.topic].words[:2]),
                " ".join(each.text[:_BEGINNING].split()),
            )
            for each in novelty.documents[:_LISTED]
        ],
    )
    if len(novelty.documents) > _LISTED:
        say(f"{len(novelty.documents) - _LISTED} more: --json, or --output")


def register(app: typer.Typer) -> None:
    """Add the commands to the tree."""
    for command in (
        refit,
        status,
        describe,
        synonyms,
        drift,
        verify,
        compact,
        export,
        backup,
        drop,
    ):
        app.command()(command)
    app.command("import")(restore)
