"""The nine supervised tasks as one table (the paper's Table 3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from gem_index.errors import ConfigError
from gem_index.evaluate.baselines import DenseEncoder
from gem_index.evaluate.candidates import GEM, Candidates, EncoderScorer
from gem_index.evaluate.tables import Evaluation, Table
from gem_index.progress import Progress
from gem_index.vectors.base import FloatArray
from gem_index_paper.transfer import TASKS, TransferResult, evaluate_transfer

__all__ = ["evaluate_tasks"]


_PAPER = {
    "GEM + L.F.P. (paper)": "79.8 82.5 93.8 89.9 84.7 91.4 75.4/82.9 86.5 86.2",
    "GEM + GloVe (paper)": "78.8 81.1 93.1 89.4 83.6 88.6 73.4/82.3 86.3 85.3",
    "GloVe mean (paper)": "78.7 78.5 91.6 87.6 79.8 83.6 72.1/80.9 80.0 78.6",
}
"""The paper's results, in the order of ``TASKS``."""


def evaluate_tasks(
    folder: Path, tasks: Sequence[str], found: Candidates, progress: Progress | None = None
) -> Evaluation:
    """Train and test a classifier on each task's frozen vectors, for each candidate.

    Parameters
    ----------
    folder : Path
        Holds one folder per task, as created by SentEval.
    tasks : sequence of str
    found : Candidates
        Candidates that encode texts; each is fitted on a task's texts, without their labels.
    progress : callable, optional

    Raises
    ------
    ConfigError
        If a candidate does not encode texts, or a task's name is unknown.
    """
    results: dict[str, dict[str, TransferResult]] = {name: {} for name in found}
    done = 0
    for name, make in found.items():
        for task in tasks:
            results[name][task] = evaluate_transfer(task, folder, _make_encode(name, make))
            done += 1
            if progress is not None:
                progress("transfer", done, len(tasks) * len(found))
    rows: list[tuple[object, ...]] = [
        (name, *(_format_result(result) for result in of_tasks.values()))
        for name, of_tasks in results.items()
    ]
    for name, line in _PAPER.items():
        of_paper = dict(zip(TASKS, line.split(), strict=True))
        rows.append((name, *(of_paper[task] for task in tasks)))
    json: dict[str, Any] = {
        "task": "transfer",
        "results": {task: _json_of(result) for task, result in results[GEM].items()},
        "baselines": {
            name: {task: _json_of(result) for task, result in of_tasks.items()}
            for name, of_tasks in results.items()
            if name != GEM
        },
    }
    headings = ("model", *(f">{task}" for task in tasks))
    return Evaluation(json, [Table("Supervised tasks (Table 3)", headings, rows)])


def _make_encode(name: str, make: Callable[[], Any]) -> Callable[[Sequence[str]], FloatArray]:
    def encode(texts: Sequence[str]) -> FloatArray:
        scorer = make().fit(texts)
        encoder = scorer.encoder if isinstance(scorer, EncoderScorer) else scorer
        if not isinstance(scorer, EncoderScorer | DenseEncoder):
            raise ConfigError(f"{name} makes no vectors; expected mean, SIF, uSIF or p-mean")
        vectors: FloatArray = encoder.encode(texts)
        return vectors

    return encode


def _format_result(result: TransferResult) -> str:
    f1 = result.extra.get("f1")
    return f"{result.test:.1f}" + (f"/{f1:.1f}" if f1 is not None else "")


def _json_of(result: TransferResult) -> dict[str, Any]:
    return {"dev": result.dev, "test": result.test, **result.extra}
