"""Plots of evaluations."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from gem_index.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["new_figure", "plot_suite", "save_figure"]


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
    figure = new_figure(9, 1 + 0.22 * rows * max(1, len(configurations) / 2))
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
    save_figure(figure, path)


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of some inches.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("plots", "plot") from error
    return Figure(figsize=(width, height), layout="constrained")


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure in the format that the file's name tells.

    Raises
    ------
    InputError
        If it cannot be written.
    """
    try:
        figure.savefig(path, dpi=120)
    except (OSError, ValueError) as error:
        raise InputError(
            f"cannot write {path}: {error}; expected a name such as plot.png"
        ) from error
