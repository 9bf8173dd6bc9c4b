"""The command that measures which scores are weak: calibrate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from gem_index_cli.context import home_of
from gem_index_cli.output import print_json, print_table, say
from gem_index_cli.parameters import AsJson, CollectionName
from gem_index_cli.progress import progress_bar

if TYPE_CHECKING:
    from gem_index.results import Calibration

__all__ = ["register"]


def calibrate(
    context: typer.Context,
    collection: CollectionName,
    queries: Annotated[
        str | None,
        typer.Argument(
            metavar="[QUERIES]",
            help="A file of queries (.csv, .tsv, .xlsx, .parquet, .jsonl, .json) with the columns query and expected: the "
            "id of a right document, or a list of ids. Without it, parts of the documents are the queries.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Measure the score below which results are weak, and store it for --min-score auto."""
    found = home_of(context).collection(collection)
    with progress_bar("search") as progress:
        result = found.calibrate(queries, progress)
    if as_json:
        print_json(result)
        return
    say(_method(result))
    print_table(
        ("mode", ">weak below", ">queries that reach it", ">wrong among them"),
        [
            (
                mode,
                "-" if each.min_score is None else f"{each.min_score:.3f}",
                each.reached,
                "-" if each.wrong is None else each.wrong,
            )
            for mode, each in result.modes.items()
        ],
    )
    say(f"Searches of {collection} now mark weak results; --min-score auto leaves them out.")


def _method(result: Calibration) -> str:
    if result.known_answers:
        return (
            f"Searched for {result.queries} queries with known documents: at or above the score, at most one in ten first "
            "results is wrong."
        )
    return (
        f"Searched for parts of {result.queries} documents in the other documents: three in ten parts still reach "
        "the score."
    )


def register(app: typer.Typer) -> None:
    """Add the command to the tree."""
    app.command()(calibrate)
