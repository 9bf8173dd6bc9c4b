"""Commands on vector databases: push, pull, embed, targets."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from gem_index_cli.cluster import ClusterOptions
from gem_index_cli.context import home_of
from gem_index_cli.encoder_options import ConfigOptions, EncoderOptions, Vectors
from gem_index_cli.input_options import InputOptions
from gem_index_cli.option_groups import takes
from gem_index_cli.output import print_json, print_table, say
from gem_index_cli.parameters import AsJson, CollectionName
from gem_index_cli.pieces import PieceOptions
from gem_index_cli.progress import progress_bar
from gem_index_cli.record_options import RecordOptions
from gem_index_cli.sources import (
    FolderOptions,
    QueryOptions,
    Sources,
    Whole,
    readers_of,
    records_on_cluster,
)

if TYPE_CHECKING:
    from gem_index.results import PushReport

__all__ = ["register"]

Url = Annotated[
    str,
    typer.Argument(
        metavar="URL",
        help="The table, such as parquet:///folder; gem-index targets lists the forms.",
    ),
]
Batch = Annotated[int, typer.Option("--batch", help="Documents per batch.")]
NoTexts = Annotated[bool, typer.Option("--no-texts", help="Store only vectors and metadata.")]
Drop = Annotated[
    bool,
    typer.Option(
        "--drop-unsupported",
        help="Leave out metadata that the database cannot store. Default: stop with an error.",
    ),
]

DenseOnly = Annotated[
    bool,
    typer.Option(
        "--dense-only",
        help="In a new table, store only dense vectors, no sparse vectors of words.",
    ),
]


def push(
    context: typer.Context,
    collection: CollectionName,
    url: Url,
    full: Annotated[
        bool,
        typer.Option(
            "--full", help="Write the whole table again, even if somebody else changed it."
        ),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Send nothing; only count what a push would send.")
    ] = False,
    batch: Batch = 1000,
    no_texts: NoTexts = False,
    drop_unsupported: Drop = False,
    dense_only: DenseOnly = False,
    as_json: AsJson = False,
) -> None:
    """Push a collection into a vector database; later pushes send only the changes."""
    with progress_bar("push") as progress:
        report = (
            home_of(context)
            .collection(collection)
            .push(
                url,
                full=full,
                dry_run=dry_run,
                batch=batch,
                texts=not no_texts,
                drop_unsupported=drop_unsupported,
                words=not dense_only,
                progress=progress,
            )
        )
    _print(report, as_json, "would be " if dry_run else "")
    if report.words is False and not dense_only and not as_json:
        say("The table has dense vectors only: push it with --full to add sparse vectors of words.")
    if report.words_due and not as_json:
        say(
            "The table has twice as many texts as its word statistics: push it with --full to renew them."
        )


@takes(options=RecordOptions, config=ConfigOptions)
def pull(
    context: typer.Context,
    url: Url,
    collection: CollectionName,
    options: RecordOptions,
    config: ConfigOptions,
    vectors: Vectors = None,
    as_json: AsJson = False,
) -> None:
    """Build a collection from the texts and metadata in a vector database.

    If another program made the table, name the columns of the id and the text; the collection stores these names. All other
    columns become metadata, except vectors and bytes. gem-index inspect URL shows the columns.
    """
    from gem_index.home.pulling import pull as pulled

    home = home_of(context)
    kept = home.collection(collection).reading if collection in home else {}
    with progress_bar("store") as progress:
        report = pulled(
            home,
            url,
            collection,
            reading=options.reading(kept),
            vectors=vectors or config.vectors,
            config=config.config(),
            progress=progress,
        )
    options.log.end()
    if as_json:
        print_json({**asdict(report), "skipped": options.log.skipped})
    else:
        say(f"{report.collection}: {report.documents} documents, {report.added} of them new.")


@takes(
    options=InputOptions,
    folders=FolderOptions,
    queries=QueryOptions,
    config=ConfigOptions,
    pieces=PieceOptions,
    encoder=EncoderOptions,
    cluster=ClusterOptions,
)
def embed(
    context: typer.Context,
    inputs: Sources,
    options: InputOptions,
    folders: FolderOptions,
    queries: QueryOptions,
    pieces: PieceOptions,
    config: ConfigOptions,
    encoder: EncoderOptions,
    cluster: ClusterOptions,
    to: Annotated[
        str, typer.Option("--to", metavar="URL", help="The table, such as parquet:///folder.")
    ],
    whole: Whole = None,
    batch: Batch = 1000,
    no_texts: NoTexts = False,
    drop_unsupported: Drop = False,
    language: Annotated[
        str,
        typer.Option(
            help="Language of the words of a new table: auto (detected from the first texts), a code such as en or zh, mul "
            "(several), or none (words as they are written).",
        ),
    ] = "auto",
    dense_only: DenseOnly = False,
    as_json: AsJson = False,
) -> None:
    """Embed the texts of files and write them to a vector database, without a collection.

    For a new table, the command first reads the files to count their words, then reads them again. If it stops at a bad
    record, the batches before it are stored: mend the file and run the command again.
    """
    from gem_index.collection.push.embedded_words import CountedInputs
    from gem_index.collection.push.embedding import TableWords, embed_into
    from gem_index.collection.push.sending import PushOptions
    from gem_index.readers.rereading import readable_twice

    asked = PushOptions(
        batch=batch,
        texts=not no_texts,
        drop_unsupported=drop_unsupported,
        words=not dense_only,
    )
    choice = encoder.choice(context, config)
    if cluster.scheduler is not None:
        from gem_index.distributed import embed as embed_on

        reader = records_on_cluster(inputs, options, folders, queries, whole)
        found = choice.open().encoder
        with cluster.connected() as client, progress_bar("embed") as progress:
            done = embed_on(
                client,
                found,
                reader,
                to,
                chunking=pieces.chunking(),
                vectors=choice.vector_names,
                language=language,
                push=asked,
                options=cluster.partitions(options),
                progress=progress,
            )
        cluster.tell(options, done.skipped_records, done.skipped)
        _print(done.push, as_json)
        return
    with readable_twice(inputs) as names, progress_bar("embed") as progress:
        readers, again = (
            readers_of(names, each, folders, queries, whole=whole)
            for each in (options, options.silent())
        )
        counting = CountedInputs(again, language, progress)
        report = embed_into(
            to,
            choice.open().encoder,
            readers,
            asked,
            progress,
            chunking=pieces.chunking(),
            words=TableWords(choice.vector_names, counting),
        )
    options.log.end()
    _print(report, as_json)


def targets(as_json: AsJson = False) -> None:
    """Show the vector databases that push knows, what each can do, and how to install them."""
    from gem_index.targets import list_targets

    found = list_targets()
    if as_json:
        print_json([asdict(info) for info in found])
        return
    print_table(
        ("scheme", "search", "metadata", "replaced in", "installed"),
        [
            (
                info.scheme,
                info.search,
                info.metadata,
                info.replacement,
                info.version if info.installed else info.install,
            )
            for info in found
        ],
    )


def _print(report: PushReport, as_json: bool, verb: str = "") -> None:
    if as_json:
        print_json(report)
        return
    documents = "" if report.documents is None else f"{report.documents} documents; "
    unchanged = "" if report.unchanged is None else f", unchanged {report.unchanged}"
    say(
        f"{report.target}: {documents}{verb}added {report.added}, updated {report.updated}, "
        f"deleted {report.deleted}{unchanged}."
    )


def register(app: typer.Typer) -> None:
    """Add the commands to the tree."""
    for command in (push, pull, embed, targets):
        app.command()(command)
