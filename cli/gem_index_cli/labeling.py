"""The command that gives documents the labels of examples: label."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated

import typer

from gem_index_cli.context import home_of
from gem_index_cli.documents import Where, parsed_filter
from gem_index_cli.output import print_json, print_table, say
from gem_index_cli.output_files import check_table
from gem_index_cli.parameters import AsJson, CollectionName, Output, Replace, Shown, names_of
from gem_index_cli.progress import progress_bar

if TYPE_CHECKING:
    from gem_index.results import Labels

__all__ = ["register"]


def label(
    context: typer.Context,
    collection: CollectionName,
    examples: Annotated[
        str,
        typer.Argument(
            metavar="EXAMPLES",
            help="A file of examples (.csv, .tsv, .xlsx, .parquet, .jsonl, .json) with the columns id (or text) and label.",
        ),
    ],
    field: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="The field of the metadata for the labels; the file may also have its labels in a column of this name.",
        ),
    ] = "label",
    min_probability: Annotated[
        float,
        typer.Option(
            help="A document gets no label if its best label has a lower probability, from 0 to 1."
        ),
    ] = 0.0,
    where: Where = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only measure and count; write nothing.")
    ] = False,
    replace: Replace = False,
    output: Output = None,
    show: Shown = None,
    as_json: AsJson = False,
) -> None:
    """Learn labels from some labeled documents, and write a label into the metadata of every document."""
    check_table(output, show)
    found = home_of(context).collection(collection)
    with progress_bar("learn") as progress:
        labels = found.label(
            examples,
            field,
            where=parsed_filter(where),
            min_probability=min_probability,
            dry_run=dry_run,
            replace=replace,
            progress=progress,
        )
    written = {}
    if output is not None:
        rows = found.write_rows(output, labels, fields=names_of(show))
        written = {"rows": rows, "output": str(output)}
    sizes = Counter(each.label for each in labels)
    if as_json:
        print_json(
            {
                "collection": found.name,
                "field": field,
                "accuracy": labels.accuracy,
                "interval": labels.interval,
                "baseline": labels.baseline,
                "parts": labels.parts,
                "labels": [
                    {
                        "label": each.label,
                        "examples": each.examples,
                        "precision": each.precision,
                        "recall": each.recall,
                        "documents": sizes[each.label],
                    }
                    for each in labels.qualities
                ],
                "labeled": len(labels),
                "unlabeled": labels.unlabeled,
                "changed": labels.changed,
                "dry_run": dry_run,
                **written,
            }
        )
        return
    _print_quality(labels, sizes)
    if dry_run:
        say(f"{len(labels)} documents would get the field {field}; nothing was written.")
    else:
        say(f"{labels.changed} documents changed: {len(labels)} have the field {field} now.")
    if written:
        say(f"{len(labels)} rows in {output}.")
    if labels.unlabeled:
        say(f"{labels.unlabeled} documents get no label.")


def _print_quality(labels: Labels, sizes: Counter[str]) -> None:
    examples = sum(each.examples for each in labels.qualities)
    low, high = labels.interval
    say(
        f"Cross-validated on {examples} examples in {labels.parts} parts: {labels.accuracy:.2f} are right ({low:.2f} to "
        f"{high:.2f}). The most frequent label alone: {labels.baseline:.2f}."
    )
    print_table(
        ("label", ">examples", ">precision", ">recall", ">documents"),
        [
            (
                each.label,
                each.examples,
                f"{each.precision:.2f}",
                f"{each.recall:.2f}",
                sizes[each.label],
            )
            for each in labels.qualities
        ],
    )


def register(app: typer.Typer) -> None:
    """Add the command to the tree."""
    app.command()(label)
