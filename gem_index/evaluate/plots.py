"""Plots of evaluations."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from gem_index.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["plot_sensitivity", "plot_suite"]

_AXES = {
    "window": "m, window",
    "components": "K, directions of the corpus",
    "removed": "h, directions removed",
    "power": "t, power of the singular values",
}


def plot_sensitivity(json: dict[str, Any], path: Path, title: str) -> None:
    """Draw one panel for each setting with one line for each file.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    InputError
        If the picture cannot be written.
    """
    figure = _figure(10, 7)
    panels = figure.subplots(2, 2, sharey=True)
    for panel, (setting, label) in zip(panels.flat, _AXES.items(), strict=True):
        points = [point for point in json["points"] if point["setting"] == setting]
        for name in points[0]["pearson"]:
            values = [point["value"] for point in points]
            panel.plot(values, [point["pearson"][name] for point in points], "o-", ms=4, label=name)
        panel.set_xlabel(label)
        panel.grid(alpha=0.3)
    for panel in panels[:, 0]:
        panel.set_ylabel("Pearson's r x 100")
    panels[0, 0].legend()
    figure.suptitle(title)
    _save(figure, path)


def plot_suite(json: dict[str, Any], path: Path) -> None:
    """Draw one panel for each task: each set's gain over the baseline with its interval, one colour per configuration.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    InputError
        If the picture cannot be written.
    """
    configurations = json["configurations"]
    tasks = configurations[0]["tasks"]
    rows = sum(len(task["sets"]) + 2 for task in tasks.values())
    figure = _figure(9, 1 + 0.22 * rows * max(1, len(configurations) / 2))
    panels = figure.subplots(
        len(tasks),
        1,
        squeeze=False,
        height_ratios=[len(task["sets"]) + 1 for task in tasks.values()],
    )
    for panel, task in zip(panels[:, 0], tasks, strict=True):
        for place, configuration in enumerate(configurations):
            found = configuration["tasks"][task]
            points = [*found["sets"].values(), found]
            heights = [
                -row - 0.7 * (place - (len(configurations) - 1) / 2) / len(configurations)
                for row in range(len(points))
            ]
            gains = [point["gain"] for point in points]
            errors = [
                [gain - point["low"] for gain, point in zip(gains, points, strict=True)],
                [point["high"] - gain for gain, point in zip(gains, points, strict=True)],
            ]
            panel.errorbar(
                gains, heights, xerr=errors, fmt="o", ms=4, capsize=2, label=configuration["name"]
            )
        panel.axvline(0, color="0.4", lw=0.8)
        panel.set_yticks([-row for row in range(len(points))], [*found["sets"], "average"])
        panel.set_xlabel(f"{task}: gain over {found['against']}")
        panel.grid(axis="x", alpha=0.3)
    panels[0, 0].legend()
    _save(figure, path)


def _figure(width: float, height: float) -> Figure:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("plots", "plot") from error
    return Figure(figsize=(width, height), layout="constrained")


def _save(figure: Figure, path: Path) -> None:
    try:
        figure.savefig(path, dpi=120)
    except (OSError, ValueError) as error:
        raise InputError(
            f"cannot write {path}: {error}; expected a name such as plot.png"
        ) from error
