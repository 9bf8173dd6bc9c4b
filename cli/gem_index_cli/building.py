"""Commands that fill collections: build, add."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gem_index.errors import ConfigError
from gem_index_cli.cluster import ClusterOptions
from gem_index_cli.context import home_of
from gem_index_cli.encoder_options import ConfigOptions, Vectors
from gem_index_cli.input_options import InputOptions
from gem_index_cli.option_groups import takes
from gem_index_cli.output import (
    print_json,
    say,
    tell_void_calibration,
)
from gem_index_cli.parameters import AsJson, CollectionName
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
from gem_index_cli.unknown_words import tell_unknown_words

if TYPE_CHECKING:
    from gem_index import Home
    from gem_index.readers import DocumentReader
    from gem_index.results import UpsertReport

__all__ = ["register"]

Prune = Annotated[
    bool,
    typer.Option(
        "--prune",
        help="Delete documents that came from this folder or database and are no longer there.",
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
    vectors: Vectors = None,
    index: Annotated[
        str | None,
        typer.Option(
            help="auto (by size), flat, pq, rabitq, sq8, ivf, hnsw, or a FAISS factory string.",
            show_default=False,
        ),
    ] = None,
    language: Annotated[
        str | None,
        typer.Option(
            help="Language of the texts, for word search: auto (detected from the first texts), a code such as en or zh, "
            "mul (several), or none (words as they are written). Default: auto for a new collection.",
            show_default=False,
        ),
    ] = None,
    synonyms: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A file of synonyms and abbreviations, one group per line, such as: vpn, virtual private network.",
            show_default=False,
        ),
    ] = None,
    whole: Whole = None,
    prune: Prune = False,
    parts: Annotated[
        str | None,
        typer.Option(
            help="With --scheduler: a folder or URL for temporary files. The workers must be able to write there, and this "
            "machine must be able to read there. The command empties the folder at the end. Default: a folder in the home.",
            show_default=False,
            rich_help_panel=ClusterOptions.PANEL,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Build a searchable collection from files, and fit a model on their texts.

    If the collection exists, the command stores new and changed documents (compared by id). It fits the model again if
    documents were added, changed or deleted since the last fit, or if you choose another index kind, chunking or language.
    """
    from gem_index.readers.synonyms import read_synonyms

    home = home_of(context)
    groups = None if synonyms is None else read_synonyms(synonyms)
    settings: dict[str, Any] = {
        "vectors": vectors or config.vectors,
        "config": config.config(),
        "index": index,
        "chunking": pieces.chunking(),
        "language": language,
    }
    if cluster.scheduler is not None:
        if prune:
            raise ConfigError("found --prune with --scheduler; expected files of records alone")
        reader = records_on_cluster(inputs, options, folders, queries, whole)
        report, skipped = _build_shards(cluster, home, collection, reader, options, parts, settings)
        if groups is not None:
            home.collection(collection).set_synonyms(groups)
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
    if groups is not None:
        home.collection(collection).set_synonyms(groups)
    options.log.end()
    _print_upsert(report, skipped_in(readers), as_json)
    tell_unknown_words(report.known_words)
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
    """Build a collection on a cluster; return its report, and the number of skipped records."""
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
    cluster.tell(options, found.skipped_records, found.skipped)
    return found.report, found.skipped


def _print_built(home: Home, collection: str, as_json: bool) -> None:
    if not as_json:
        status = home.collection(collection).status()
        unit = "pieces" if status.fitted > status.documents else "texts"  # of long texts
        say(f"Model fitted on {status.fitted} {unit} with {status.vectors}.")
        say(f'Search it: gem-index search {collection} "your question"')
        tell_void_calibration(status)


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
    """Add documents to a collection; a document with the same id is replaced. The model does not change.

    Without options, the options of the build apply. From a folder, only new and changed files are read.
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
                "language": report.language,
                "seconds": round(report.seconds, 3),
            }
        )
        return
    say(
        f"{report.collection}: {report.added} added, {report.updated} updated, {report.unchanged} unchanged, "
        f"{f'{report.deleted} deleted, ' if report.deleted else ''}{skipped} skipped; {report.documents} documents now."
    )
    if report.language_share:
        share = f"{report.language_share:.0%} of a sample"
        if report.language == "mul":
            share = f"several languages; the most frequent one has {share}"
        say(
            f"Language for word search: {report.language} ({share}); build with --language changes it."
        )


def register(app: typer.Typer) -> None:
    """Add the commands to the tree."""
    for command in (build, add):
        app.command()(command)
