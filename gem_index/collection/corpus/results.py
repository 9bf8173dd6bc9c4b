"""The results of operations on all documents of a collection."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from gem_index.common.arrays import F32, I32, I64
from gem_index.common.notebook import html_table, shorten
from gem_index.files.tables import Tabular

__all__ = [
    "DocumentMap",
    "DuplicateGroup",
    "DuplicateGroups",
    "MapColors",
    "Topic",
    "TopicExample",
    "TopicMapPoint",
]


@dataclass(frozen=True)
class DuplicateGroup:
    """A group of near-duplicates.

    Attributes
    ----------
    ids : tuple of str
        The ids of the documents, in the order in which they were stored. The first document represents the group.
    scores : tuple of float
        The cosine of each document with the first document; 1 for the first document itself and for equal texts.
    text : str
        The text of the first document.
    views : tuple of str
        The views that join at least two of the documents: ``wording``, ``meaning`` or both.
    overlaps : tuple of float
        The overlap of each document's wording with the first document's wording. The overlap is the number of trigrams
        that both wordings have, divided by the number of trigrams that at least one wording has (the Jaccard similarity).
    contrasts : tuple of str or None
        The contrast of each document with the first document: ``number``, ``negation``, ``opposite`` or ``order`` (of
        the same words); None without a contrast.
    """

    ids: tuple[str, ...]
    scores: tuple[float, ...]
    text: str
    views: tuple[str, ...] = ("meaning",)
    overlaps: tuple[float, ...] = ()
    contrasts: tuple[str | None, ...] = ()

    @property
    def score(self) -> float:
        """The lowest cosine with the first document; in a chain, this cosine can be below the threshold."""
        return min(self.scores)


class DuplicateGroups(list[DuplicateGroup], Tabular):
    """Groups of near-duplicates, the largest first; a notebook shows them as a table.

    The table (:meth:`to_pandas`, :meth:`gem_index.Collection.write_rows`) has a row for each document. ``group`` is the
    id of the first document of the group, ``id`` the id of the document. ``score``, ``overlap`` and ``contrast``
    compare the document with the first document. ``views`` are the views of the group.
    """

    columns = ("group", "id", "score", "overlap", "contrast", "views")

    def rows(self) -> Iterator[dict[str, Any]]:
        """Iterate over the rows of the documents, group by group."""
        for group in self:
            each = zip(group.ids, group.scores, group.overlaps, group.contrasts, strict=True)
            for row in each:
                values = (group.ids[0], *row, ", ".join(group.views))
                yield dict(zip(self.columns, values, strict=True))

    def field_values(self) -> dict[str, str]:
        """Return, for each document id, the id of its group's first document, for :meth:`gem_index.Collection.set_field`."""
        return {name: group.ids[0] for group in self for name in group.ids}

    def _repr_html_(self) -> str:
        return html_table(
            ("documents", "score", "view", "first", "text"),
            (
                (
                    len(group.ids),
                    f"{group.score:.3f}",
                    ", ".join(group.views),
                    group.ids[0],
                    shorten(group.text, 200),
                )
                for group in self
            ),
        )


@dataclass(frozen=True)
class TopicExample:
    """A document that is typical of a topic."""

    id: str
    text: str


@dataclass(frozen=True)
class Topic:
    """A topic.

    Attributes
    ----------
    words : tuple of str
        The words that distinguish the topic best from the other topics, the best word first.
    documents : int
        The number of documents of the topic.
    examples : tuple of TopicExample
        The documents nearest to the topic's center, the nearest first.
    name : str
        The first of ``words``, or a given label; each topic has a different name.
    main : str
        The name of the topic's main topic; empty without main topics.
    """

    words: tuple[str, ...]
    documents: int
    examples: tuple[TopicExample, ...]
    name: str = ""
    main: str = ""


@dataclass(frozen=True)
class TopicMapPoint:
    """A document on a map of topics; ``topic`` is the position of the document's topic in the list of topics."""

    id: str
    text: str
    topic: int
    vector: F32


@dataclass(frozen=True)
class DocumentMap:
    """The places of documents on a plane, for the page of the server.

    Attributes
    ----------
    ids : tuple of str
        The ids of the documents that have a place.
    places : float32 array (n, 2)
        The two coordinates, from 0 to 1; the longer side of the map has the full length.
    topics : int32 array (n,)
        For each document, the position of its topic in ``words``; -1 without a topic.
    words : tuple of tuple of str
        Words of each topic, the largest topic first.
    fields : tuple of str
        Names of metadata fields, the most frequent first.
    documents : int
        The number of documents in the collection now. A document has no place if it was added after the map was made, has
        no word, or exceeds the limit of 200,000 texts.
    """

    ids: tuple[str, ...]
    places: F32
    topics: I32
    words: tuple[tuple[str, ...], ...]
    fields: tuple[str, ...]
    documents: int
    seqs: I64 = field(repr=False, compare=False)


@dataclass(frozen=True)
class MapColors:
    """The groups of the documents of a map.

    Attributes
    ----------
    codes : int32 array (n,)
        The position of each document's group in ``names``.
    names : tuple of str
    counts : tuple of int
    ordered : bool
        Whether the groups are ranges of numbers, ascending.
    """

    codes: I32
    names: tuple[str, ...]
    counts: tuple[int, ...]
    ordered: bool
