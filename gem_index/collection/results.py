"""The results and reports of a collection."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal

from gem_index.collection.piece_rows import piece_fields, piece_id
from gem_index.common.notebook import html_table, shorten
from gem_index.gem.matches import MatchExplanation
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


# fields that to_dict leaves out if they are None
_OPTIONAL = ("piece", "passage", "weak", "collection")
_PARTS = ("why", "piece", "passage")  # fields that have fields


@dataclass(frozen=True)
class FoundPiece:
    """The best piece of a document for a query.

    Attributes
    ----------
    text : str
    number : int
        1 for the first piece of the document.
    start, end : int
        The place of the piece in the document's text, in characters.
    heading : str
        The headings above the piece, joined by `` > ``.
    hits : int
        The number of the document's pieces whose score reaches a bound. The bound is the lowest score among the best
        pieces of all results.
    page : int, optional
        The page on which the piece begins. Only a text from a PDF, or a text that form feeds divide, has pages.
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
    """The best passage of a long text: the roughly twenty words that are nearest to a query, and their place in the text."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, repr=False)
class SearchResult:
    """A found document.

    - ``score`` is on the scale of the mode. ``hybrid``: (cosine + 2.25 match) / 3.25, which is above 1 only with
      synonyms; ``dense``: the cosine; ``lexical``: BM25.
    - ``cosine`` and ``bm25`` are None if the mode does not compute them.
    - ``why`` is None if the search did not request it.
    - ``similar`` has the ids of the near-duplicates that a collapsed search does not show.
    - ``piece`` is the best piece of the document; in a search for pieces, it is the found piece. None for a document
      without pieces.
    - ``passage`` is the best passage of a re-ranked text; None for a text of at most 20 words.
    - ``weak`` tells whether the score, before re-ranking, is below the calibrated score. None if the collection is not
      calibrated for the search; see :meth:`gem_index.Collection.calibrate`.
    - ``collection`` names the collection if several collections are searched together.
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
    weak: bool | None = None
    collection: str | None = None

    def as_row(self) -> SearchResult:
        """Return the result as a push would store it: with the id, text and metadata of its piece.

        A result without a piece is returned unchanged. With a piece, the id is ``id#n``. The metadata
        has the fields of the document, and ``parent``, ``piece``, ``start``, ``end`` and, if known, ``heading`` and
        ``page``.
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
            Whether to include these fields.
        """
        shown = {"why": why, "similar": similar}
        shown |= {name: getattr(self, name) is not None for name in _OPTIONAL}
        names = [field.name for field in fields(self) if shown.get(field.name, True)]
        row = {name: getattr(self, name) for name in names}
        row["metadata"] = dict(self.metadata)  # asdict of the whole would copy it value by value
        row |= {name: asdict(row[name]) for name in _PARTS if row.get(name) is not None}
        if isinstance(self.text, WeightedText):
            row["weights"] = self.text.weights
        return row

    def __repr__(self) -> str:
        return f"SearchResult({self.id!r}, {self.score:.3f}, {shorten(self.text, 60)!r})"


class SearchResults(list[SearchResult]):
    """The results of a search, best first; a notebook shows them as a table.

    Parameters
    ----------
    hits : iterable of SearchResult
    corrected : mapping of str to str, optional
        For each word of the query that no document contains, the word that replaced it.
    synonyms : mapping of str to tuple of str, optional
        For each word or phrase of the query that has synonyms, the synonyms that were searched for.
    """

    def __init__(
        self,
        hits: Iterable[SearchResult] = (),
        corrected: Mapping[str, str] | None = None,
        synonyms: Mapping[str, tuple[str, ...]] | None = None,
    ) -> None:
        super().__init__(hits)
        self.corrected: Mapping[str, str] = corrected or {}
        self.synonyms: Mapping[str, tuple[str, ...]] = synonyms or {}

    def with_hits(self, hits: Iterable[SearchResult]) -> SearchResults:
        """Return other results of the same query."""
        return SearchResults(hits, self.corrected, self.synonyms)

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
    """The counts of an upsert; all counted changes are durable.

    - ``pieces`` is the number of pieces of the added and updated documents.
    - ``language`` is the language of the collection. If this upsert detected the language, ``language_share`` is the
      share of the sampled texts in this language; it is 0 if the texts were too short.
    - ``known_words`` is set after a build: the share of words that have a word vector, in a sample of the texts.
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
    known_words: float | None = None


@dataclass(frozen=True)
class PushReport:
    """The counts of a push; every counted document is in the database.

    - ``collection`` is None for documents without a collection.
    - ``unchanged`` and ``documents`` are None after ``embed`` wrote into a table of pieces with more than 10,000 rows.
      To count the documents of such a table, ``embed`` would have to read all rows.
    - ``words`` tells whether the table has sparse vectors of words; None if the database cannot store sparse vectors.
    - ``words_due`` is true if the number of rows has at least doubled since the word statistics of the table were
      computed. Then make a full push, which computes the statistics again.
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
    words: bool | None = None
    words_due: bool = False


@dataclass(frozen=True)
class DeleteReport:
    """The number of deleted documents, and the ids that were not found."""

    deleted: int
    missing: tuple[str, ...]


@dataclass(frozen=True)
class IndexStatus:
    """The snapshot in use: its index kind, its directory, and the number (``seq``) of its last document.

    ``tail`` is the number of documents that were stored after the snapshot.
    """

    kind: str
    snapshot: str | None
    last_seq: int
    tail: int


@dataclass(frozen=True)
class CollectionStatus:
    """The status of a collection.

    - ``vectors`` and ``preset`` have a name for each encoder, separated by commas; ``prior`` is the largest number of
      pseudo-sentences (generated from frequent words) that a fit adds to the texts.
    - ``fitted`` is the number of texts in the model's fit, 0 without a fit; ``since_fit`` is the number of documents
      that were stored after the fit.
    - ``bytes`` is the size of the index files; ``dimension`` is the dimension of the vectors.
    - ``language`` and ``analyzer`` (its version) determine how texts become terms. Version 1 uses the English stemmer
      for every language; a build with a language changes the version.
    - ``description`` describes the documents; see :meth:`gem_index.Collection.set_description`.
    - ``calibration`` is ``void`` if the model, the chunking or the language has changed since
      :meth:`gem_index.Collection.calibrate`.
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
    analyzer: int
    dimension: int
    description: str
    calibration: Literal["missing", "valid", "void"]


@dataclass(frozen=True)
class ModelInfo:
    """The description of a named model.

    ``sentences`` is the number of texts in the model's fit. ``config`` has the fields of the model's
    configuration; with several encoders it is ``{"encoders": [{"vectors": …, "config": {…}, "weight": …}, …]}``.
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
