"""Commands that measure how good the embeddings are: gem-index eval."""

from __future__ import annotations

from dataclasses import asdict
from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated, Any

import typer
import typer.core

from gem_index.errors import InputError
from gem_index.errors.installing import install_line
from gem_index_cli import tuning
from gem_index_cli.context import home_of
from gem_index_cli.encoder_options import ConfigOptions, EncoderOptions
from gem_index_cli.measuring import (
    ALL_BASELINES,
    Background,
    Baselines,
    Files,
    Markdown,
    candidates_of,
)
from gem_index_cli.option_groups import takes
from gem_index_cli.output import print_evaluation
from gem_index_cli.output_files import check_target
from gem_index_cli.parameters import AsJson
from gem_index_cli.progress import progress_bar

__all__ = ["register"]

PLUGINS = "gem_index.evaluations"
"""The entry points of packages with further commands: each is called with the group."""
_PAPER = ("ablation", "examples", "sensitivity", "speed", "transfer")


class _Evaluations(typer.core.TyperGroup):
    """The commands; without the paper's package, its commands name the package to install."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        found = super().get_command(ctx, cmd_name)
        if found is None and cmd_name in _PAPER:
            raise InputError(
                f"eval {cmd_name} makes one of the paper's tables, and its package is not installed; expected it: "
                + install_line("gem-index-paper")
            )
        return found


app = typer.Typer(
    cls=_Evaluations,
    help="Measure how good embeddings are: the experiments of the paper, and your own.",
    no_args_is_help=True,
)


@app.command()
@takes(config=ConfigOptions, encoder=EncoderOptions)
def sts(
    context: typer.Context,
    files: Files,
    config: ConfigOptions,
    encoder: EncoderOptions,
    baselines: Baselines = ALL_BASELINES,
    background: Background = False,
    as_json: AsJson = False,
    markdown: Markdown = False,
) -> None:
    """Correlate cosines with human scores of sentence pairs (the paper's Table 1)."""
    from gem_index.evaluate.data import read_sts
    from gem_index.evaluate.sts import evaluate_sts

    parts = read_sts(files)
    found, head = candidates_of(context, config, encoder, baselines, background)
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
    baselines: Baselines = ALL_BASELINES,
    background: Background = False,
    as_json: AsJson = False,
    markdown: Markdown = False,
) -> None:
    """Re-rank related questions, SemEval Task 3 subtask B (the paper's Table 2)."""
    from gem_index.evaluate.candidates import with_lexical
    from gem_index.evaluate.cqa import evaluate_cqa
    from gem_index.evaluate.data import read_questions

    questions = read_questions(files)
    found, head = candidates_of(context, config, encoder, baselines, background)
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
    split: Annotated[str, typer.Option(help="Which judgements to use: qrels/SPLIT.tsv.")] = "test",
    baselines: Baselines = "mean,SIF,uSIF,p-mean",
    background: Background = False,
    as_json: AsJson = False,
    markdown: Markdown = False,
) -> None:
    """Search a corpus with judged queries, and compare GEM with dense baselines, BM25 and the hybrid search."""
    from gem_index.evaluate.retrieval import evaluate_retrieval, read_beir

    task = read_beir(folder, split)
    found, head = candidates_of(context, config, encoder, baselines, background)
    print_evaluation(evaluate_retrieval(task, found), head, as_json, markdown)


@app.command("collection")
def collection_(
    context: typer.Context,
    collections: Annotated[
        str,
        typer.Argument(
            metavar="COLLECTION", help="Name of the collection, or several names joined by commas."
        ),
    ],
    queries: Annotated[
        str,
        typer.Argument(
            metavar="QUERIES",
            help="A file of queries (.csv, .tsv, .xlsx, .parquet, .jsonl, .json) with the columns query and expected: the "
            "id of a right document, or a list of ids.",
        ),
    ],
    as_json: AsJson = False,
    markdown: Markdown = False,
) -> None:
    """Measure how well collections find the documents that your own queries expect, in several modes side by side."""
    from gem_index.evaluate.tables import Evaluation, Table
    from gem_index.evaluation import evaluate_search

    home = home_of(context)
    names = [name.strip() for name in collections.split(",")]
    found = evaluate_search([home.collection(name) for name in names], queries)
    rows = [
        (
            each.collection,
            each.setting,
            f"{each.ndcg.value:.1f} ({each.ndcg.low:.1f}…{each.ndcg.high:.1f})",
            f"{each.recall.value:.1f}",
            f"{each.mrr.value:.1f}",
            f"{each.first.value:.1f}",
        )
        for each in found
    ]
    headings = ("collection", "setting", ">nDCG@10", ">recall@10", ">MRR@10", ">first")
    table = Table(f"{found[0].queries} queries", headings, rows)
    measured = {"task": "collection", "results": [asdict(each) for each in found]}
    print_evaluation(Evaluation(measured, [table]), {}, as_json, markdown)


@app.command()
@takes(config=ConfigOptions, encoder=EncoderOptions)
def pairs(
    context: typer.Context,
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="A file (.csv, .tsv, .xlsx, .parquet, .jsonl, .json) with the columns first, second, and score or label.",
        ),
    ],
    config: ConfigOptions,
    encoder: EncoderOptions,
    as_json: AsJson = False,
    markdown: Markdown = False,
) -> None:
    """Compare the cosines of your own pairs of texts with their scores, or with their labels 0 and 1."""
    from gem_index.evaluate.tables import Evaluation, Table
    from gem_index.evaluation import evaluate_pairs

    [found] = evaluate_pairs({"": encoder.encoder(context, config)}, file)
    measured = {"Pearson's r": found.pearson, "Spearman's rho": found.spearman, "AUC": found.auc}
    rows: list[tuple[object, ...]] = [
        (name, each.value, f"{each.low:.2f} … {each.high:.2f}")
        for name, each in measured.items()
        if each is not None
    ]
    if found.threshold is not None:
        rows.append((f"best F1, threshold {found.threshold:.3f}", found.f1, None))
    table = Table(f"{found.pairs} pairs", ("measure", ">x 100", ">95 %"), rows)
    json = {"task": "pairs", **{k: v for k, v in asdict(found).items() if k != "encoder"}}
    print_evaluation(Evaluation(json, [table]), {}, as_json, markdown)


@app.command()
def suite(
    context: typer.Context,
    file: Annotated[
        Path,
        typer.Argument(
            help="A TOML file. Each table of the list set has a task and a path; each table of the list configuration has a "
            "name, and vectors, preset, config or file. Default configuration: the one of build."
        ),
    ],
    plot: Annotated[
        Path | None,
        typer.Option(help="Draw the gains to this file, such as plot.png.", show_default=False),
    ] = None,
    as_json: AsJson = False,
    markdown: Markdown = False,
) -> None:
    """Measure configurations on many data sets at once, and compare them with the mean of word vectors and with BM25."""
    from gem_index.evaluate.plots import plot_suite
    from gem_index.evaluate.suite import evaluate_suite
    from gem_index.evaluate.suite_configurations import candidate_of
    from gem_index.evaluate.suite_file import read_suite

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


tuning.register(app)
for _plugin in entry_points(group=PLUGINS):
    _plugin.load()(app)


def register(root: typer.Typer) -> None:
    """Add the commands to the tree."""
    root.add_typer(app, name="eval")
