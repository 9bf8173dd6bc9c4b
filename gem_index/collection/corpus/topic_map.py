"""Maps of topics: one point per document, similar texts near each other."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

import numpy as np

from gem_index.arrays import F64
from gem_index.collection.corpus.results import Topic, TopicMapPoint
from gem_index.errors import InputError, MissingExtraError
from gem_index.files.inputs import user_path
from gem_index.notebook import shorten
from gem_index.quoting import quoted_error, quoted_path

__all__ = ["draw_map"]

_PICTURES = (".png", ".svg", ".pdf")
_COLORS = (
    "#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#b07aa1", "#9c755f", "#d37295", "#499894",
    "#b6992d", "#79706e", "#6b6ecf", "#8cb369",
)  # fmt: skip
"""Colours that are visible on white and on black; with more topics they repeat."""

_SIZE = 1000  # the side of a page's map
_LABEL_WORDS = 2
_LABEL_LETTERS = 40
_LINE = 0.028  # height of a label, as a share of the map's
_LETTER = 0.006  # half of the width of a letter
_TEXT = 300  # characters shown under the pointer
_COMPONENTS = 50  # principal components that t-SNE starts from
_PERPLEXITY = 30


def _map_path(path: str | Path) -> Path:
    """Return the path of a map.

    Raises
    ------
    InputError
        If the name has neither the ending of a page nor of a picture.
    """
    found = user_path(path)
    if found.suffix.lower() not in (".html", *_PICTURES):
        raise InputError(
            f"cannot draw a map into {quoted_path(found)}; expected a name that ends with .html, {', '.join(_PICTURES)}"
        )
    return found


def draw_map(topics: Sequence[Topic], points: Sequence[TopicMapPoint], path: str | Path) -> None:
    """Write a page or a picture; see :meth:`gem_index.results.Topics.plot`."""
    target = _map_path(path)
    places = _layout(points)
    try:
        if target.suffix.lower() == ".html":
            target.write_text(_page(topics, points, places), encoding="utf-8")
        else:
            _draw_picture(topics, points, places, target)
    except OSError as error:
        raise InputError(
            f"cannot write {quoted_path(target)}: {quoted_error(error)}; expected a file in a folder that can be written"
        ) from error


def _layout(points: Sequence[TopicMapPoint]) -> F64:
    """Return the position (n, 2) of each point, from 0 to 1: t-SNE of the first principal components."""
    try:
        from sklearn.decomposition import PCA  # type: ignore[import-untyped, unused-ignore]
        from sklearn.manifold import TSNE  # type: ignore[import-untyped, unused-ignore]
    except ImportError as error:
        raise MissingExtraError("maps of topics", "topics") from error
    count = len(points)
    if count < 4:  # too few for neighbourhoods: they are placed on a line
        return np.column_stack([np.linspace(0.2, 0.8, count), np.full(count, 0.5)])
    vectors = np.array([point.vector for point in points], dtype=np.float64)
    size = min(_COMPONENTS, *vectors.shape)
    parts = PCA(size, svd_solver="full").fit_transform(vectors)
    perplexity = min(_PERPLEXITY, (count - 1) / 3)
    # from the principal components, without random numbers
    start = parts[:, :2] / max(float(parts[:, 0].std()), 1e-12) * 1e-4
    places = TSNE(perplexity=perplexity, init=start, random_state=0).fit_transform(parts)
    low, high = places.min(axis=0), places.max(axis=0)
    return np.asarray((places - low) / np.maximum(high - low, 1e-12), dtype=np.float64)


def _labels(
    topics: Sequence[Topic], points: Sequence[TopicMapPoint], places: F64
) -> list[tuple[str, float, float]]:
    """Return the label of each topic and its position: the topic's point that is nearest to its other points."""
    of = np.array([point.topic for point in points], dtype=np.int64)
    found = []
    for number, topic in enumerate(topics):
        mine = places[of == number]
        if len(mine) and topic.words:
            x, y = mine[np.abs(mine - np.median(mine, axis=0)).sum(axis=1).argmin()]
            label = shorten(" ".join(topic.words[:_LABEL_WORDS]), _LABEL_LETTERS)
            found.append((label, float(x), float(y)))
    return _spaced(found)


def _spaced(labels: list[tuple[str, float, float]]) -> list[tuple[str, float, float]]:
    """Move labels apart that would cover each other."""
    placed: list[tuple[str, float, float]] = []
    for text, x, y in sorted(labels, key=lambda label: label[2]):
        for other, left, above in placed:
            wide = _LETTER * (len(text) + len(other))
            if abs(x - left) < wide and y - above < _LINE:
                y = above + _LINE
        placed.append((text, x, y))
    return placed


def _draw_picture(
    topics: Sequence[Topic], points: Sequence[TopicMapPoint], places: F64, path: Path
) -> None:
    try:
        from matplotlib import patheffects, rc_context
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("pictures of topics", "topics") from error
    with rc_context({"svg.hashsalt": "gem-index"}):  # equal maps are equal files
        figure = Figure(figsize=(10, 10), layout="constrained")
        axes = figure.subplots()
        colours = [_COLORS[point.topic % len(_COLORS)] for point in points]
        axes.scatter(places[:, 0], places[:, 1], s=16, c=colours, alpha=0.75, linewidths=0)
        outline = [patheffects.withStroke(linewidth=3, foreground="white")]
        for text, x, y in _labels(topics, points, places):
            # as text: a dollar sign does not begin a formula
            axes.text(
                x, y, text, ha="center", va="center", fontsize=11, weight="bold",
                color="#222222", path_effects=outline, parse_math=False,
            )  # fmt: skip
        axes.set_axis_off()
        figure.savefig(
            path, dpi=120, metadata={"Date": None} if path.suffix.lower() == ".svg" else None
        )


def _page(topics: Sequence[Topic], points: Sequence[TopicMapPoint], places: F64) -> str:
    """Return a page that needs no other files."""
    data = {
        "size": _SIZE,
        "colours": _COLORS,
        "topics": [{"words": topic.words, "documents": topic.documents} for topic in topics],
        "labels": _labels(topics, points, _upright(places)),
        "points": [
            [round(x, 4), round(y, 4), point.topic, point.id, shorten(point.text, _TEXT)]
            for point, (x, y) in zip(points, _upright(places).tolist(), strict=True)
        ],
    }
    # "<" could end the script
    text = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")
    template = (files("gem_index") / "data" / "topic_map.html").read_text(encoding="utf-8")
    return template.replace("{{data}}", text)


def _upright(places: F64) -> F64:
    """Return positions whose second number counts from the top, as on a page."""
    return np.column_stack([places[:, 0], 1 - places[:, 1]])
