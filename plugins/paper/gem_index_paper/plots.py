"""The paper's figure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gem_index.evaluate.plots import new_figure, save_figure

__all__ = ["plot_sensitivity"]

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
    figure = new_figure(10, 7)
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
    save_figure(figure, path)
