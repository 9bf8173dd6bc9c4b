"""The topics of a collection, as :meth:`gem_index.Collection.topics` returns them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from gem_index.collection.corpus.results import Topic, TopicMapPoint
from gem_index.common.notebook import html_table, shorten
from gem_index.files.tables import Tabular

__all__ = ["TopicDocuments", "Topics"]


class TopicDocuments(Tabular):
    """A table with a row for each document: ``id``, the position of its ``topic``, the names of topic and main topic.

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
    """The topics of a collection, the largest first; a notebook shows them as a table.

    The table (:meth:`to_pandas`, :meth:`gem_index.Collection.write_rows`) has a row for each topic: its position, its
    ``name``, its ``words``, the number of its ``documents``, the ids of the ``examples``, and the name of its ``main``
    topic.

    Attributes
    ----------
    points : tuple of TopicMapPoint
        At most 10,000 documents, at even intervals, for a map.
    assigned : dict
        For each document id, the position of the document's topic in the list; None for a document without words. The
        documents are in the order in which they were stored.
    main : tuple of Topic
        The main topics, the largest first; empty if the caller did not request main topics. A main topic has all
        documents of its topics.
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
        """Return, for each document id, the name of the document's topic, for :meth:`gem_index.Collection.set_field`."""
        return {
            name: self[topic].name for name, topic in self.assigned.items() if topic is not None
        }

    def plot(self, path: str | Path) -> None:
        """Draw a map of the points; similar texts are near each other, as in :meth:`gem_index.Collection.make_map`.

        Each topic has a separate mark (a color and a shape); the legend explains the marks.

        Parameters
        ----------
        path : str or Path
            A page (``.html``) or a picture (``.png``, ``.svg``, ``.pdf``). The page needs no other files, and shows the
            text under the pointer.

        Raises
        ------
        InputError
            If the name has another ending, or the file cannot be written.
        MissingExtraError
            If openTSNE is not installed, or if the map is a picture and matplotlib is not installed.
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
