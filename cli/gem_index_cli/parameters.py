"""Arguments and options that many commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = [
    "AsJson",
    "AsJsonLines",
    "CollectionName",
    "Inputs",
    "Output",
    "Replace",
    "SaveAs",
    "Shown",
    "names_of",
]


CollectionName = Annotated[
    str, typer.Argument(metavar="COLLECTION", help="Name of the collection.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
AsJsonLines = Annotated[
    bool, typer.Option("--jsonl", help="Print JSON for programs, one object per line.")
]
Inputs = Annotated[
    list[str],
    typer.Argument(
        metavar="INPUT...",
        help=".jsonl, .json, .csv, .tsv, .xlsx, .parquet, Posts.xml or .txt (one text per line); all also as "
        ".gz; - is standard input.",
    ),
]
Replace = Annotated[
    bool,
    typer.Option("--replace", help="Replace the values of the field, if documents have it."),
]
Output = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        help="Write the rows to a .csv, .jsonl or .parquet file instead.",
        show_default=False,
    ),
]
Shown = Annotated[
    str | None,
    typer.Option(
        "--show",
        metavar="FIELDS",
        help="Fields of the metadata to write beside the rows of --output, joined by commas.",
        show_default=False,
    ),
]
SaveAs = Annotated[
    str | None,
    typer.Option(
        metavar="FIELD",
        help="Also write the result into this field of the metadata, for filters.",
        show_default=False,
    ),
]


def names_of(joined: str | None) -> list[str]:
    """Return names that are joined by commas."""
    return [name.strip() for name in joined.split(",")] if joined else []
