"""Find the best configuration on a dev set: search the paper's grid, one setting at a time, until none improves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from gem_index.evaluate.tables import Evaluation, Table
from gem_index.gem.config import GemConfig
from gem_index.progress import Progress
from gem_index.vectors.options import LARGEST_FACTOR, SMALLEST_FACTOR
from gem_index.vectors.specification import VectorSpec

__all__ = ["FACTORS", "GRID", "tune"]

FACTORS = (0.1, 0.3, 0.5, 0.7, 1.5, 2.0, 3.0)
"""Factors by which each source's weight is multiplied; for a single source the weight is its scale."""

Score = Callable[[GemConfig, str], float]

GRID: dict[str, tuple[Any, ...]] = {
    "window": (3, 5, 6, 7, 8, 9, 12),
    "removed": (0, 1, 2, 3, 5, 8, 10, 12, 14, 15, 16, 17, 18, 20, 25, 30),
    "components": (5, 10, 17, 25, 35, 40, 45, 50, 55, 60, 65, 70, 75),
    "power": (1.0, 2.0, 3.0, 4.0, 5.0),
    "alphas": ("", "n", "s", "u", "ns", "nu", "su", "nsu"),
    "ranking": ("singular", "plain"),
    "removal": ("sdr", "sir", "none"),
    "prior": (0.0, 1000.0),
}
"""The paper's ranges (m from 5 to 9, h from 8 to 20, K from 35 to 75, t from 1 to 5), slightly extended."""


def tune(
    score: Score,
    specs: Sequence[str],
    start: GemConfig,
    progress: Progress | None = None,
) -> tuple[GemConfig, str, Evaluation]:
    """Change one setting at a time to its best value, in rounds, until a round changes nothing.

    Parameters
    ----------
    score : callable
        Returns the score on the dev set of a configuration with the vectors of a specification.
    specs : sequence of str
        Word vectors to choose from; the weights of the chosen ones are searched too. ``unit`` and other options belong to
        registered names: to compare them, give a name with and a name without the option.
    start : GemConfig
    progress : callable, optional

    Returns
    -------
    tuple
        Configuration, vectors, and all steps that improved the score.
    """
    best, spec = start, specs[0]
    reached = score(best, spec)
    rows: list[tuple[object, ...]] = [("start", spec, reached)]
    done = whole = 0
    improved = True
    while improved:
        improved = False
        others = [*specs, *_reweighted(spec)]
        whole += len(others) + sum(map(len, GRID.values()))
        for other in others:
            done += 1
            if other == spec:
                continue
            if (found := score(best, other)) > reached:
                spec, reached, improved = other, found, True
                rows.append(("vectors", other, found))
        for setting, values in GRID.items():
            for value in values:
                done += 1
                if progress is not None:
                    progress("tune", done, whole)
                candidate = _changed(best, setting, value)
                if candidate is None or candidate == best:
                    continue
                if (found := score(candidate, spec)) > reached:
                    best, reached, improved = candidate, found, True
                    rows.append((setting, str(value) or "-", found))
    json = {
        "task": "tune",
        "vectors": spec,
        "config": best.to_json(),
        "score": reached,
        "steps": [list(row) for row in rows],
    }
    table = Table("Steps that improved", ("setting", "value", ">dev"), rows)
    return best, spec, Evaluation(json, [table])


def _reweighted(spec: str) -> list[str]:
    """Return a specification with each source's weight changed: of a single one that is its scale."""
    parsed = VectorSpec.parse(spec)
    return [
        str(parsed.scaled(place, factor))
        for place, part in enumerate(parsed.parts)
        for factor in FACTORS
        if SMALLEST_FACTOR <= part.weight * factor <= LARGEST_FACTOR
    ]


def _changed(config: GemConfig, setting: str, value: Any) -> GemConfig | None:
    """Return a configuration with another value, None if that is not a valid configuration."""
    changes: dict[str, Any] = {setting: value}
    if setting == "components" and value < config.n_removed:
        return None
    if setting == "removed" and value > config.n_components:
        return None
    return replace(config, **GemConfig.named_fields(changes))
