"""The topics of a collection, as :meth:`gem_index.Collection.topics` returns them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from gem_index.collection.corpus.results import Topic, TopicMapPoint
from gem_index.files.tables import Tabular
from gem_index.notebook import html_table, shorten

__all__ = ["TopicDocuments", "Topics"]


class TopicDocuments(Tabular):
    """A row for each document: its ``id``, the position of its ``topic``, and the names of the topic and its main topic.

    Parameters
    ----------
    topics : Topics
    """

    columns = ("id", "topic", "name", "main")

    def __init__(self, topics: Topics) -> None:
        self._topics = topics

    def rows(self) -> Iterator[dict[str, Any]]:
        """Iterate over the rows in the order in which the documents were stored."""
        for identifier, topic in self._topics.assigned.items():
            found = None if topic is None else self._topics[topic]
            yield {
                "id": identifier,
                "topic": topic,
                "name": found and found.name,
                "main": found and found.main,
            }


class Topics(list[Topic], Tabular):
    """The topics of a collection, the largest first; shown as a table in a notebook.

    As a table (:meth:`to_pandas`, :meth:`gem_index.Collection.write_rows`) it has a row for each topic: its position, its
    ``name``, its ``words``, the number of its ``documents``, the ids of the ``examples``, and the name of its ``main``
    topic.

    Attributes
    ----------
    points : tuple of TopicMapPoint
        Documents at even intervals, 10,000 at most, for a map.
    assigned : dict
        The position in the list of each document's topic, by the id of the document; None for a document without words. The
        documents are in the order in which they were stored.
    main : tuple of Topic
        The main topics, the largest first; empty if none were asked for. A main topic has all documents of its topics.
    """

    def __init__(
        self,
        topics: Iterable[Topic] = (),
        points: Iterable[TopicMapPoint] = (),
        assigned: Mapping[str, int | None] | None = None,
        main: Iterable[Topic] = (),
    ) -> None:
        super().__init__(topics)
        self.points = tuple(points)
        self.assigned = dict(assigned or {})
        self.main = tuple(main)

    columns = ("topic", "name", "words", "documents", "examples", "main")

    def rows(self) -> Iterator[dict[str, Any]]:
        """Iterate over the rows of the topics."""
        for place, topic in enumerate(self):
            examples = [example.id for example in topic.examples]
            values = (place, topic.name, list(topic.words), topic.documents, examples, topic.main)
            yield dict(zip(self.columns, values, strict=True))

    def by_document(self) -> TopicDocuments:
        """Return the topic of each document as rows of a table."""
        return TopicDocuments(self)

    def field_values(self) -> dict[str, str]:
        """Return the name of the topic of each document that has one, for :meth:`gem_index.Collection.set_field`."""
        return {
            name: self[topic].name for name, topic in self.assigned.items() if topic is not None
        }

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
