"""Change one setting at a time: the ablations of the paper's Table 4 and the sweeps of its sensitivity figure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from gem_index import GemConfig, GemEncoder
from gem_index.evaluate.candidates import EncoderScorer
from gem_index.evaluate.data import ScoredPairs
from gem_index.evaluate.metrics import pearson
from gem_index.evaluate.tables import Evaluation, Table
from gem_index.progress import Progress
from gem_index.vectors import VectorSource

__all__ = ["SWEEPS", "evaluate_ablation", "evaluate_sensitivity"]

Classify = Callable[[GemConfig], float]

_ABLATIONS: tuple[tuple[str, dict[str, Any], float | None, float | None], ...] = (
    ("mean of the word vectors", {"alphas": "", "removal": "none"}, 62.4, None),
    ("GEM weights", {"removal": "none"}, 71.0, None),
    ("GEM weights + SIR", {"removal": "sir"}, 81.8, None),
    ("GEM weights + SDR", {}, 83.5, None),
    ("alpha_n + SDR", {"alphas": "n"}, 81.6, 93.42),
    ("alpha_n, alpha_s + SDR", {"alphas": "ns"}, 81.9, 93.6),
    ("alpha_n, alpha_s, alpha_u + SDR", {}, 83.5, 93.8),
)

SWEEPS: dict[str, tuple[float, ...]] = {
    "window": (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15),
    "components": (17, 20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70, 75),
    "removed": (0, 1, 2, 3, 5, 8, 10, 12, 14, 15, 16, 17, 18, 20, 25, 30, 40, 45),
    "power": (0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 5),
}
"""The values of each setting, while the others stay unchanged."""

_SYMBOLS = {"window": "m", "components": "K", "removed": "h", "power": "t"}


def evaluate_ablation(
    parts: Sequence[ScoredPairs],
    vectors: VectorSource,
    config: GemConfig,
    classify: Classify | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """Evaluate GEM without some of its parts: weights, removal, and each alpha.

    Parameters
    ----------
    parts : sequence of ScoredPairs
    vectors : VectorSource
    config : GemConfig
        The complete configuration.
    classify : callable, optional
        Returns the accuracy on SUBJ with a configuration, x 100; no directions are removed there, as in the paper.
    progress : callable, optional
    """
    rows, results = [], []
    for done, (name, changes, paper, paper_subj) in enumerate(_ABLATIONS, 1):
        changed = replace(config, **changes)
        values = _pearsons(parts, vectors, changed)
        subj = None
        if classify is not None and paper_subj is not None:
            subj = classify(replace(changed, removal="none"))
        results.append({"name": name, "pearson": values, "subj": subj, "paper": paper})
        rows.append((name, *values.values(), paper, subj, paper_subj))
        if progress is not None:
            progress("ablation", done, len(_ABLATIONS))
    headings = (
        "configuration",
        *(f">{part.name}" for part in parts),
        ">paper, dev",
        ">SUBJ",
        ">paper, SUBJ",
    )
    return Evaluation(
        {"task": "ablation", "rows": results}, [Table("Ablation (Table 4)", headings, rows)]
    )


def evaluate_sensitivity(
    parts: Sequence[ScoredPairs],
    vectors: VectorSource,
    config: GemConfig,
    progress: Progress | None = None,
) -> Evaluation:
    """Sweep each of the four settings while the others stay unchanged (the paper's figure 3)."""
    steps = list(_steps(config))
    rows, panels = [], []
    for done, (setting, value, changed) in enumerate(steps, 1):
        values = _pearsons(parts, vectors, changed)
        panels.append({"setting": setting, "value": value, "pearson": values})
        rows.append((f"{_SYMBOLS[setting]} = {value:g}", *values.values()))
        if progress is not None:
            progress("sensitivity", done, len(steps))
    headings = ("setting", *(f">{part.name}" for part in parts))
    return Evaluation(
        {"task": "sensitivity", "points": panels}, [Table("Sensitivity", headings, rows)]
    )


def _steps(config: GemConfig) -> Iterator[tuple[str, float, GemConfig]]:
    for setting, values in SWEEPS.items():
        for value in values:
            if setting == "components" and value < config.n_removed:
                continue
            if setting == "removed" and value > config.n_components:
                continue
            changed: Any = value if setting == "power" else int(value)
            yield setting, value, replace(config, **GemConfig.named_fields({setting: changed}))


def _pearsons(
    parts: Sequence[ScoredPairs], vectors: VectorSource, config: GemConfig
) -> dict[str, float]:
    found = {}
    for part in parts:
        scorer = EncoderScorer(GemEncoder(vectors, config)).fit([*part.first, *part.second])
        found[part.name] = pearson(part.gold, scorer.score(part.first, part.second))
    return found
