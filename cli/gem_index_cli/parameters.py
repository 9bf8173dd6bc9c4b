"""Arguments and options that many commands have."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["AsJson", "AsJsonLines", "CollectionName", "Inputs"]


CollectionName = Annotated[
    str, typer.Argument(metavar="COLLECTION", help="Name of the collection.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
AsJsonLines = Annotated[
    bool, typer.Option("--jsonl", help="Print JSON for programs, an object a line.")
]
Inputs = Annotated[
    list[str],
    typer.Argument(
        metavar="INPUT...",
        help=".jsonl, .csv, .tsv, .txt (a line a text) or .parquet, each also .gz; - is standard input.",
    ),
]
