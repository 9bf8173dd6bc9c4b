"""Commands on the documents of a collection: show, list, count, delete, similar."""

from __future__ import annotations

import sys
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gem_index.common.checks import check_whole_number
from gem_index.errors import ConfigError, FilterError, InputError
from gem_index_cli.context import home_of
from gem_index_cli.output import (
    print_document,
    print_json,
    print_json_lines,
    print_table,
    say,
    visible,
)
from gem_index_cli.output_files import check_table, tell_rows, write_result
from gem_index_cli.parameters import AsJson, AsJsonLines, CollectionName, Output, names_of
from gem_index_cli.progress import progress_bar
from gem_index_cli.result_output import print_results

if TYPE_CHECKING:
    from gem_index import Document
    from gem_index.results import FieldCounts

__all__ = ["Where", "parsed_filter", "register"]

Id = Annotated[str, typer.Argument(metavar="ID", help="Id of the document.")]
Where = Annotated[
    str | None,
    typer.Option(help='Metadata filter as JSON, such as \'{"lang": "en"}\'.', show_default=False),
]

_LISTED = 20
_BEGINNING = 200  # characters of a text in a list


def parsed_filter(where: str | None) -> Any:
    """Return the value of ``--where``."""
    if where is None:
        return None
    from gem_index.common.json_input import read_json

    return read_json(where, "--where", error=FilterError)


def show(
    context: typer.Context, collection: CollectionName, identifier: Id, as_json: AsJson = False
) -> None:
    """Show a document: its text and metadata."""
    found = home_of(context).collection(collection)
    documents = found.get([identifier])
    if not documents:
        raise InputError(
            f"the collection {found.name} has no document {identifier!r:.80}; expected the id of one of its documents: "
            f"gem-index list {found.name}"
        )
    if as_json:
        print_json(_fields(documents[0]))
    else:
        print_document(documents[0])


def list_documents(
    context: typer.Context,
    collection: CollectionName,
    where: Where = None,
    limit: Annotated[
        int | None,
        typer.Option(
            help="Number of documents, in the order of their last change. Default: 20, or all with --json or --jsonl.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="Write the documents to a .csv, .jsonl or .parquet file instead, with metadata as columns.",
            show_default=False,
        ),
    ] = None,
    show: Annotated[
        str | None,
        typer.Option(
            "--show",
            metavar="FIELDS",
            help="Fields of the metadata to write to --output, joined by commas. Default: all.",
            show_default=False,
        ),
    ] = None,
    vectors: Annotated[
        bool,
        typer.Option(
            "--vectors", help="Also write the vector of each document to --output, as a column."
        ),
    ] = False,
    as_json: AsJson = False,
    as_json_lines: AsJsonLines = False,
) -> None:
    """List documents, all or those that a filter accepts."""
    if limit is not None:
        check_whole_number(limit, "--limit", 1)
    limit = None if limit is None else min(limit, sys.maxsize)
    check_table(output, show)
    if vectors and output is None:
        raise InputError("found --vectors without --output; expected a file for them: -o FILE")
    found = home_of(context).collection(collection)
    accepted = parsed_filter(where)
    if output is not None:
        fields = None if show is None else names_of(show)
        with progress_bar("write") as progress:
            number = found.write_documents(
                output, accepted, fields=fields, limit=limit, vectors=vectors, progress=progress
            )
        tell_rows(found.name, number, output, as_json)
        return
    if as_json or as_json_lines:
        rows = (_fields(document) for document in islice(found.documents(accepted), limit))
        if as_json_lines:
            print_json_lines(rows)
        else:
            print_json(list(rows))
        return
    shown = limit or _LISTED
    documents = list(islice(found.documents(accepted), shown))
    if not documents:
        say("No document is accepted." if accepted else f"{found.name} has no documents.")
        return
    print_table(
        ("id", "text", "metadata"),
        [
            (each.id, " ".join(each.text[:_BEGINNING].split()), each.metadata_json)
            for each in documents
        ],
    )
    if len(documents) == shown and (more := found.count(accepted) - shown) > 0:
        say(f"{more} more: --limit {shown + more}")


def count(
    context: typer.Context,
    collection: CollectionName,
    where: Where = None,
    by: Annotated[
        str | None,
        typer.Option(
            metavar="FIELD",
            help="Count by the values of a field of the metadata. For dates also: year(FIELD), month(FIELD) or day(FIELD).",
            show_default=False,
        ),
    ] = None,
    output: Output = None,
    as_json: AsJson = False,
    as_json_lines: AsJsonLines = False,
) -> None:
    """Count documents, all or those that a filter accepts, also by the values of a field."""
    check_table(output, None)
    found = home_of(context).collection(collection)
    if by is not None:
        counts = found.count_by(by, parsed_filter(where))
        if output is not None:
            write_result(found, counts, output, None, as_json)
        else:
            _print_counts(counts, as_json, as_json_lines)
        return
    if output is not None or as_json_lines:
        given = "--jsonl" if output is None else "--output"
        raise ConfigError(f"found {given} without --by; expected both, or --json")
    number = found.count(parsed_filter(where))
    if as_json:
        print_json({"collection": found.name, "documents": number})
    else:
        say(str(number))


def _print_counts(counts: FieldCounts, as_json: bool, as_json_lines: bool) -> None:
    if as_json:
        print_json(counts)
    elif as_json_lines:
        print_json_lines(counts.values)
    else:
        shown = counts.values[:_LISTED]
        print_table((counts.field, ">documents"), [(each.value, each.documents) for each in shown])
        if len(counts.values) > _LISTED:
            say(f"{len(counts.values) - _LISTED} more: --json or --jsonl")
        if counts.missing:
            say(f"{counts.missing} of {counts.documents} documents have no value.")


def delete(
    context: typer.Context,
    collection: CollectionName,
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="[ID...]", help="Ids of the documents.")
    ] = None,
    where: Where = None,
    as_json: AsJson = False,
) -> None:
    """Delete documents by id, or those that a filter accepts. The exit status is 1 if none of them existed."""
    report = home_of(context).collection(collection).delete(ids or None, where=parsed_filter(where))
    if as_json:
        print_json({"deleted": report.deleted, "missing": list(report.missing)})
    else:
        say(f"{report.deleted} deleted.")
        if report.missing:
            say(f"Not there: {visible(', '.join(report.missing))}")
    if not report.deleted:
        raise typer.Exit(1)


def similar(
    context: typer.Context,
    collection: CollectionName,
    identifier: Id,
    k: Annotated[int, typer.Option("-k", help="How many.")] = 10,
    where: Where = None,
    as_json: AsJson = False,
    as_json_lines: AsJsonLines = False,
) -> None:
    """Find the documents that are nearest in meaning to a document of the collection."""
    found = home_of(context).collection(collection).similar(identifier, k, parsed_filter(where))
    if not (as_json or as_json_lines):
        print_results(found)
        return
    hits = [hit.to_dict() for hit in found]
    print_json_lines(hits) if as_json_lines else print_json(hits)


def _fields(document: Document) -> dict[str, Any]:
    return {
        "id": document.id,
        "text": str(document.text),
        "metadata": dict(document.metadata),
    }


def register(app: typer.Typer) -> None:
    """Add the commands to the tree."""
    for name, command in (
        ("show", show),
        ("list", list_documents),
        ("count", count),
        ("delete", delete),
        ("similar", similar),
    ):
        app.command(name)(command)
    app.command("neighbours", hidden=True)(similar)  # its former name
