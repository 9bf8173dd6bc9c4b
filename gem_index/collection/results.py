"""The results and reports of a collection."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from gem_index.collection.piece_rows import piece_fields, piece_id
from gem_index.gem.matches import MatchExplanation
from gem_index.notebook import html_table, shorten
from gem_index.text.chunking import Piece
from gem_index.text.tokens import WeightedText

__all__ = [
    "CollectionStatus",
    "DeleteReport",
    "FoundPassage",
    "FoundPiece",
    "IndexStatus",
    "ModelInfo",
    "Problem",
    "PushReport",
    "SearchResult",
    "SearchResults",
    "UpsertReport",
]


@dataclass(frozen=True)
class FoundPiece:
    """The part of a document that a query matches best.

    Attributes
    ----------
    text : str
    number : int
        1 for the first piece of the document.
    start, end : int
        Its place in the document's text, in characters.
    heading : str
        The headings above it, joined by `` > ``.
    hits : int
        How many pieces of the document score at least as the best piece of the weakest result does.
    page : int, optional
        The page that it begins on, of a text that has pages: one from a PDF, or any that form feeds divide.
    """

    text: str
    number: int
    start: int
    end: int
    heading: str
    hits: int
    page: int | None = None


@dataclass(frozen=True)
class FoundPassage:
    """The twenty or so words of a long text that are nearest to a query, and their place in the document's text."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, repr=False)
class SearchResult:
    """A found document.

    ``score`` is on the scale of the mode: ``hybrid`` (cosine + 2.25 match) / 3.25, at most 1; ``dense`` the cosine;
    ``lexical`` BM25. ``cosine`` and ``bm25`` are None where the mode does not compute them, ``why`` where it was not asked
    for. ``similar`` holds the ids of the hits that a collapsed search shows this one for. ``piece`` is the part of a text
    in pieces that matches best, or the one that a search for pieces found; None for a text that is not cut. ``passage`` is
    the best passage of a text that was re-ranked; None for a text of up to 20 words.
    """

    id: str
    score: float
    text: str
    metadata: Mapping[str, Any]
    cosine: float | None = None
    bm25: float | None = None
    why: MatchExplanation | None = None
    similar: tuple[str, ...] = ()
    piece: FoundPiece | None = None
    passage: FoundPassage | None = None

    def as_row(self) -> SearchResult:
        """Return the result under the id, text and metadata of its piece, as a push stores them; itself if it has none.

        The id is ``id#n``; the metadata are those of the document with ``parent``, ``piece``, ``start``, ``end`` and, where
        there are any, ``heading`` and ``page``.
        """
        if self.piece is None:
            return self
        piece = self.piece
        part = Piece(piece.start, piece.end, piece.heading, piece.page)
        place = piece_fields(self.id, piece.number, part)
        name = piece_id(self.id, piece.number)
        return replace(self, id=name, text=piece.text, metadata={**self.metadata, **place})

    def to_dict(self, *, why: bool = False, similar: bool = False) -> dict[str, Any]:
        """Return the result as JSON values, as ``search --json`` prints it.

        Parameters
        ----------
        why, similar : bool
            Whether they were asked for; otherwise they are left out.
        """
        row = asdict(self)
        if isinstance(self.text, WeightedText):
            row["weights"] = self.text.weights
        there = {"why": why, "similar": similar}
        there |= {name: getattr(self, name) is not None for name in ("piece", "passage")}
        for name in (name for name, shown in there.items() if not shown):
            del row[name]
        return row

    def __repr__(self) -> str:
        return f"SearchResult({self.id!r}, {self.score:.3f}, {shorten(self.text, 60)!r})"


class SearchResults(list[SearchResult]):
    """The results of a search, best first; shown as a table in a notebook.

    Parameters
    ----------
    hits : iterable of SearchResult
    corrected : mapping of str to str, optional
        Words of the query that no document holds, each with the word that was searched for instead.
    """

    def __init__(
        self, hits: Iterable[SearchResult] = (), corrected: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(hits)
        self.corrected: Mapping[str, str] = corrected or {}

    def _repr_html_(self) -> str:
        return html_table(
            ("", "score", "id", "text"),
            (
                (place, f"{hit.score:.3f}", hit.id, shorten(hit.text, 200))
                for place, hit in enumerate(self, 1)
            ),
        )


@dataclass(frozen=True)
class UpsertReport:
    """The counts of an upsert; every counted document is durable, and those ``deleted`` are gone.

    ``pieces`` is how many those added and updated are embedded in. ``language`` is the collection's; if this upsert detected
    it, ``language_share`` is the share of the sample that is in it, 0 where the texts were too short to tell.
    """

    collection: str
    added: int
    updated: int
    unchanged: int
    deleted: int
    pieces: int
    documents: int
    fingerprint: str
    seconds: float
    language: str = "en"
    language_share: float | None = None


@dataclass(frozen=True)
class PushReport:
    """The counts of a push; every counted document is in the database.

    ``collection`` is None if none was pushed. ``unchanged`` and ``documents`` are None after documents were embedded into a
    table of texts in pieces with more than 10,000 rows: it would have to be read whole to count its documents.
    """

    collection: str | None
    target: str
    added: int
    updated: int
    deleted: int
    unchanged: int | None
    documents: int | None
    fingerprint: str
    seconds: float


@dataclass(frozen=True)
class DeleteReport:
    """The number of deleted documents, and the ids that were not found."""

    deleted: int
    missing: tuple[str, ...]


@dataclass(frozen=True)
class IndexStatus:
    """The index files in use: their last ``seq``, and the number of documents in the tail."""

    kind: str
    snapshot: str | None
    last_seq: int
    tail: int


@dataclass(frozen=True)
class CollectionStatus:
    """A collection at a glance.

    Of several encoders ``vectors`` and ``preset`` name each, ``prior`` is the largest. ``fitted`` counts the texts that its
    components were fitted on, 0 while it uses background components; ``since_fit``
    the documents that came after; ``bytes`` is the size of its index files. ``language`` says
    how texts become terms, ``analyser`` by which version of the analyser: a collection of version 1 has the English stemmer
    whatever its language, until it is built again with a language.
    """

    name: str
    documents: int
    fingerprint: str
    vectors: str
    preset: str
    prior: float
    fitted: int
    since_fit: int
    index: IndexStatus
    bytes: int
    language: str
    analyser: int


@dataclass(frozen=True)
class ModelInfo:
    """A named model at a glance.

    ``sentences`` counts the texts that it was fitted on; ``config`` holds the fields of its configuration, for several
    encoders ``{"encoders": [{"vectors": …, "config": {…}, "weight": …}, …]}``.
    """

    name: str
    fingerprint: str
    vectors: str
    sentences: int
    dimension: int
    config: dict[str, Any]


@dataclass(frozen=True)
class Problem:
    """A problem that verification found."""

    kind: str
    detail: str
    fixed: bool
