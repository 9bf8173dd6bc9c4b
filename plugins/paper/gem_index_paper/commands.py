"""The commands that make the paper's tables: part of gem-index eval where this package is installed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from gem_index_cli.encoder_options import ConfigOptions, EncoderOptions
from gem_index_cli.measuring import Files, Markdown, candidates_of, head_of, single_encoder
from gem_index_cli.option_groups import takes
from gem_index_cli.output import print_evaluation
from gem_index_cli.output_files import check_target
from gem_index_cli.parameters import AsJson
from gem_index_cli.progress import progress_bar

__all__ = ["register"]


@takes(config=ConfigOptions, encoder=EncoderOptions)
def transfer(
    context: typer.Context,
    folder: Annotated[
        Path, typer.Argument(help="SentEval's data: MR, CR, SUBJ, MPQA, SST, TREC, MRPC, SICK.")
    ],
    config: ConfigOptions,
    encoder: EncoderOptions,
    tasks: Annotated[
        str, typer.Option(help="Which, by commas. Default: all nine.", show_default=False)
    ] = "",
    baselines: Annotated[str, typer.Option(help="Dense baselines, by commas; - for none.")] = "-",
    as_json: AsJson = False,
    markdown: Markdown = False,
) -> None:
    """Train classifiers on frozen vectors, SentEval's protocol (the paper's Table 3); the preset is transfer."""
    from gem_index_paper.transfer import TASKS
    from gem_index_paper.transfer_report import evaluate_tasks

    if config.unnamed and not (encoder.model or encoder.collection):
        config = replace(config, preset="transfer")
    found, head = candidates_of(context, config, encoder, baselines, False)
    wanted = [name.strip() for name in tasks.split(",")] if tasks else list(TASKS)
    with progress_bar("transfer") as progress:
        print_evaluation(evaluate_tasks(folder, wanted, found, progress), head, as_json, markdown)


@takes(config=ConfigOptions, encoder=EncoderOptions)
def ablation(
    context: typer.Context,
    files: Files,
    config: ConfigOptions,
    encoder: EncoderOptions,
    senteval: Annotated[
        Path | None,
        typer.Option(help="SentEval's data, for the column of SUBJ.", show_default=False),
    ] = None,
    as_json: AsJson = False,
    markdown: Markdown = False,
) -> None:
    """Measure GEM without its parts: weights, removal, each alpha (the paper's Table 4)."""
    from gem_index.evaluate.data import read_sts
    from gem_index_paper.sweeps import evaluate_ablation
    from gem_index_paper.transfer import subj_accuracy

    parts, base = read_sts(files), single_encoder(context, encoder, config)
    subj = None if senteval is None else subj_accuracy(senteval, base.vectors)
    with progress_bar("ablation") as progress:
        found = evaluate_ablation(parts, base.vectors, base.config, subj, progress)
    print_evaluation(found, head_of(context, encoder, config, base), as_json, markdown)


@takes(config=ConfigOptions, encoder=EncoderOptions)
def sensitivity(
    context: typer.Context,
    files: Files,
    config: ConfigOptions,
    encoder: EncoderOptions,
    plot: Annotated[
        Path | None,
        typer.Option(help="Draw the sweeps to this file, such as plot.png.", show_default=False),
    ] = None,
    as_json: AsJson = False,
    markdown: Markdown = False,
) -> None:
    """Vary m, K, h and t, one at a time (the paper's figure)."""
    from gem_index.evaluate.data import read_sts
    from gem_index.vectors.specification import VectorSpec
    from gem_index_paper.plots import plot_sensitivity
    from gem_index_paper.sweeps import evaluate_sensitivity

    if plot is not None:
        check_target(plot, "plot.png", ".png", ".svg", ".pdf")
    parts, base = read_sts(files), single_encoder(context, encoder, config)
    with progress_bar("sensitivity") as progress:
        found = evaluate_sensitivity(parts, base.vectors, base.config, progress)
    head = head_of(context, encoder, config, base)
    if plot is not None:
        spec = VectorSpec.parse(head["vectors"])
        names = " + ".join(Path(part.name).name for part in spec.parts)
        plot_sensitivity(found.json, plot, f"GEM on {names}")
    print_evaluation(found, head, as_json, markdown)


@takes(config=ConfigOptions, encoder=EncoderOptions)
def examples(
    context: typer.Context,
    config: ConfigOptions,
    encoder: EncoderOptions,
    corpus: Annotated[
        list[str] | None,
        typer.Option(
            help="Files of sentence pairs to fit on. Default: background components.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
    markdown: Markdown = False,
) -> None:
    """Compute the paper's examples of robustness and of weights, beside its numbers."""
    from gem_index.evaluate.data import read_sts, sentences_of
    from gem_index_paper.examples import evaluate_examples

    found = encoder.single(context, config)
    if corpus:
        found.fit(sentences_of(read_sts(corpus)))
    head = head_of(context, encoder, config, found)
    print_evaluation(evaluate_examples(found), head, as_json, markdown)


@takes(config=ConfigOptions, encoder=EncoderOptions)
def speed(
    context: typer.Context,
    files: Files,
    config: ConfigOptions,
    encoder: EncoderOptions,
    as_json: AsJson = False,
    markdown: Markdown = False,
) -> None:
    """Time the encoding of sentence pairs, beside the paper's table of running times."""
    from gem_index.evaluate.data import read_sts, sentences_of
    from gem_index_paper.examples import evaluate_speed

    sentences = sentences_of(read_sts(files))
    found = encoder.single(context, config).fit(sentences)
    head = head_of(context, encoder, config, found)
    print_evaluation(evaluate_speed(found, sentences), head, as_json, markdown)


EXAMPLES = {
    transfer: "gem-index eval transfer SentEval/data/downstream --tasks MR,CR",
    ablation: "gem-index eval ablation sts-dev.csv --markdown",
    sensitivity: "gem-index eval sensitivity sts-dev.csv --plot sensitivity.png",
    examples: "gem-index eval examples",
    speed: "gem-index eval speed sts-test.csv",
}
"""The commands, and the example that the help of each ends with."""


def register(app: typer.Typer) -> None:
    """Add the commands to the group."""
    for command, example in EXAMPLES.items():
        app.command(epilog=f"Examples:\n\n{example}")(command)
