"""Commands that measure how good the embeddings are: gem-index eval."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gem_index.errors import ConfigError
from gem_index_cli import tuning
from gem_index_cli.context import home_of
from gem_index_cli.encoder_options import ConfigOptions, EncoderOptions
from gem_index_cli.option_groups import takes
from gem_index_cli.output import print_evaluation
from gem_index_cli.output_files import check_target
from gem_index_cli.parameters import AsJson
from gem_index_cli.progress import progress_bar

if TYPE_CHECKING:
    from gem_index import GemEncoder
    from gem_index.evaluate.candidates import Candidates

__all__ = ["register"]

app = typer.Typer(
    help="How good the embeddings are: the paper's experiments, and yours.", no_args_is_help=True
)

Files = Annotated[
    list[str],
    typer.Argument(metavar="FILE...", help="Files of sentence pairs, or folders of them."),
]
Markdown = Annotated[bool, typer.Option("--markdown", help="Print Markdown.")]
Background = Annotated[
    bool,
    typer.Option("--background", help="Do not fit on the evaluated texts: background components."),
]
Baselines = Annotated[
    str, typer.Option(help="Baselines, by commas: mean,SIF,uSIF,p-mean,TF-IDF,BM25; - for none.")
]
_ALL = "mean,SIF,uSIF,p-mean,TF-IDF,BM25"


def _candidates(
    context: typer.Context,
    config: ConfigOptions,
    encoder: EncoderOptions,
    baselines: str,
    background: bool,
) -> tuple[Candidates, dict[str, Any]]:
    """Return GEM and its baselines, and what the report says of them."""
    from gem_index.evaluate.candidates import candidates_of

    names = [] if baselines == "-" else [name.strip() for name in baselines.split(",")]
    return candidates_of(encoder.choice(context, config), names, background=background)


def _unfitted(context: typer.Context, encoder: EncoderOptions, config: ConfigOptions) -> GemEncoder:
    if encoder.model or encoder.collection:
        raise ConfigError(
            "found --model or --collection; expected --vectors: this command fits again"
        )
    return encoder.single(context, config)


@app.command()
@takes(config=ConfigOptions, encoder=EncoderOptions)
def sts(
    context: typer.Context,
    files: Files,
    config: ConfigOptions,
    encoder: EncoderOptions,
    baselines: Baselines = _ALL,
    background: Background = False,
    as_json: AsJson = False,
    markdown: Markdown = False,
) -> None:
    """Correlate cosines with people's scores of sentence pairs (the paper's Table 1)."""
    from gem_index.evaluate.data import read_sts
    from gem_index.evaluate.sts import evaluate_sts

    parts = read_sts(files)
    found, head = _candidates(context, config, encoder, baselines, background)
    print_evaluation(evaluate_sts(parts, found), head, as_json, markdown)


@app.command()
@takes(config=ConfigOptions, encoder=EncoderOptions)
def cqa(
    context: typer.Context,
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE...", help="XML of SemEval Task 3, or flat JSON lines."),
    ],
    config: ConfigOptions,
    encoder: EncoderOptions,
    text: Annotated[
        str, typer.Option(help="subject+body, subject, body or subject+subject+body.")
    ] = "subject+body",
    lexical: Annotated[
        float, typer.Option(help="Weight of the TF-IDF cosine that is added to GEM's cosine.")
    ] = 0.0,
    baselines: Baselines = _ALL,
    background: Background = False,
    as_json: AsJson = False,
    markdown: Markdown = False,
) -> None:
    """Re-rank related questions, SemEval Task 3 subtask B (the paper's Table 2)."""
    from gem_index.evaluate.candidates import with_lexical
    from gem_index.evaluate.cqa import evaluate_cqa
    from gem_index.evaluate.data import read_questions

    questions = read_questions(files)
    found, head = _candidates(context, config, encoder, baselines, background)
    if lexical:
        found, head = with_lexical(found, lexical), head | {"lexical": lexical}
    print_evaluation(evaluate_cqa(questions, found, text), head, as_json, markdown)


@app.command()
@takes(config=ConfigOptions, encoder=EncoderOptions)
def retrieval(
    context: typer.Context,
    folder: Annotated[str, typer.Argument(help="A data set in BEIR's layout.")],
    config: ConfigOptions,
    encoder: EncoderOptions,
    split: Annotated[str, typer.Option(help="Which judgements: qrels/SPLIT.tsv.")] = "test",
    baselines: Baselines = "mean,SIF,uSIF,p-mean",
    background: Background = False,
    as_json: AsJson = False,
    markdown: Markdown = False,
) -> None:
    """Search a corpus for judged queries; beside GEM its dense baselines, BM25 and the hybrid."""
    from gem_index.evaluate.retrieval import evaluate_retrieval, read_beir

    task = read_beir(folder, split)
    found, head = _candidates(context, config, encoder, baselines, background)
    print_evaluation(evaluate_retrieval(task, found), head, as_json, markdown)


@app.command()
def suite(
    context: typer.Context,
    file: Annotated[
        Path,
        typer.Argument(
            help="TOML: tables set with task and path, tables configuration with a name and vectors, preset, config "
            "or file; without one the default of build."
        ),
    ],
    plot: Annotated[
        Path | None,
        typer.Option(help="Draw the gains to this file, such as plot.png.", show_default=False),
    ] = None,
    as_json: AsJson = False,
    markdown: Markdown = False,
) -> None:
    """Measure configurations on many data sets at once, against the plain mean of their vectors and BM25."""
    from gem_index.evaluate.plots import plot_suite
    from gem_index.evaluate.suite import evaluate_suite, read_suite
    from gem_index.evaluate.suite_configurations import candidate_of

    if plot is not None:
        check_target(plot, "plot.png", ".png", ".svg", ".pdf")
    asked = read_suite(file)
    home = home_of(context) if context.obj.home is not None else None
    found = [candidate_of(entry, file.parent, home) for entry in asked.configurations]
    with progress_bar("suite") as progress:
        measured = evaluate_suite(asked.sets, found, progress)
    if plot is not None:
        plot_suite(measured.json, plot)
    print_evaluation(measured, {}, as_json, markdown)


@app.command()
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
    from gem_index.evaluate.transfer import TASKS
    from gem_index.evaluate.transfer_report import evaluate_tasks

    if config.unnamed and not (encoder.model or encoder.collection):
        config = replace(config, preset="transfer")
    found, head = _candidates(context, config, encoder, baselines, False)
    wanted = [name.strip() for name in tasks.split(",")] if tasks else list(TASKS)
    with progress_bar("transfer") as progress:
        print_evaluation(evaluate_tasks(folder, wanted, found, progress), head, as_json, markdown)


@app.command()
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
    from gem_index.evaluate.sweeps import evaluate_ablation
    from gem_index.evaluate.transfer import subj_accuracy

    parts, base = read_sts(files), _unfitted(context, encoder, config)
    subj = None if senteval is None else subj_accuracy(senteval, base.vectors)
    with progress_bar("ablation") as progress:
        found = evaluate_ablation(parts, base.vectors, base.config, subj, progress)
    print_evaluation(found, _head(context, encoder, config, base), as_json, markdown)


def _head(
    context: typer.Context, encoder: EncoderOptions, config: ConfigOptions, found: GemEncoder
) -> dict[str, Any]:
    from gem_index.evaluate.candidates import describe_choice

    return describe_choice(encoder.choice(context, config), found)


@app.command()
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
    from gem_index.evaluate.plots import plot_sensitivity
    from gem_index.evaluate.sweeps import evaluate_sensitivity
    from gem_index.vectors.specification import VectorSpec

    if plot is not None:
        check_target(plot, "plot.png", ".png", ".svg", ".pdf")
    parts, base = read_sts(files), _unfitted(context, encoder, config)
    with progress_bar("sensitivity") as progress:
        found = evaluate_sensitivity(parts, base.vectors, base.config, progress)
    head = _head(context, encoder, config, base)
    if plot is not None:
        spec = VectorSpec.parse(head["vectors"])
        names = " + ".join(Path(part.name).name for part in spec.parts)
        plot_sensitivity(found.json, plot, f"GEM on {names}")
    print_evaluation(found, head, as_json, markdown)


@app.command()
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
    from gem_index.evaluate.examples import evaluate_examples

    found = encoder.single(context, config)
    if corpus:
        found.fit(sentences_of(read_sts(corpus)))
    head = _head(context, encoder, config, found)
    print_evaluation(evaluate_examples(found), head, as_json, markdown)


@app.command()
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
    from gem_index.evaluate.examples import evaluate_speed

    sentences = sentences_of(read_sts(files))
    found = encoder.single(context, config).fit(sentences)
    head = _head(context, encoder, config, found)
    print_evaluation(evaluate_speed(found, sentences), head, as_json, markdown)


tuning.register(app)


def register(root: typer.Typer) -> None:
    """Add the commands to the tree."""
    root.add_typer(app, name="eval")
