"""The topics of a collection, as :meth:`gem_index.Collection.topics` returns them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from gem_index.collection.corpus.results import Topic, TopicMapPoint
from gem_index.notebook import html_table, shorten

__all__ = ["Topics"]


class Topics(list[Topic]):
    """The topics of a collection, the largest first; shown as a table in a notebook.

    Attributes
    ----------
    points : tuple of TopicMapPoint
        Documents at even intervals, 2,000 at most, for a map.
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
        """Draw a map with similar texts near each other: t-SNE of the points, one colour per topic.

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
            If matplotlib is not installed, and the map is a picture.
        """
        from gem_index.collection.corpus.topic_map import draw_map

        draw_map(self, self.points, path)

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
