"""The results of looking at all documents of a collection together."""

from __future__ import annotations

from dataclasses import dataclass, field

from gem_index.arrays import F32, I32, I64
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
    """Documents that say nearly the same.

    Attributes
    ----------
    ids : tuple of str
        The one that was stored first, which represents the group, then the others as they were stored.
    scores : tuple of float
        The cosine of each with the first, 1 for the first itself and equal texts.
    text : str
        The first one's.
    """

    ids: tuple[str, ...]
    scores: tuple[float, ...]
    text: str

    @property
    def score(self) -> float:
        """The least cosine with the first; in a chain of near pairs it may be below the threshold."""
        return min(self.scores)


class DuplicateGroups(list[DuplicateGroup]):
    """Groups of near-duplicates, the largest first; shown as a table in a notebook."""

    def _repr_html_(self) -> str:
        return html_table(
            ("documents", "score", "first", "text"),
            (
                (len(group.ids), f"{group.score:.3f}", group.ids[0], shorten(group.text, 200))
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
        Those that tell it best from the other topics, the best first.
    documents : int
        How many belong to it.
    examples : tuple of TopicExample
        Those nearest to its centre, the nearest first.
    """

    words: tuple[str, ...]
    documents: int
    examples: tuple[TopicExample, ...]


@dataclass(frozen=True)
class TopicMapPoint:
    """A document on a map of topics; ``topic`` is the place of its topic in the list."""

    id: str
    text: str
    topic: int
    vector: F32


@dataclass(frozen=True)
class DocumentMap:
    """The places of documents; shown by the page of the server.

    Attributes
    ----------
    ids : tuple of str
        The documents that have a place.
    places : float32 array (n, 2)
        From 0 to 1; the longer side is filled.
    topics : int32 array (n,)
        For each the place of its topic in ``words``.
    words : tuple of tuple of str
        Words of each topic, the largest topic first.
    fields : tuple of str
        Names of metadata fields, the most frequent first.
    documents : int
        How many the collection has now: some were added later, hold no word, or are beyond the 100,000 that have a place.
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
        The place of each document's group in ``names``.
    names : tuple of str
    counts : tuple of int
    ordered : bool
        Whether the groups are ranges of numbers, ascending.
    """

    codes: I32
    names: tuple[str, ...]
    counts: tuple[int, ...]
    ordered: bool
