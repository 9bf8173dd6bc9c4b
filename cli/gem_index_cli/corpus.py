"""Commands on all documents of a collection together: duplicates, topics, map."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gem_index.errors import InputError
from gem_index_cli.context import home_of
from gem_index_cli.documents import Where, parsed_filter
from gem_index_cli.output import print_json, print_json_lines, print_table, say
from gem_index_cli.output_files import check_table, check_target, write_result
from gem_index_cli.parameters import (
    AsJson,
    AsJsonLines,
    CollectionName,
    Output,
    Replace,
    SaveAs,
    Shown,
)
from gem_index_cli.progress import progress_bar

if TYPE_CHECKING:
    from gem_index.results import DuplicateGroup, TopicCounts, Topics

__all__ = ["register"]

_LISTED = 20
_BEGINNING = 120  # characters of a text in a list
_NAMED = 5  # of the ids of a group
_LARGEST = 5  # topics that are columns of a table


def duplicates(
    context: typer.Context,
    collection: CollectionName,
    threshold: Annotated[
        float | None,
        typer.Option(
            help="Two texts are near by meaning if their cosine is at least this number, above 0 and at most 1. Default: "
            "0.95.",
            show_default=False,
        ),
    ] = None,
    view: Annotated[
        str | None,
        typer.Option(
            help="Compare only the wording, or only the meaning. Default: both.",
            show_default=False,
        ),
    ] = None,
    overlap: Annotated[
        float | None,
        typer.Option(
            help="Two texts are near by wording if the overlap of their trigrams is at least this number, above 0 and at "
            "most 1. Default: 0.7.",
            show_default=False,
        ),
    ] = None,
    contrasts: Annotated[
        bool,
        typer.Option(
            "--contrasts",
            help="Short texts can differ by a number, a negation, opposites or the order of words. Put these texts into "
            "groups too, and mark them.",
        ),
    ] = False,
    link: Annotated[
        str,
        typer.Option(
            help="single: a group may be a chain (A near B, B near C); complete: every two documents of a group are near."
        ),
    ] = "single",
    where: Where = None,
    save_as: SaveAs = None,
    replace: Replace = False,
    output: Output = None,
    show: Shown = None,
    as_json: AsJson = False,
    as_json_lines: AsJsonLines = False,
) -> None:
    """Find groups of near-duplicates: compare every pair of documents by wording and by meaning."""
    check_table(output, show)
    found = home_of(context).collection(collection)
    accepted = parsed_filter(where)
    with progress_bar("read") as progress:
        if save_as is not None:
            found.check_field_is_free(save_as, where=accepted, replace=replace)
        given = {"threshold": threshold, "views": view, "overlap": overlap}
        options: dict[str, Any] = {name: each for name, each in given.items() if each is not None}
        groups = found.duplicates(
            **options, contrasts=contrasts, link=link, where=accepted, progress=progress
        )
        if save_as is not None:
            found.set_field(
                save_as, groups.field_values(), where=accepted, replace=replace, progress=progress
            )
    if output is not None:
        write_result(found, groups, output, show, as_json)
        return
    if as_json or as_json_lines:
        rows = [{"score": each.score, **asdict(each), "text": str(each.text)} for each in groups]
        print_json_lines(rows) if as_json_lines else print_json(rows)
        return
    if not groups:
        say("No two documents are near.")
        return
    print_table(
        ("first", ">documents", ">score", "view", "others", "text"),
        [
            (
                each.ids[0],
                len(each.ids),
                f"{each.score:.3f}",
                ", ".join(each.views),
                _others(each),
                " ".join(each.text[:_BEGINNING].split()),
            )
            for each in groups[:_LISTED]
        ],
    )
    if len(groups) > _LISTED:
        say(f"{len(groups) - _LISTED} more: --json or --jsonl")
    members = sum(len(each.ids) for each in groups)
    say(
        f"Groups: {len(groups)}. Documents in them: {members}, {members - len(groups)} more than one of each."
    )


def _others(group: DuplicateGroup) -> str:
    """Return the ids of the documents beside the first, each with its contrast, and a sign if there are more."""
    marked = [
        name if contrast is None else f"{name} ({contrast})"
        for name, contrast in zip(group.ids[1:], group.contrasts[1:], strict=True)
    ]
    return ", ".join(marked[:_NAMED]) + (", …" if len(marked) > _NAMED else "")


def topics(
    context: typer.Context,
    collection: CollectionName,
    n: Annotated[
        int | None,
        typer.Option(
            "-n", "--topics", help="Number of topics. Default: √(documents / 8), at most 24."
        ),
    ] = None,
    main: Annotated[
        int | None,
        typer.Option(
            help="Also join similar topics, so that there are this many main topics.",
            show_default=False,
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            help="Also draw a map: a page (.html), or a picture (.png, .svg, .pdf).",
            show_default=False,
        ),
    ] = None,
    labels: Annotated[
        Path | None,
        typer.Option(
            help="A file of names, one per line. Each topic gets the name that is nearest to it by meaning.",
            show_default=False,
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            metavar="FIELD",
            help="Count the documents of each topic by a field of the metadata. For dates also: year(FIELD), month(FIELD) "
            "or day(FIELD).",
            show_default=False,
        ),
    ] = None,
    documents: Annotated[
        bool, typer.Option("--documents", help="Show the topic of each document.")
    ] = False,
    where: Where = None,
    save_as: SaveAs = None,
    replace: Replace = False,
    output: Output = None,
    show: Shown = None,
    as_json: AsJson = False,
    as_json_lines: AsJsonLines = False,
) -> None:
    """Show the topics of a collection, each with its words and typical documents."""
    check_table(output, show)
    if plot is not None:
        check_target(plot, "topics.html", ".html", ".png", ".svg", ".pdf")
    if documents and by is not None:
        raise InputError("found --documents and --by; expected one of them")
    names = [] if labels is None else _lines_of(labels)
    found = home_of(context).collection(collection)
    accepted = parsed_filter(where)
    with progress_bar("read") as progress:
        if save_as is not None:
            found.check_field_is_free(save_as, where=accepted, replace=replace)
        topics = found.topics(n, main=main, labels=names, where=accepted, progress=progress)
        if save_as is not None:
            found.set_field(
                save_as, topics.field_values(), where=accepted, replace=replace, progress=progress
            )
    if plot is not None:
        topics.plot(plot)
    counts = None if by is None else found.count_topics(topics, by)
    if output is not None:
        result = counts or (topics.by_document() if documents else topics)
        write_result(found, result, output, show, as_json)
        return
    if counts is not None:
        _print_topic_counts(topics, counts, as_json, as_json_lines)
        return
    if as_json or as_json_lines:
        rows = _assigned(topics) if documents else [asdict(each) for each in topics]
        print_json_lines(rows) if as_json_lines else print_json(rows)
        return
    if not topics:
        say(f"{found.name} has no documents with words.")
        return
    if documents:
        each_one = _assigned(topics)
        print_table(
            ("id", ">topic", "words"),
            [
                (row["id"], "-" if row["topic"] is None else row["topic"], ", ".join(row["words"]))
                for row in each_one[:_LISTED]
            ],
        )
        if len(each_one) > _LISTED:
            say(f"{len(each_one) - _LISTED} more: --json or --jsonl")
    else:
        _print_topics(topics, named=bool(names))
    if plot is not None:
        say(f"Map: {plot}")


def _print_topics(topics: Topics, *, named: bool) -> None:
    """Print a line for each topic, in a table for each main topic if there are any."""
    tables = [(f"{main.name}: {main.documents} documents", main.name) for main in topics.main]
    for title, main in tables or [("", "")]:
        print_table(
            (">documents", "name" if named else "words", "typical"),
            [
                (
                    each.documents,
                    each.name if named else ", ".join(each.words),
                    " ".join(each.examples[0].text[:_BEGINNING].split()) if each.examples else "",
                )
                for each in topics
                if each.main == main
            ],
            title,
        )


def _lines_of(path: Path) -> list[str]:
    """Return the lines of a file that are not empty."""
    from gem_index.readers import DocumentReader

    return list(filter(None, DocumentReader([str(path)], format="txt").texts()))


def _print_topic_counts(
    topics: Topics, counts: TopicCounts, as_json: bool, as_json_lines: bool
) -> None:
    """Print a line for each value with the numbers of the largest topics."""
    if as_json or as_json_lines:
        rows = list(counts.rows())
        print_json_lines(rows) if as_json_lines else print_json(rows)
        return
    shown = topics[:_LARGEST]
    values = list(counts.counts.items())
    print_table(
        ("value", *(f">{topic.name}" for topic in shown)),
        [
            (value, *(sizes[place] for place in range(len(shown))))
            for value, sizes in values[-_LISTED:]
        ],
    )
    if len(values) > _LISTED or len(topics) > _LARGEST:
        say(f"Values: {len(values)}, topics: {len(topics)}. All of them: --json or --output")


def _assigned(topics: Topics) -> list[dict[str, Any]]:
    """Return a row for each document: its id, the number of its topic in the list, and the topic's words."""
    return [
        {"id": name, "topic": number, "words": () if number is None else topics[number].words}
        for name, number in topics.assigned.items()
    ]


def draw_map(
    context: typer.Context,
    collection: CollectionName,
    output: Annotated[
        Path,
        typer.Option(
            "-o",
            "--output",
            help="A page (.html), a picture (.png, .svg, .pdf), or a table of the positions (.csv, .jsonl, .parquet).",
        ),
    ],
    color: Annotated[
        str | None,
        typer.Option(
            metavar="FIELD",
            help="Color the documents by a field of the metadata. Default: by their topics.",
            show_default=False,
        ),
    ] = None,
    again: Annotated[
        bool,
        typer.Option(
            "--again", help="Compute the map again, also with documents that were added since."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Draw a map of a collection, with similar documents near each other."""
    check_target(output, "map.html", ".html", ".png", ".svg", ".pdf", ".csv", ".jsonl", ".parquet")
    found = home_of(context).collection(collection)
    with progress_bar("read") as progress:
        made = found.draw_map(output, color=color, again=again, progress=progress)
    shown, missing = len(made.ids), made.documents - len(made.ids)
    if as_json:
        print_json(
            {
                "collection": found.name,
                "shown": shown,
                "documents": made.documents,
                "output": str(output),
            }
        )
        return
    say(f"Map of {shown} documents: {output}")
    if missing:
        say(
            f"{missing} documents have no place: they came later (--again), have no words, or are more than the map has "
            "room for."
        )


def register(app: typer.Typer) -> None:
    """Add the commands to the tree."""
    app.command("duplicates")(duplicates)
    app.command("topics")(topics)
    app.command("map")(draw_map)
