"""Search for the queries of a file: print the results, or write them to a file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from gem_index.errors import InputError
from gem_index_cli.output import json_line, print_json, say
from gem_index_cli.output_files import check_target, tell_rows
from gem_index_cli.progress import progress_bar
from gem_index_cli.result_output import (
    Printed,
    print_results,
    print_used_words,
    result_row,
    used_words,
)

if TYPE_CHECKING:
    from gem_index import Collection
    from gem_index.collection.push.searching import SearchedTarget
    from gem_index.home import CollectionGroup
    from gem_index.readers.questions import Question
    from gem_index.results import SearchResults

    Searched: TypeAlias = Collection | CollectionGroup | SearchedTarget

__all__ = ["search_file"]

_RESULT = ("query_id", "query", "place", "id", "score", "text")  # columns of a table of results
_AT_ONCE = 512  # queries


def search_file(
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
                **used_words(results),
                "results": [result_row(hit, wanted) for hit in results],
            }
            if file is not None:
                file.write(json_line(line).encode())
                progress("search", count, 0)
            elif as_json:
                print_json(line)
            else:
                print_used_words(results)
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
