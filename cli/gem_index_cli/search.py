"""The command search: one query, or a file of them."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from gem_index.errors import ConfigError, InputError
from gem_index.quoting import quoted
from gem_index_cli.context import home_of
from gem_index_cli.documents import Where, parsed_filter
from gem_index_cli.output import (
    Printed,
    json_line,
    print_json,
    print_json_lines,
    print_results,
    say,
)
from gem_index_cli.output_files import check_target, tell_rows
from gem_index_cli.parameters import AsJson, AsJsonLines
from gem_index_cli.progress import progress_bar

if TYPE_CHECKING:
    from gem_index import Collection
    from gem_index.collection.push.searching import SearchedTarget
    from gem_index.home import CollectionGroup
    from gem_index.readers.questions import Question
    from gem_index.results import SearchResult, SearchResults

    Searched: TypeAlias = Collection | CollectionGroup | SearchedTarget

__all__ = ["register"]

_AT_ONCE = 512  # queries
_RESULT = ("query_id", "query", "place", "id", "score", "text")  # columns of a table of results

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
    printed = Printed(first=offset + 1, fields=shown, meaning=_part_of_meaning(wanted), why=why)
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
                _prepare(alone)
            searched = alone
        if queries is not None:
            _search_file(searched, queries, output, wanted, printed, as_json or as_json_lines)
            return
        hits = searched.search(str(query), **wanted)
    if not as_json and not as_json_lines:
        _print_used_words(hits)
        print_results(hits, printed)
        return
    # with the query each hit is all that rerank needs to know
    asked = {"query": query, **_used_words(hits)}
    rows = [_row(hit, wanted) | asked for hit in hits]
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


def _prepare(collection: Collection) -> None:
    """Open the encoder, which reads and hashes files without the interpreter's lock, while modules are imported."""
    with ThreadPoolExecutor(1) as pool:
        opening = pool.submit(_open_encoder, collection)
        import_module("gem_index.kernels.sentences")
        import_module("gem_index.index.dense").load_faiss()
    opening.result()


def _open_encoder(collection: Collection) -> None:
    from gem_index.vectors.subword import SubwordVectors

    for encoder in collection.encoder.encoders:
        if isinstance(encoder.vectors, SubwordVectors):
            encoder.vectors.load()


def _row(hit: SearchResult, wanted: dict[str, Any]) -> dict[str, Any]:
    """Return a result as JSON values, without fields that were not requested."""
    return hit.to_dict(why=wanted["why"], similar=bool(wanted.get("collapse")))


def _part_of_meaning(wanted: dict[str, Any]) -> float | None:
    """Return the factor of the cosine in the scores of a search; None if they are not made of a cosine in this way."""
    from gem_index.index.fusion import MATCH_WEIGHT

    if (
        wanted.get("rerank")
        or wanted.get("boost")
        or wanted["mode"] == "lexical"
        or wanted.get("fusion") == "rrf"
    ):
        return None
    return 1.0 if wanted["mode"] == "dense" else 1 / (1 + MATCH_WEIGHT)


def _used_words(hits: SearchResults) -> dict[str, Any]:
    """Return what was searched for instead of words of the query, and beside them; nothing where there is none."""
    used = {"corrected": dict(hits.corrected), "synonyms": dict(hits.synonyms)}
    return {name: words for name, words in used.items() if words}


def _print_used_words(hits: SearchResults) -> None:
    for typed, used in hits.corrected.items():
        say(f"Searched for {used}; no text holds {typed} (--no-correct searches for it).")
    for form, others in hits.synonyms.items():
        say(f"Searched also for {', '.join(others)}: synonyms of {form}.")


def _search_file(
    collection: Searched,
    source: str,
    output: Path | None,
    wanted: dict[str, Any],
    printed: Printed,
    as_json: bool,
) -> None:
    """Search for each query of a file, and print or write one line of JSON per query, or the results as text."""
    from gem_index.files.publishing import publish_file
    from gem_index.readers.questions import read_questions

    if output is not None:
        check_target(output, "results.jsonl", ".jsonl", ".csv", ".parquet")
        if output.suffix != ".jsonl":
            _write_results(collection, source, output, wanted, printed, as_json)
            return
    count = 0
    with ExitStack() as stack:
        file = None if output is None else stack.enter_context(publish_file(output))
        progress = stack.enter_context(progress_bar("search"))
        for asked, results in _answers(collection, read_questions(source), wanted):
            count += 1
            line = {
                **asked.id,
                "query": asked.query,
                **_used_words(results),
                "results": [_row(hit, wanted) for hit in results],
            }
            if file is not None:
                file.write(json_line(line).encode())
                progress("search", count, 0)
            elif as_json:
                print_json(line)
            else:
                _print_used_words(results)
                print_results(results, printed, title=asked.query)
        if not count:
            raise InputError(f"{source} holds no queries; expected a text a line, or JSON lines")
    if output is None:
        return
    if as_json:
        print_json({"collection": collection.name, "queries": count, "output": str(output)})
    else:
        say(f"The results of {count} queries are in {output}.")


def _write_results(
    collection: Searched,
    source: str,
    output: Path,
    wanted: dict[str, Any],
    printed: Printed,
    as_json: bool,
) -> None:
    """Search for each query of a file, and write a table with a row for each result."""
    from gem_index.files.tables import write_table
    from gem_index.readers.questions import read_questions

    def rows() -> Iterator[dict[str, Any]]:
        with progress_bar("search") as progress:
            answers = _answers(collection, read_questions(source), wanted)
            for number, (asked, results) in enumerate(answers, 1):
                for place, hit in enumerate(results, printed.first):
                    own = (
                        next(iter(asked.id.values()), None),
                        asked.query,
                        place,
                        hit.id,
                        hit.score,
                        str(hit.text),
                    )
                    fields = {
                        column: hit.metadata[name]
                        for name, column in columns.items()
                        if name in hit.metadata
                    }
                    yield {**dict(zip(_RESULT, own, strict=True)), **fields}
                progress("search", number, 0)

    columns = {name: f"metadata.{name}" if name in _RESULT else name for name in printed.fields}
    count = write_table(output, (*_RESULT, *columns.values()), rows())
    tell_rows(collection.name, count, output, as_json)


def _answers(
    collection: Searched, questions: Iterator[Question], wanted: dict[str, Any]
) -> Iterator[tuple[Question, SearchResults]]:
    """Iterate over the queries with their results; many are searched at a time."""
    while block := list(islice(questions, _AT_ONCE)):
        yield from zip(
            block, collection.search_many([each.query for each in block], **wanted), strict=True
        )


def register(app: typer.Typer) -> None:
    """Add the command to the tree."""
    app.command()(search)
