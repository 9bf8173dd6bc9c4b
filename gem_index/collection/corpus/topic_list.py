"""The topics of a collection, as :meth:`gem_index.Collection.topics` returns them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from gem_index.collection.corpus.results import Topic, TopicMapPoint
from gem_index.notebook import html_table, shorten

__all__ = ["Topics"]


class Topics(list[Topic]):
    """The topics of a collection, the largest first; shown as a table in a notebook.

    Attributes
    ----------
    points : tuple of TopicMapPoint
        Documents at even intervals, 10,000 at most, for a map.
    assigned : dict
        For the id of each document, in the order in which they were stored, the position of its topic in the list; None for
        a document without words.
    """

    def __init__(
        self,
        topics: Iterable[Topic] = (),
        points: Iterable[TopicMapPoint] = (),
        assigned: Mapping[str, int | None] | None = None,
    ) -> None:
        super().__init__(topics)
        self.points = tuple(points)
        self.assigned = dict(assigned or {})

    def plot(self, path: str | Path) -> None:
        """Draw a map of the points with similar texts near each other, as :meth:`gem_index.Collection.make_map` places them.

        Each topic has a mark of its own (a color and a shape), which the legend explains.

        Parameters
        ----------
        path : str or Path
            A page (``.html``), which needs no other files and shows the text under the pointer, or a picture (``.png``,
            ``.svg``, ``.pdf``).

        Raises
        ------
        InputError
            If the name has another ending, or the file cannot be written.
        MissingExtraError
            If openTSNE is not installed; or matplotlib, if the map is a picture.
        """
        from gem_index.collection.corpus.map_files import MapDrawing, MapGroup, map_path, write_map
        from gem_index.collection.corpus.map_places import place_texts

        target = map_path(path)
        vectors = np.array([point.vector for point in self.points], np.float32)
        drawing = MapDrawing(
            [point.id for point in self.points],
            [point.text for point in self.points],
            place_texts(vectors, None),
            np.array([point.topic for point in self.points], np.int32),
            [MapGroup(topic.words, topic.documents) for topic in self],
        )
        write_map(drawing, target)

    def _repr_html_(self) -> str:
        return html_table(
            ("documents", "words", "example"),
            (
                (
                    topic.documents,
                    ", ".join(topic.words),
                    shorten(topic.examples[0].text, 200) if topic.examples else "",
                )
                for topic in self
            ),
        )
