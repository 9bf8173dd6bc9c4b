"""The results of operations on all documents of a collection."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from gem_index.arrays import F32, I32, I64
from gem_index.files.tables import Tabular
from gem_index.notebook import html_table, shorten

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
        The id of the document stored first, which represents the group, then the others in the order in which they were
        stored.
    scores : tuple of float
        The cosine of each document with the first, 1 for the first itself and for equal texts.
    text : str
        The text of the first document.
    views : tuple of str
        The views that join at least two of the documents: ``wording``, ``meaning`` or both.
    overlaps : tuple of float
        The overlap of each document's wording with the first: the number of trigrams that both have, divided by the number
        that at least one of them has (the Jaccard similarity).
    contrasts : tuple of str or None
        How each document differs from the first: by a ``number``, by a ``negation``, by an ``opposite``, by the ``order`` of
        the same words, or None.
    """

    ids: tuple[str, ...]
    scores: tuple[float, ...]
    text: str
    views: tuple[str, ...] = ("meaning",)
    overlaps: tuple[float, ...] = ()
    contrasts: tuple[str | None, ...] = ()

    @property
    def score(self) -> float:
        """The lowest cosine with the first document; in a chain it can be below the threshold."""
        return min(self.scores)


class DuplicateGroups(list[DuplicateGroup], Tabular):
    """Groups of near-duplicates, the largest first; shown as a table in a notebook.

    As a table (:meth:`to_pandas`, :meth:`gem_index.Collection.write_rows`) it has a row for each document: the id of the
    first document of its ``group``, its own ``id``, its ``score``, ``overlap`` and ``contrast`` with the first, and the
    ``views``.
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
        """Return for each document the id of the first one of its group, for :meth:`gem_index.Collection.set_field`."""
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
        The words that distinguish it best from the other topics, the best first.
    documents : int
        Number of its documents.
    examples : tuple of TopicExample
        The documents nearest to its center, the nearest first.
    name : str
        Its first words, or a given label; each topic has a different name.
    main : str
        The name of the main topic that it belongs to; empty without main topics.
    """

    words: tuple[str, ...]
    documents: int
    examples: tuple[TopicExample, ...]
    name: str = ""
    main: str = ""


@dataclass(frozen=True)
class TopicMapPoint:
    """A document on a map of topics; ``topic`` is the position of its topic in the list."""

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
        From 0 to 1; the longer side is filled.
    topics : int32 array (n,)
        For each document the position of its topic in ``words``; -1 without a topic.
    words : tuple of tuple of str
        Words of each topic, the largest topic first.
    fields : tuple of str
        Names of metadata fields, the most frequent first.
    documents : int
        Number of documents in the collection now, including those without a place: added later, without words, or beyond
        200,000.
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
    """A group for each document of a map.

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
