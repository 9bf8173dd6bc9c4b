"""Evaluate configurations on many data sets, and compare them with the plain mean and BM25."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import mean
from typing import Any

import numpy as np

from gem_index.common.arrays import F64
from gem_index.evaluate.baselines import MeanEncoder
from gem_index.evaluate.metrics import bootstrap
from gem_index.evaluate.suite_file import Candidate
from gem_index.evaluate.suite_sets import AGAINST, TASKS, DataSet, Result
from gem_index.evaluate.tables import Evaluation, Table
from gem_index.progress import Progress

__all__ = ["evaluate_suite"]


def evaluate_suite(
    sets: Sequence[DataSet], found: Sequence[Candidate], progress: Progress | None = None
) -> Evaluation:
    """Measure every configuration on every set.

    Parameters
    ----------
    sets : sequence of DataSet
    found : sequence of Candidate
        Each is compared with the plain mean of its own vectors, and its default search with BM25.
    progress : callable, optional
        Called with stage, done and total.

    Returns
    -------
    Evaluation
        Per set and configuration the score and the gain over the baseline with its 95 % interval (paired bootstrap); per
        task the mean over sets, and the number of lost sets: those below the baseline, and those whose interval is below 0.
    """
    measured: dict[str, dict[str, dict[str, Any]]] = {each.name: {} for each in found}
    draws: dict[str, dict[str, list[F64]]] = {each.name: {} for each in found}
    done = 0
    for data in sets:
        for candidate, ours, theirs in _measure_candidates(data, found):
            for task, result in ours.items():
                other = theirs[task]
                samples = bootstrap(lambda s, a=result, b=other: a.on(s) - b.on(s), result.items)  # type: ignore[misc]
                low, high = np.percentile(samples, (2.5, 97.5))
                measured[candidate.name].setdefault(task, {})[data.name] = {
                    "score": result.score,
                    AGAINST[task]: other.score,
                    "gain": result.score - other.score,
                    "low": float(low),
                    "high": float(high),
                }
                draws[candidate.name].setdefault(task, []).append(samples)
            done += 1
            if progress is not None:
                progress("suite", done, len(sets) * len(found))
    configurations = [
        {
            "name": candidate.name,
            **candidate.described,
            "tasks": {
                task: _summary(task, of_sets, draws[candidate.name][task])
                for task, of_sets in measured[candidate.name].items()
            },
        }
        for candidate in found
    ]
    json: dict[str, Any] = {
        "task": "suite",
        "configurations": configurations,
        "left_out": _best_without_set(measured),
    }
    return Evaluation(json, _tables_of(configurations))


def _measure_candidates(
    data: DataSet, found: Sequence[Candidate]
) -> Iterator[tuple[Candidate, dict[str, Result], dict[str, Result]]]:
    """Yield each candidate with its results on a set and the results of its baselines."""
    means: dict[str, dict[str, Result]] = {}
    with data.words() as words:
        by_words = data.by_words(words)
        for candidate in found:
            vectors = candidate.vectors
            if vectors.fingerprint not in means:
                own = data.measure(lambda v=vectors: MeanEncoder(v), words)  # type: ignore[misc]
                means[vectors.fingerprint] = own | by_words
            yield candidate, data.measure(candidate.make, words), means[vectors.fingerprint]


def _summary(task: str, of_sets: Mapping[str, Any], draws: Sequence[F64]) -> dict[str, Any]:
    low, high = np.percentile(np.mean(draws, axis=0), (2.5, 97.5))
    rows = of_sets.values()
    return {
        "score": mean(row["score"] for row in rows),
        "against": AGAINST[task],
        "gain": mean(row["gain"] for row in rows),
        "low": float(low),
        "high": float(high),
        "lost": sum(row["gain"] < 0 for row in rows),
        "lost_significantly": sum(row["high"] < 0 for row in rows),
        "sets": dict(of_sets),
    }


def _best_without_set(
    measured: Mapping[str, Mapping[str, Mapping[str, Any]]],
) -> dict[str, dict[str, str]]:
    """Return for each task and each set the configuration that is best on average over the other sets."""
    tasks = next(iter(measured.values()))
    best: dict[str, dict[str, str]] = {}
    for task, of_sets in tasks.items():
        for left in of_sets if len(of_sets) > 1 else ():

            def average(name: str, task: str = task, left: str = left) -> float:
                rows = measured[name][task]
                return mean(float(row["score"]) for other, row in rows.items() if other != left)

            best.setdefault(task, {})[left] = max(measured, key=average)
    return best


def _tables_of(configurations: Sequence[Mapping[str, Any]]) -> list[Table]:
    tables = []
    for task, title in TASKS.items():
        if task not in configurations[0]["tasks"]:
            continue
        names = list(configurations[0]["tasks"][task]["sets"])
        rows = []
        for each in configurations:
            found = each["tasks"][task]
            gain = f"{found['gain']:+.2f} ({found['low']:+.2f} … {found['high']:+.2f})"
            lost = f"{found['lost']} ({found['lost_significantly']})"
            scores = [found["sets"][name]["score"] for name in names]
            rows.append((each["name"], *scores, found["score"], gain, lost))
        against = AGAINST[task]
        if all(each.get("vectors") == configurations[0].get("vectors") for each in configurations):
            sets = configurations[0]["tasks"][task]["sets"]
            own = [sets[name][against] for name in names]
            rows.append((against, *own, mean(own), None, None))
        headings = (
            "configuration", *(f">{name}" for name in names), ">average", f">gain over {against} (95 %)",
            ">lost (significantly)",
        )  # fmt: skip
        tables.append(Table(f"{task}: {title} x 100", headings, rows))
    return tables
