"""The command that shows what files of records hold: inspect."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import typer

from gem_index_cli.input_options import InputOptions
from gem_index_cli.option_groups import takes
from gem_index_cli.output import print_json, print_table, say, visible
from gem_index_cli.parameters import AsJson, Inputs

if TYPE_CHECKING:
    from gem_index.readers import Inspection

__all__ = ["register"]


@takes(options=InputOptions)
def inspect(inputs: Inputs, options: InputOptions, as_json: AsJson = False) -> None:
    """Show what some files of records hold, before you build a collection of them; nothing is stored.

    It shows each field with its type, the share of filled values, the number of repeated values, the language and samples;
    then the command that builds a collection. It reads at most 100,000 records.
    """
    from gem_index.readers import inspect_records

    reader = options.reader(inputs, types="auto")
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
    _print_use(found, [*inputs, *options.given_form()])


def _print_use(found: Inspection, arguments: list[str]) -> None:
    """Print which fields become id, text and metadata, and the command for it."""
    if not found.text_fields:
        say("No field is plainly the text: name it with --text-field.")
        return
    identifier = "a hash of the content" if found.id_field is None else visible(found.id_field)
    metadata = ", ".join(map(visible, found.metadata)) or "none"
    say(f"Id: {identifier}. Text: {visible(', '.join(found.text_fields))}. Metadata: {metadata}.")
    command = ["gem-index", "build", "NAME", *arguments]
    if found.id_field not in (None, "id"):
        command += ["--id-field", str(found.id_field)]
    if found.text_fields != ("text",):
        for name in found.text_fields:
            command += ["--text-field", name]
    say(f"Build a collection: {shlex.join(command)}")


def register(app: typer.Typer) -> None:
    """Add the command to the tree."""
    app.command()(inspect)
