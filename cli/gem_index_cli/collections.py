"""Commands on collections: build, add, refit, status, verify, drop."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gem_index.errors import ConfigError, InputError
from gem_index_cli.cluster import ClusterOptions
from gem_index_cli.context import home_of
from gem_index_cli.encoder_options import ConfigOptions
from gem_index_cli.input_options import InputOptions
from gem_index_cli.option_groups import takes
from gem_index_cli.output import (
    print_json,
    print_json_lines,
    print_table,
    say,
)
from gem_index_cli.parameters import AsJson, AsJsonLines, CollectionName
from gem_index_cli.pieces import PieceOptions
from gem_index_cli.progress import progress_bar
from gem_index_cli.sources import (
    FolderOptions,
    QueryOptions,
    Sources,
    Whole,
    naming_duplicates,
    print_unread,
    readers_of,
    records_on_cluster,
    skipped_in,
)

if TYPE_CHECKING:
    from gem_index import Home
    from gem_index.readers import DocumentReader
    from gem_index.results import UpsertReport

__all__ = ["register"]

Prune = Annotated[
    bool,
    typer.Option(
        "--prune", help="Delete documents that are no longer in the folder or the database."
    ),
]


@takes(
    options=InputOptions,
    folders=FolderOptions,
    queries=QueryOptions,
    pieces=PieceOptions,
    config=ConfigOptions,
    cluster=ClusterOptions,
)
def build(
    context: typer.Context,
    collection: CollectionName,
    inputs: Sources,
    options: InputOptions,
    folders: FolderOptions,
    queries: QueryOptions,
    pieces: PieceOptions,
    config: ConfigOptions,
    cluster: ClusterOptions,
    vectors: Annotated[
        str | None,
        typer.Option(
            help="Word vectors: a name, a file, a folder, or several joined by +. Default: wordllama-gem.",
            show_default=False,
        ),
    ] = None,
    index: Annotated[
        str | None,
        typer.Option(
            help="auto (by size), flat, pq, rabitq, sq8, ivf, hnsw, or a FAISS factory string.",
            show_default=False,
        ),
    ] = None,
    whole: Whole = None,
    prune: Prune = False,
    parts: Annotated[
        str | None,
        typer.Option(
            help="With --scheduler, a folder or the URL of one that workers write to and this machine reads; emptied at "
            "the end. Default: in the home.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make a searchable collection of the texts in some files, with a model fitted on them.

    A collection that exists takes the texts in by id and is fitted again.
    """
    home = home_of(context)
    settings: dict[str, Any] = {
        "vectors": vectors or config.vectors,
        "config": config.config(),
        "index": index,
        "chunking": pieces.chunking(),
    }
    if cluster.scheduler is not None:
        if prune:
            raise ConfigError("found --prune with --scheduler; expected files of records alone")
        reader = records_on_cluster(inputs, options, folders, queries, whole)
        report, skipped = _build_shards(cluster, home, collection, reader, options, parts, settings)
        _print_upsert(report, skipped, as_json)
        _print_built(home, collection, as_json)
        return
    if parts is not None:
        raise ConfigError("found --parts without --scheduler; expected both")
    found = home.collection(collection) if collection in home else None
    readers = readers_of(
        inputs,
        options,
        folders,
        queries,
        whole=whole,
        collection=found,
        types="auto" if found is None else "text",
    )
    with progress_bar("store") as progress, naming_duplicates(readers):
        report = home.build(
            collection,
            readers,
            prune=prune,
            progress=progress,
            **settings,
        )
    options.log.end()
    _print_upsert(report, skipped_in(readers), as_json)
    print_unread(readers, as_json)
    _print_built(home, collection, as_json)


def _build_shards(
    cluster: ClusterOptions,
    home: Home,
    collection: str,
    reader: DocumentReader,
    options: InputOptions,
    parts: str | None,
    settings: dict[str, Any],
) -> tuple[UpsertReport, int]:
    """Build a collection on a cluster; return what it holds, and how many records were skipped."""
    from gem_index.distributed import build_shards

    with (
        cluster.connected() as client,
        progress_bar("fit") as progress,
        reader.naming_duplicates(),
    ):
        found = build_shards(
            client,
            home,
            collection,
            reader,
            parts=parts,
            options=cluster.partitions(options),
            progress=progress,
            **settings,
        )
    cluster.tell(options, found.problems, found.skipped)
    return found.report, found.skipped


def _print_built(home: Home, collection: str, as_json: bool) -> None:
    if not as_json:
        status = home.collection(collection).status()
        unit = "pieces" if status.fitted > status.documents else "texts"  # of long texts
        say(
            f"Model fitted on {status.fitted} {unit} with {status.vectors}.\n"
            f"Preset {status.preset}, prior {status.prior:g} pseudo-sentences of background."
        )
        say(f'Search it: gem-index search {collection} "your question"')


@takes(options=InputOptions, folders=FolderOptions, queries=QueryOptions, pieces=PieceOptions)
def add(
    context: typer.Context,
    collection: CollectionName,
    inputs: Sources,
    options: InputOptions,
    folders: FolderOptions,
    queries: QueryOptions,
    pieces: PieceOptions,
    whole: Whole = None,
    prune: Prune = False,
    as_json: AsJson = False,
) -> None:
    """Add texts to a collection, or replace those whose id exists; the model is not changed.

    Fields and folders are read as they were for build unless options say otherwise. Of a folder only files are read that are
    new or have changed.
    """
    found = home_of(context).collection(collection)
    pieces.check(found)
    readers = readers_of(inputs, options, folders, queries, whole=whole, collection=found)
    with progress_bar("store") as progress, naming_duplicates(readers):
        report = found.upsert(readers, prune=prune, progress=progress)
    options.log.end()
    _print_upsert(report, skipped_in(readers), as_json)
    print_unread(readers, as_json)


def _print_upsert(report: UpsertReport, skipped: int, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "collection": report.collection,
                "added": report.added,
                "updated": report.updated,
                "unchanged": report.unchanged,
                "deleted": report.deleted,
                "pieces": report.pieces,
                "skipped": skipped,
                "documents": report.documents,
                "fingerprint": report.fingerprint,
                "seconds": round(report.seconds, 3),
            }
        )
        return
    say(
        f"{report.collection}: {report.added} added, {report.updated} updated, {report.unchanged} unchanged, "
        f"{f'{report.deleted} deleted, ' if report.deleted else ''}{skipped} skipped; {report.documents} documents now."
    )


def refit(context: typer.Context, collection: CollectionName, as_json: AsJson = False) -> None:
    """Fit a collection's model on its present texts and encode them again."""
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
            "preset",
            ">fitted on",
            ">tail",
            ">index bytes",
        ),
        (
            (
                s.name,
                s.documents,
                s.vectors,
                s.preset,
                s.fitted or "background",
                s.index.tail,
                s.bytes,
            )
            for s in found
        ),
    )


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
    problems = home_of(context).verify(collection, fix)
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
        typer.Option(
            "--yes", "-y", help="Do not ask; needed where standard input is not a terminal."
        ),
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
    as_json: AsJson = False,
) -> None:
    """Restore a collection from a file that export wrote."""
    with progress_bar("encode") as progress:
        made = home_of(context).import_collection(file, collection, progress)
    _print_status([made.status()], as_json)


def backup(
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A new folder.")],
    as_json: AsJson = False,
) -> None:
    """Copy the home to a new folder, which is then a home itself; it may be in use."""
    with progress_bar("backup") as progress:
        home_of(context).backup(folder, progress)
    if as_json:
        print_json({"backup": str(folder)})
    else:
        say(f"The home is in {folder}: use it with --home, or copy it back.")


def drift(context: typer.Context, collection: CollectionName, as_json: AsJson = False) -> None:
    """Measure how far the texts have moved from those the model was fitted on, and whether to refit."""
    with progress_bar("fit") as progress:
        found = home_of(context).collection(collection).drift(progress=progress)
    if as_json:
        print_json(found)
        return
    say(
        f"{found.since_fit} of {found.documents} documents came after the fit. A refit would change a cosine by "
        f"{found.score_change:.3f} on average."
    )
    say(
        f"Refit it: gem-index refit {collection}"
        if found.refit_recommended
        else "No refit is needed."
    )


def register(app: typer.Typer) -> None:
    """Add the commands to the tree."""
    for command in (build, add, refit, status, drift, verify):
        app.command()(command)
    for command in (compact, export, backup, drop):
        app.command()(command)
    app.command("import")(restore)
