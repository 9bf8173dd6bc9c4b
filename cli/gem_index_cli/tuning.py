"""gem-index eval tune: the best configuration on dev data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gem_index.errors import ConfigError
from gem_index_cli.encoder_options import ConfigOptions, EncoderOptions
from gem_index_cli.option_groups import takes
from gem_index_cli.output import print_evaluation
from gem_index_cli.output_files import check_target
from gem_index_cli.parameters import AsJson
from gem_index_cli.progress import progress_bar

if TYPE_CHECKING:
    from gem_index.vectors.base import VectorSource

__all__ = ["register"]


@takes(config=ConfigOptions)
def tune(
    context: typer.Context,
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...", help="Dev data: sentence pairs, or questions with --cqa."
        ),
    ],
    config: ConfigOptions,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The configuration file to write.")
    ],
    vectors: Annotated[
        list[str] | None,
        typer.Option(
            help="Word vectors to choose from; may be repeated. Default: wordllama-gem.",
            show_default=False,
        ),
    ] = None,
    questions: Annotated[
        bool, typer.Option("--cqa", help="The files have questions; maximise MAP.")
    ] = False,
    as_json: AsJson = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
) -> None:
    """Search the paper's grid on dev data, and write the best configuration for the option --config of fit and build."""
    from gem_index.evaluate.tune import tune as search
    from gem_index.evaluate.tuning_data import score_on_pairs, score_on_questions
    from gem_index.gem.recommended import config_for
    from gem_index.gem.specification import write_specification
    from gem_index.vectors.registry import DEFAULT_VECTORS

    if len(config.specifications()) > 1:
        raise ConfigError(
            f"found {len(config.specifications())} encoders side by side; expected one for this command"
        )

    def opened(spec: str) -> VectorSource:
        return EncoderOptions(vectors=spec).single(context, ConfigOptions()).vectors

    check_target(output, "best.json")
    specs = vectors or [DEFAULT_VECTORS]
    score = score_on_questions(files, opened) if questions else score_on_pairs(files, opened)
    with progress_bar("tune") as progress:
        best, spec, found = search(
            score, specs, config_for(opened(specs[0]), config.config()), progress
        )
    content = write_specification(output, spec, best)
    print_evaluation(found, content, as_json, markdown)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(tune)
