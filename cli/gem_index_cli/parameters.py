"""Arguments and options that many commands have."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["AsJson", "AsJsonLines", "CollectionName", "Inputs", "Replace"]


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
