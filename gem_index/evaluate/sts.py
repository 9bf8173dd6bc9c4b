"""Semantic textual similarity: the correlation of cosines with human scores (the paper's Table 1)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath
from statistics import mean
from typing import Any

from gem_index.common.arrays import F64
from gem_index.evaluate.candidates import GEM, Candidates
from gem_index.evaluate.data import ScoredPairs
from gem_index.evaluate.metrics import correlations, paired_bootstrap, resampled_pearson
from gem_index.evaluate.tables import Evaluation, Table

__all__ = ["evaluate_sts", "scores_of"]


_PAPER = (
    ("GEM + L.F.P. (paper)", 83.5, 78.4),
    ("GEM + LexVec (paper)", 81.9, 76.5),
    ("SIF (paper)", 80.1, 72.0),
    ("uSIF (paper)", 84.2, 79.5),
    ("PARANMT-50M, trained (paper)", None, 79.9),
    ("Reddit + SNLI, trained (paper)", 81.4, 78.2),
    ("mean of L.F.P. (paper)", 62.4, 52.0),
    ("mean of GloVe (paper)", 52.4, 40.6),
)


def scores_of(part: ScoredPairs, found: Candidates) -> dict[str, F64]:
    """Return each candidate's scores (n,) for a file's pairs, fitted on the file's own sentences as in the paper."""
    corpus = [*part.first, *part.second]
    return {name: make().fit(corpus).score(part.first, part.second) for name, make in found.items()}


def evaluate_sts(parts: Sequence[ScoredPairs], found: Candidates) -> Evaluation:
    """Correlate scores with gold scores.

    Parameters
    ----------
    parts : sequence of ScoredPairs
        Files; those of one folder (a year) are averaged, then the folders.
    found : Candidates
        Including ``GEM``; its gain over each other candidate has the 95 % interval of a paired bootstrap.

    Returns
    -------
    Evaluation
    """
    files: list[dict[str, Any]] = []
    for part in parts:
        scores = scores_of(part, found)
        results: dict[str, dict[str, Any]] = {}
        for name, values in scores.items():
            r, rho = correlations(part.gold, values)
            results[name] = {"pearson": r, "spearman": rho}
            if name != GEM:
                results[name]["gain"] = _gain(part.gold, scores[GEM], values)
        files.append({"name": part.name, "pairs": len(part.gold), "results": results})
    names = list(found)
    mean_of = {name: _average(files, name) for name in names}
    own = mean_of[GEM]
    json = {
        "task": "sts",
        "pairs": sum(file["pairs"] for file in files),
        **own,
        "baselines": {
            name: mean_of[name]
            | ({"gain": files[0]["results"][name]["gain"]} if len(files) == 1 else {})
            for name in names
            if name != GEM
        },
        "files": files,
    }
    return Evaluation(json, _tables(files, names, mean_of))


def _gain(gold: F64, ours: F64, theirs: F64) -> dict[str, float]:
    interval = paired_bootstrap(
        lambda samples: (
            resampled_pearson(gold, ours, samples) - resampled_pearson(gold, theirs, samples)
        ),
        len(gold),
    )
    return {"pearson": interval.difference, "low": interval.low, "high": interval.high}


def _average(files: Sequence[dict[str, Any]], name: str) -> dict[str, float]:
    """Average the files of each folder, then the folders."""
    folders: dict[PurePosixPath, list[dict[str, float]]] = {}
    for file in files:
        folders.setdefault(PurePosixPath(file["name"]).parent, []).append(file["results"][name])
    return {
        measure: mean(mean(result[measure] for result in group) for group in folders.values())
        for measure in ("pearson", "spearman")
    }


def _tables(
    files: list[dict[str, Any]], names: list[str], mean_of: dict[str, dict[str, float]]
) -> list[Table]:
    if len(files) == 1:
        results = files[0]["results"]
        rows = [
            (name, results[name]["pearson"], results[name]["spearman"], _interval(results[name]))
            for name in names
        ]
        headings = ("model", ">Pearson", ">Spearman", ">GEM's gain (95 %)")
        tables = [Table(f"{files[0]['name']}, {files[0]['pairs']} pairs", headings, rows)]
    else:
        per_file = [
            (file["name"], file["pairs"], *(file["results"][name]["pearson"] for name in names))
            for file in files
        ]
        means = ("mean", sum(f["pairs"] for f in files), *(mean_of[n]["pearson"] for n in names))
        columns = ("Pearson", ">pairs", *(f">{name}" for name in names))
        tables = [Table("Semantic textual similarity", columns, [*per_file, means])]
    if any("sts-dev" in file["name"] or "sts-test" in file["name"] for file in files):
        tables.append(Table("The paper's Table 1", ("model", ">dev", ">test"), _PAPER, digits=1))
    return tables


def _interval(result: dict[str, Any]) -> str | None:
    gain = result.get("gain")
    return f"{gain['pearson']:+.2f} ({gain['low']:+.2f} … {gain['high']:+.2f})" if gain else None
