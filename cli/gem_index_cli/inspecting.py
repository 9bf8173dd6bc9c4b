"""The command that shows the fields of files of records: inspect."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from gem_index_cli.advice import without_password
from gem_index_cli.input_options import InputOptions
from gem_index_cli.option_groups import takes
from gem_index_cli.output import print_json, print_table, say, visible
from gem_index_cli.parameters import AsJson, Inputs

if TYPE_CHECKING:
    from gem_index.readers import DocumentReader, Inspection

__all__ = ["register"]


@takes(options=InputOptions)
def inspect(inputs: Inputs, options: InputOptions, as_json: AsJson = False) -> None:
    """Show the fields of files of records before you build a collection from them; nothing is stored.

    It shows each field with its type, the share of filled values, the number of repeated values, the language and samples;
    then the command that builds a collection. It reads at most 100,000 records. Instead of files, give the URL of a table
    of a vector database that gem-index did not make.
    """
    from gem_index.readers import inspect_records

    with _reader(inputs, options) as reader:
        reader.on_problem = options.log.skip
        found = inspect_records(reader)
    options.log.end()
    if as_json:
        print_json(found)
        return
    print_table(
        ("field", "type", ">filled", ">repeated", "language", "samples"),
        [
            (
                each.name,
                each.type,
                f"{each.filled:.0%}",
                f"{each.repeated:,}",
                each.language or "",
                ", ".join(each.samples[:2]),
            )
            for each in found.fields
        ],
    )
    more = "" if found.complete else " (only the first ones were read)"
    say(f"Records: {found.records:,}{more}; {found.bad:,} bad.")
    html = [f"{visible(each.name)} {each.html:,}" for each in found.fields if each.html]
    if html and not options.clean:
        say(f"Texts that look like HTML: {', '.join(html)}; --clean auto makes plain text of them.")
    _print_use(found, [*map(without_password, inputs), *options.given_form()])


@contextmanager
def _reader(inputs: list[str], options: InputOptions) -> Iterator[DocumentReader]:
    """Open the reader of some files, or of a table of a vector database."""
    if not _is_table(inputs):
        yield options.reader(inputs, types="auto")
        return
    from gem_index.home.pulling import table_rows

    options.check_no_records()
    with table_rows(inputs[0], **options.reading({})) as reader:
        yield reader


def _is_table(inputs: list[str]) -> bool:
    return len(inputs) == 1 and "://" in inputs[0]


def _print_use(found: Inspection, arguments: list[str]) -> None:
    """Print which fields become id, text and metadata, and the command for it."""
    if not found.text_fields:
        say("No field is plainly the text: name it with --text-field.")
        return
    identifier = "a hash of the content" if found.id_field is None else visible(found.id_field)
    metadata = ", ".join(map(visible, found.metadata)) or "none"
    say(f"Id: {identifier}. Text: {visible(', '.join(found.text_fields))}. Metadata: {metadata}.")
    command = ["gem-index", "build", "NAME", *arguments]
    if _is_table(arguments):
        command = ["gem-index", "pull", *arguments, "NAME"]
    if found.id_field not in (None, "id"):
        command += ["--id-field", str(found.id_field)]
    if found.text_fields != ("text",):
        for name in found.text_fields:
            command += ["--text-field", name]
    say(f"Build a collection: {shlex.join(command)}")


def register(app: typer.Typer) -> None:
    """Add the command to the tree."""
    app.command()(inspect)
