"""Options and values that all measuring commands have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from gem_index.errors import ConfigError
from gem_index_cli.encoder_options import ConfigOptions, EncoderOptions

if TYPE_CHECKING:
    from gem_index import GemEncoder
    from gem_index.evaluate.candidates import Candidates

__all__ = [
    "ALL_BASELINES",
    "Background",
    "Baselines",
    "Files",
    "Markdown",
    "candidates_of",
    "head_of",
    "single_encoder",
]

Files = Annotated[
    list[str],
    typer.Argument(metavar="FILE...", help="Files of sentence pairs, or folders of them."),
]
Markdown = Annotated[bool, typer.Option("--markdown", help="Print Markdown.")]
Background = Annotated[
    bool,
    typer.Option(
        "--background", help="Use the background instead of a fit on the evaluated texts."
    ),
]
Baselines = Annotated[
    str,
    typer.Option(help="Baselines, joined by commas: mean,SIF,uSIF,p-mean,TF-IDF,BM25; - for none."),
]
ALL_BASELINES = "mean,SIF,uSIF,p-mean,TF-IDF,BM25"


def candidates_of(
    context: typer.Context,
    config: ConfigOptions,
    encoder: EncoderOptions,
    baselines: str,
    background: bool,
) -> tuple[Candidates, dict[str, Any]]:
    """Return GEM and its baselines, and their description in the report."""
    from gem_index.evaluate import candidates as evaluated

    names = [] if baselines == "-" else [name.strip() for name in baselines.split(",")]
    return evaluated.candidates_of(encoder.choice(context, config), names, background=background)


def single_encoder(
    context: typer.Context, encoder: EncoderOptions, config: ConfigOptions
) -> GemEncoder:
    """Return the unfitted encoder that the options name.

    Raises
    ------
    ConfigError
        If they name a fitted one, or several.
    """
    if encoder.model or encoder.collection:
        raise ConfigError(
            "found --model or --collection; expected --vectors: this command fits again"
        )
    return encoder.single(context, config)


def head_of(
    context: typer.Context, encoder: EncoderOptions, config: ConfigOptions, found: GemEncoder
) -> dict[str, Any]:
    """Return the description of the encoder in a report."""
    from gem_index.evaluate.candidates import describe_choice

    return describe_choice(encoder.choice(context, config), found)
