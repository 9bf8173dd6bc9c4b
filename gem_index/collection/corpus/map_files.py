"""Write a map to a file: a page, a picture or a table, with a point for each document."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import numpy as np

from gem_index.common.arrays import F64, I32
from gem_index.common.notebook import shorten
from gem_index.errors import InputError, MissingExtraError
from gem_index.errors.quoting import quoted_error, quoted_path
from gem_index.files.inputs import user_path
from gem_index.files.tables import ENDINGS, write_table

__all__ = ["MapDrawing", "MapGroup", "map_path", "write_map"]

_PICTURES = (".png", ".svg", ".pdf")
_COLORS = (
    "#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#b07aa1", "#9c755f", "#d37295", "#499894",
    "#b6992d", "#79706e", "#6b6ecf", "#8cb369",
)  # fmt: skip
"""Colors that are visible on white and on black. Groups after the last color get the first color and the next shape."""

_SHAPES = "os^D"  # matplotlib's markers; the page draws the same shapes
_LABEL_WORDS = 2
_LABEL_LETTERS = 40
_LEGEND_LETTERS = 50
_LINE = 0.028  # the height of a label, as a share of the height of the map
_LETTER = 0.006  # half the width of a letter, as a share of the width of the map
_TEXT = 300  # characters of a text that the page shows under the pointer
_TEXTS = 6_000_000  # characters of all texts of a page; if there are many documents, each text is shorter
_LEAST_TEXT = 60


@dataclass(frozen=True)
class MapGroup:
    """A group of documents on a map: the words of a topic, or a value of a field, and the number of its documents."""

    words: tuple[str, ...]
    documents: int


@dataclass(frozen=True)
class MapDrawing:
    """The points of a map.

    Attributes
    ----------
    ids, texts : sequence of str
    places : float64 array (n, 2)
        The two coordinates, from 0 to 1; the second coordinate points upwards.
    codes : int32 array (n,)
        The position of each document's group.
    groups : sequence of MapGroup
    """

    ids: Sequence[str]
    texts: Sequence[str]
    places: F64
    codes: I32
    groups: Sequence[MapGroup]


def map_path(path: str | Path, *more: str) -> Path:
    """Return the path of a map.

    Raises
    ------
    InputError
        If the name has another ending than a page, a picture or the endings in ``more``.
    """
    found = user_path(path)
    endings = (".html", *_PICTURES, *more)
    if found.suffix.lower() not in endings:
        raise InputError(
            f"cannot draw a map into {quoted_path(found)}; expected a name that ends with {', '.join(endings)}"
        )
    return found


def write_map(drawing: MapDrawing, target: Path) -> None:
    """Write a page, a picture or a table, depending on the ending of the name; :func:`map_path` has checked the ending.

    Raises
    ------
    InputError
        If the file cannot be written.
    MissingExtraError
        If the map is a picture and matplotlib is not installed.
    """
    try:
        if target.suffix.lower() == ".html":
            target.write_text(_page(drawing), encoding="utf-8")
        elif target.suffix.lower() in ENDINGS:
            _write_table(drawing, target)
        else:
            _draw_picture(drawing, target)
    except OSError as error:
        raise InputError(
            f"cannot write {quoted_path(target)}: {quoted_error(error)}; expected a file in a folder that can be written"
        ) from error


def _labels(drawing: MapDrawing) -> list[tuple[str, float, float]]:
    """Return the label of each group, and the label's position: the group's point nearest to the group's median."""
    found = []
    for number, group in enumerate(drawing.groups):
        mine = drawing.places[drawing.codes == number]
        if len(mine) and group.words:
            x, y = mine[np.abs(mine - np.median(mine, axis=0)).sum(axis=1).argmin()]
            label = shorten(" ".join(group.words[:_LABEL_WORDS]), _LABEL_LETTERS)
            found.append((label, float(x), float(y)))
    return _spaced(found)


def _spaced(labels: list[tuple[str, float, float]]) -> list[tuple[str, float, float]]:
    """Move labels apart if they would cover each other."""
    placed: list[tuple[str, float, float]] = []
    for text, x, y in sorted(labels, key=lambda label: label[2]):
        for other, left, above in placed:
            wide = _LETTER * (len(text) + len(other))
            if abs(x - left) < wide and y - above < _LINE:
                y = above + _LINE
        placed.append((text, x, y))
    return placed


def _write_table(drawing: MapDrawing, path: Path) -> None:
    columns = ("id", "x", "y", "group", "name")
    names = [", ".join(group.words) for group in drawing.groups]
    points = zip(drawing.ids, drawing.places.tolist(), drawing.codes.tolist(), strict=True)
    rows = ((name, round(x, 5), round(y, 5), code, names[code]) for name, (x, y), code in points)
    write_table(path, columns, (dict(zip(columns, row, strict=True)) for row in rows))


def _draw_picture(drawing: MapDrawing, path: Path) -> None:
    try:
        from matplotlib import patheffects, rc_context
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("pictures of maps", "topics") from error
    with rc_context({"svg.hashsalt": "gem-index"}):  # equal maps give equal files
        figure = Figure(figsize=(14, 10))
        axes = figure.add_axes((0.01, 0.01, 0.69, 0.98))  # the rest is for the legend
        size = float(np.clip(80_000 / max(len(drawing.ids), 1), 2, 16))
        for number, group in enumerate(drawing.groups):
            mine = drawing.places[drawing.codes == number]
            name = shorten(", ".join(group.words) or "no words", _LEGEND_LETTERS)
            axes.scatter(
                mine[:, 0], mine[:, 1], s=size, alpha=0.75, linewidths=0,
                color=_COLORS[number % len(_COLORS)],
                marker=_SHAPES[number // len(_COLORS) % len(_SHAPES)],
                # matplotlib leaves a name that begins with "_" out of the legend
                label=f"\u200b{name} ({group.documents:,})".replace("$", r"\$"),
            )  # fmt: skip
        outline = [patheffects.withStroke(linewidth=3, foreground="white")]
        for text, x, y in _labels(drawing):
            # as plain text: a dollar sign would begin a formula
            axes.text(
                x, y, text, ha="center", va="center", fontsize=11, weight="bold",
                color="#222222", path_effects=outline, parse_math=False,
            )  # fmt: skip
        axes.set_axis_off()
        axes.legend(
            loc="center left",
            bbox_to_anchor=(1, 0.5),
            frameon=False,
            markerscale=(60 / size) ** 0.5,
        )
        figure.savefig(
            path, dpi=120, metadata={"Date": None} if path.suffix.lower() == ".svg" else None
        )


def _page(drawing: MapDrawing) -> str:
    """Return a page that needs no other files."""
    # the page measures the second coordinate from the top
    places = np.column_stack([drawing.places[:, 0], 1 - drawing.places[:, 1]])
    upright = MapDrawing(drawing.ids, drawing.texts, places, drawing.codes, drawing.groups)
    length = max(_LEAST_TEXT, min(_TEXT, _TEXTS // max(len(drawing.ids), 1)))
    data = {
        "colours": _COLORS,
        "topics": [{"words": each.words, "documents": each.documents} for each in drawing.groups],
        "labels": _labels(upright),
        "points": [
            [round(x, 4), round(y, 4), code, name, shorten(text, length)]
            for name, text, (x, y), code in zip(
                drawing.ids, drawing.texts, places.tolist(), drawing.codes.tolist(), strict=True
            )
        ],
    }
    # a "<" in a text could end the script
    text = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")
    template = (files("gem_index") / "data" / "map.html").read_text(encoding="utf-8")
    return template.replace("{{data}}", text)
