"""The command search: one query, or a file of them."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gem_index.errors import ConfigError
from gem_index.errors.quoting import quoted
from gem_index_cli.context import home_of
from gem_index_cli.documents import Where, parsed_filter
from gem_index_cli.output import print_json, print_json_lines, say
from gem_index_cli.parameters import AsJson, AsJsonLines
from gem_index_cli.query_files import search_file
from gem_index_cli.result_output import (
    Printed,
    print_results,
    print_used_words,
    result_row,
    used_words,
)

if TYPE_CHECKING:
    from gem_index_cli.query_files import Searched

__all__ = ["register"]


_ORDER = "Order, pages and pieces"  # panels of the help
_SCORES = "How scores are computed"
_MANY = "Many queries"


def search(
    context: typer.Context,
    collection: Annotated[
        str,
        typer.Argument(
            metavar="COLLECTION",
            help="Name of the collection, several names joined by commas, or the URL of a vector database as for push.",
        ),
    ],
    query: Annotated[
        str | None,
        typer.Argument(metavar="[QUERY]", help="What to search for.", show_default=False),
    ] = None,
    k: Annotated[
        int | None,
        typer.Option("-k", help="How many results. Default: 10, or all with --min-score."),
    ] = None,
    offset: Annotated[
        int,
        typer.Option(
            help="How many of the best results to leave out: -k 10 --offset 10 is the second page.",
            rich_help_panel=_ORDER,
        ),
    ] = 0,
    show: Annotated[
        str | None,
        typer.Option(
            help="Fields of the metadata to print below each result, joined by commas.",
            show_default=False,
        ),
    ] = None,
    snippets: Annotated[
        bool,
        typer.Option(
            "--snippets",
            help="Print the part of each text that matches best, with the matching words in bold, instead of its beginning.",
        ),
    ] = False,
    sort_by: Annotated[
        str | None,
        typer.Option(
            metavar="FIELD",
            help="Print the results in the order of a field of the metadata. With -FIELD, the largest or latest value is "
            "first.",
            show_default=False,
            rich_help_panel=_ORDER,
        ),
    ] = None,
    boost: Annotated[
        str | None,
        typer.Option(
            metavar="FIELD:NUMBER",
            help="Prefer recent documents, such as created_at:30d (units: h, d, w, y), or large numbers, such as votes:10.",
            show_default=False,
            rich_help_panel=_ORDER,
        ),
    ] = None,
    mode: Annotated[
        str,
        typer.Option(
            help="hybrid (by meaning and words), dense (by meaning) or lexical (by words, BM25)."
        ),
    ] = "hybrid",
    min_score: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER",
            help="Return only results with at least this score. The score is (cosine + 2.25 match) / 3.25 in the mode "
            "hybrid, the cosine in dense, and BM25 in lexical. auto: the score that gem-index calibrate stored.",
        ),
    ] = None,
    fusion: Annotated[
        str,
        typer.Option(
            help="How the mode hybrid combines meaning and words: weighted (by scores) or rrf (by ranks).",
            rich_help_panel=_SCORES,
        ),
    ] = "weighted",
    where: Where = None,
    rerank: Annotated[
        bool,
        typer.Option(
            "--rerank",
            help="Order the best results (at least 100) again, by meaning, words and best passage together.",
        ),
    ] = False,
    why: Annotated[
        bool,
        typer.Option(
            "--why", help="Show for each result how much each pair of words adds to the cosine."
        ),
    ] = False,
    collapse: Annotated[
        bool,
        typer.Option(
            "--collapse",
            help="Show only the best result of each group of near-duplicates, with the ids of the other results.",
            rich_help_panel=_ORDER,
        ),
    ] = False,
    threshold: Annotated[
        float | None,
        typer.Option(
            help="With --collapse, two results are near-duplicates if their cosine is at least this number. Default: 0.95.",
            show_default=False,
            rich_help_panel=_ORDER,
        ),
    ] = None,
    pieces: Annotated[
        bool,
        typer.Option(
            "--pieces",
            help="Show the pieces of long documents as separate results, each with its place in the document.",
            rich_help_panel=_ORDER,
        ),
    ] = False,
    exact: Annotated[
        bool,
        typer.Option(
            "--exact",
            help="Compute the cosines of the results from their texts. Without --exact, the cosines come from vectors in 16 "
            "bits per number; the difference is at most 1e-4.",
            rich_help_panel=_SCORES,
        ),
    ] = False,
    correct: Annotated[
        bool,
        typer.Option(
            help="If no document contains a word of the query, replace it by the most similar word of the collection, and "
            "print a note.",
            rich_help_panel=_SCORES,
        ),
    ] = True,
    queries: Annotated[
        str | None,
        typer.Option(
            "--queries",
            metavar="FILE",
            help='A file of queries (- is standard input): one text per line; JSON lines such as {"id": 1, "query": '
            '"..."}; or a table (.csv, .tsv, .xlsx, .parquet, .json) with a column query, question or text.',
            show_default=False,
            rich_help_panel=_MANY,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="Write the results of --queries to a file: .jsonl has a line for each query; .csv and .parquet have a row "
            "for each result, with the fields of --show.",
            show_default=False,
            rich_help_panel=_MANY,
        ),
    ] = None,
    as_json: AsJson = False,
    as_json_lines: AsJsonLines = False,
) -> None:
    """Search a collection, or a table of a vector database that push filled, by meaning and words."""
    from gem_index.collection.request import share_of_cosine

    if k is None and min_score is None:
        k = 10
    if threshold is not None and not collapse:
        raise ConfigError("found --threshold without --collapse; expected both, or neither")
    if (query is None) == (queries is None):
        found = "neither a query nor --queries" if query is None else "a query and --queries"
        raise ConfigError(f"found {found}; expected one of them")
    if output is not None and queries is None:
        raise ConfigError("found -o without --queries; expected both, or --json for one query")
    wanted: dict[str, Any] = {
        "k": k,
        "where": parsed_filter(where),
        "mode": mode,
        "min_score": _least_score(min_score),
        "fusion": fusion,
        "rerank": rerank,
        "why": why or (snippets and not (as_json or as_json_lines)),
        "collapse": collapse if threshold is None else threshold,
        "pieces": pieces,
        "exact": exact,
        "correct": correct,
        "offset": offset,
        "boost": boost,
        "sort_by": sort_by,
    }
    shown = [name.strip() for name in show.split(",")] if show else []
    printed = Printed(first=offset + 1, fields=shown, meaning=share_of_cosine(wanted), why=why)
    with ExitStack() as stack:
        searched: Searched
        if "://" in collection:
            searched = stack.enter_context(home_of(context).target(collection))
        elif "," in collection:
            group = home_of(context).group([name.strip() for name in collection.split(",")])
            if not group.compares_scores(mode) and not as_json and not as_json_lines:
                say(
                    "The scores of these collections cannot be compared: results are ordered by rank."
                )
            searched = group
        else:
            alone = home_of(context).collection(collection)
            if mode != "lexical":
                alone.warm_up()
            searched = alone
        if queries is not None:
            search_file(searched, queries, output, wanted, printed, as_json or as_json_lines)
            return
        hits = searched.search(str(query), **wanted)
    if not as_json and not as_json_lines:
        print_used_words(hits)
        print_results(hits, printed)
        return
    # with the query each hit is all that rerank needs to know
    asked = {"query": query, **used_words(hits)}
    rows = [result_row(hit, wanted) | asked for hit in hits]
    print_json_lines(rows) if as_json_lines else print_json(rows)


def _least_score(given: str | None) -> float | str | None:
    """Return the value of --min-score."""
    if given is None or given == "auto":
        return given
    try:
        return float(given)
    except ValueError as error:
        raise ConfigError(
            f"found --min-score {quoted(given)}; expected a number, or auto"
        ) from error


def register(app: typer.Typer) -> None:
    """Add the command to the tree."""
    app.command()(search)
