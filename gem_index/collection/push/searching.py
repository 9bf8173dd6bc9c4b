"""Search a pushed table: the database finds candidates, which are scored here as in a search of a collection."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from heapq import nlargest
from itertools import compress, islice
from typing import Any, TypeVar

import numpy as np

from gem_index.arrays import F32, WORD_DIMENSIONS, SparseVector
from gem_index.collection.piece_rows import PLACE, piece_of
from gem_index.collection.push.embedding import EMBEDDED
from gem_index.collection.push.query_record import QueryRecord, QueryRecords
from gem_index.collection.request import SearchRequest
from gem_index.collection.results import FoundPiece, SearchResult, SearchResults
from gem_index.collection.search.why import explain_hit
from gem_index.collection.state.models import open_encoder
from gem_index.collection.state.piece_encoder import PieceEncoder
from gem_index.errors import ConfigError, FingerprintMismatchError, InputError
from gem_index.gem.combined import Encoder
from gem_index.index.fusion import MATCH_WEIGHT, fuse_scores, fused
from gem_index.index.hits import Hits, Ids
from gem_index.quoting import quoted
from gem_index.sparse import SparseEncoder
from gem_index.store.documents import DocumentRepository
from gem_index.store.workspace import Workspace
from gem_index.targets.narrowing import NarrowingTable, conditions_of
from gem_index.targets.protocol import (
    Neighbor,
    Target,
    TargetDocument,
    TargetTable,
    WordsTable,
    word_dimensions,
)
from gem_index.targets.registry import exact_search, open_target
from gem_index.targets.retries import with_retries
from gem_index.targets.url import TargetUrl

__all__ = ["SearchedTarget"]

_CANDIDATES = 100  # nearest rows of a table without sparse vectors, whose words are compared,
_MANY_CANDIDATES = 1000  # and as many for all results above a score
_DEEPEST = 10_000  # rows that every engine returns for a query
_FILTERED = 1000  # rows that are asked for at first if a filter is to be applied to them
_FETCHED = 1000
_WIDER = 4

_T = TypeVar("_T")
_Accept = Callable[[Sequence[str]], Sequence[bool]]


@dataclass(frozen=True)
class _Opened:
    """A live table with what a search of it needs."""

    table: TargetTable
    record: QueryRecord
    encoder: Encoder
    dimensions: int


@dataclass(frozen=True)
class _Row:
    """A found row with its scores."""

    document: TargetDocument
    score: float
    cosine: float


class SearchedTarget:
    """A table of a vector database that a push filled; made by :meth:`gem_index.Home.target`.

    A search needs the word vectors of the model, and nothing else of the home that pushed. :meth:`close` it, or use it in a
    ``with`` statement.

    Parameters
    ----------
    workspace : Workspace
        The home whose word vectors are used.
    url : str or TargetUrl
        As for :meth:`gem_index.Collection.push`.

    Raises
    ------
    ConfigError
        If there is no table, it is not that of a push, or its query record is missing or damaged.
    """

    def __init__(self, workspace: Workspace, url: str | TargetUrl) -> None:
        self._workspace = workspace
        self._target: Target = open_target(url)
        self._opened: _Opened | None = None
        try:
            self._current()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> SearchedTarget:
        """Return the target itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def __repr__(self) -> str:
        return f"SearchedTarget({self.name!r})"

    @property
    def name(self) -> str:
        """The URL without its secrets."""
        return str(self._target.url)

    @property
    def encoder(self) -> Encoder:
        """The encoder of the table's vectors."""
        return self._current().encoder

    @property
    def sparse_encoder(self) -> SparseEncoder:
        """The sparse encoder of the table: its vectors of queries, for the database's own client."""
        return self._current().record.words

    def close(self) -> None:
        """Release the connection."""
        self._target.close()

    def search(
        self,
        query: str,
        k: int | None = 10,
        where: Mapping[str, Any] | None = None,
        *,
        mode: str = "hybrid",
        min_score: float | None = None,
        why: bool = False,
        pieces: bool = False,
    ) -> SearchResults:
        """Return the k best documents for a query, by the same scores as :meth:`gem_index.Collection.search`.

        In a table with sparse vectors, the database finds candidates by meaning and by words. In others it finds the 100
        nearest rows (more for larger k), which are scored by their texts. Pieces are scored one by one; a document has the
        score of its best piece. A filter means what it means in a collection; the database narrows its search by the parts
        that it can compare, and where the 10,000 best rows do not hold enough that the filter accepts, all rows are read.
        Words are not corrected.

        Parameters
        ----------
        query : str
        k : int, optional
            None, with ``min_score``, for all documents with at least this score.
        where : mapping, optional
            A filter as for a collection.
        mode : {"hybrid", "dense"}
        min_score : float, optional
        why : bool
            Explain each result.
        pieces : bool
            Return each piece as a result of its own. Otherwise the text of a result with pieces is that of its best piece.

        Raises
        ------
        EmptyTextError
            If the query has no word.
        InputError
            If an option is not valid.
        ConfigError
            If the table holds neither sparse vectors nor texts, and the mode is hybrid.
        TargetUnavailableError
            If the database does not answer.
        """
        asked = SearchRequest(query, k, where, mode, min_score, why=why, pieces=pieces)
        if asked.min_score == "auto":
            raise InputError(
                f"found the min_score auto for the target {self._target.url}, which has no calibration; expected a number"
            )
        if asked.mode == "lexical":
            raise InputError(
                f"found the mode lexical for the target {self._target.url}; expected hybrid or dense"
            )
        opened = self._current()
        [vector] = opened.encoder.encode([query])
        words = None
        if mode == "hybrid":
            words = opened.record.words.embed_query(query).folded(opened.dimensions)
        with self._workspace.database.reading() as connection:
            documents = DocumentRepository(connection, 0)
            if asked.where is not None:
                documents.accepted_mask(asked.where, [])  # checks the filter

            def accept(metadata: Sequence[str]) -> Sequence[bool]:
                return list(documents.accepted_mask(asked.where or {}, metadata))

            rows = _Rows(opened, vector, words, accept if asked.filtered else None, self._exact)
            if asked.where is not None:
                rows.narrow(asked.where)
            found = self._results(rows, asked)
        if not why:
            return SearchResults(found)
        record = opened.record
        encoder = PieceEncoder(opened.encoder, record.chunking, record.words.analyzer)
        return SearchResults(
            replace(hit, why=explain_hit(encoder, query, hit.text)) for hit in found
        )

    def search_many(
        self,
        queries: Iterable[str],
        k: int | None = 10,
        where: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> list[SearchResults]:
        """Return the k best documents for each of several queries; the parameters and errors are those of :meth:`search`."""
        if isinstance(queries, str):
            raise InputError(f"found the text {quoted(queries)}; expected a list of queries")
        return [self.search(query, k, where, **options) for query in queries]

    @property
    def _exact(self) -> bool:
        return exact_search(self._target.url)

    def _current(self) -> _Opened:
        """Return the live table; a push in full replaces it."""
        table = with_retries(self._target.live)
        name = str(self._target.url)
        if table is None:
            raise ConfigError(f"found no table at {name}; expected one that a push filled")
        if self._opened is not None and self._opened.table.schema == table.schema:
            return self._opened
        if table.schema.token.startswith(EMBEDDED):
            raise ConfigError(
                f"found a table at {name} that was filled without a collection; expected a table of push, which has word "
                "statistics; search it with the database's own client"
            )
        with closing(QueryRecords(self._target)) as records:
            record = records.read(table.schema.token)
        encoder = open_encoder(self._workspace, record.model)
        if encoder.fingerprint != table.schema.fingerprint:
            raise FingerprintMismatchError(
                f"the target {name}",
                encoder.fingerprint,
                table.schema.fingerprint,
                "push in full again",
                kind="encoder",
            )
        dimensions = word_dimensions(self._target) if table.schema.words else WORD_DIMENSIONS
        self._opened = _Opened(table, record, encoder, dimensions)
        return self._opened

    def _results(self, rows: _Rows, asked: SearchRequest) -> list[SearchResult]:
        """Return the results; rows are asked for until there are enough documents."""
        least = -np.inf if asked.least_score is None else asked.least_score
        wanted = _DEEPEST if asked.k is None else asked.k
        number = min(_DEEPEST, asked.k or _MANY_CANDIDATES)
        while True:
            best = rows.best(number)
            kept = [row for row in best if row.score >= least]
            results = _folded(kept, asked.pieces)
            last = len(best) < number or number == _DEEPEST or len(kept) < len(best)
            if last or len(results) >= wanted:
                break
            number = min(_DEEPEST, _WIDER * number)
        if rows.filter_left_too_few and len(results) < wanted:
            kept = [row for row in rows.all_accepted() if row.score >= least]
            results = _folded(kept, asked.pieces)
        return results[: asked.k]


class _Rows:
    """The rows of a table by their scores for one query; the :class:`~gem_index.index.fusion.ScoredLists` of a search."""

    def __init__(
        self,
        opened: _Opened,
        vector: F32,
        words: SparseVector | None,
        accept: _Accept | None,
        exact: bool,
    ) -> None:
        self.exact = exact
        self._table, self._record = opened.table, opened.record
        self._vector = vector
        self._words = words
        self._accept = accept
        self._names: list[str] = []
        self._places: dict[str, int] = {}
        self._accepted: dict[str, bool] = {}
        self._documents: dict[str, TargetDocument] = {}
        self.filter_left_too_few = False
        """Whether the best 10,000 rows of the database held fewer than were asked for that the filter accepts."""

    def narrow(self, where: Mapping[str, Any]) -> None:
        """Let the database search among the rows only that a filter may accept, if it can."""
        if isinstance(self._table, NarrowingTable):
            self._table = self._table.narrowed(conditions_of(where))

    def best(self, k: int) -> list[_Row]:
        """Return the k best rows, best first; fewer if the table has no more."""
        if self._words is None:
            return self._scored(self.nearest(k))[:k]
        if not self._table.schema.words:
            return self._scored(self.nearest(max(_CANDIDATES, k)))[:k]
        best, _ = fuse_scores(self, k)
        return self._scored(best)

    def all_accepted(self) -> list[_Row]:
        """Return the best 10,000 of all rows that the filter accepts; the whole table is read."""
        assert self._accept is not None
        found: list[_Row] = []
        for part in _parts(self._table.documents()):
            accepted = self._accept([json.dumps(dict(each.metadata)) for each in part])
            found += map(self._row, compress(part, accepted))
            found = nlargest(_DEEPEST, found, key=lambda row: row.score)
        return found

    def nearest(self, depth: int) -> Hits:
        """Return the nearest accepted rows."""
        if not self._vector.any():
            return []
        return self._accepted_of(lambda number: self._table.query(self._vector, number), depth)

    def matching(self, depth: int) -> Hits:
        """Return the accepted rows that match best."""
        table, words = self._table, self._words
        assert isinstance(table, WordsTable)
        assert words is not None
        found = self._accepted_of(lambda number: table.match(words, number), depth)
        return [(place, score / MATCH_WEIGHT) for place, score in found]

    def cosines(self, seqs: Ids) -> F32:
        """Return the cosines of rows."""
        documents = self._fetch([self._names[place] for place in seqs.tolist()])
        found: F32 = np.array([each.vector @ self._vector for each in documents], np.float32)
        return found

    def matches(self, seqs: Ids) -> Mapping[int, float]:
        """Return the matches of rows."""
        documents = self._fetch([self._names[place] for place in seqs.tolist()])
        return {
            place: self._match(each) for place, each in zip(seqs.tolist(), documents, strict=True)
        }

    def _accepted_of(self, ask: Callable[[int], list[Neighbor]], depth: int) -> Hits:
        """Return the first accepted rows of a query of the database, which is asked for more until there are enough."""
        number = min(_DEEPEST, depth if self._accept is None else max(depth, _FILTERED))
        while True:
            hits = with_retries(ask, number)
            kept = self._that_pass([hit.id for hit in hits])
            found = [(self._place(hit.id), hit.score) for hit in hits if kept[hit.id]]
            if len(hits) < number or len(found) >= min(depth, _DEEPEST):
                return found[:depth]
            if number == _DEEPEST:
                self.filter_left_too_few = True
                return found
            number = min(_DEEPEST, _WIDER * number)

    def _that_pass(self, names: Sequence[str]) -> Mapping[str, bool]:
        """Tell which rows the filter accepts."""
        if self._accept is None:
            return dict.fromkeys(names, True)
        unknown = [name for name in names if name not in self._accepted]
        for part in _parts(unknown):
            metadata = with_retries(self._table.metadata_of, part)
            texts = [json.dumps(dict(metadata.get(name, {}))) for name in part]
            self._accepted |= zip(part, self._accept(texts), strict=True)
        return self._accepted

    def _place(self, name: str) -> int:
        """Return the number of a row, by which equal scores are ordered."""
        if name not in self._places:
            self._places[name] = len(self._names)
            self._names.append(name)
        return self._places[name]

    def _fetch(self, names: Sequence[str]) -> list[TargetDocument]:
        missing = [name for name in names if name not in self._documents]
        for part in _parts(missing):
            self._documents |= with_retries(self._table.fetch, part)
        empty = np.zeros_like(self._vector)
        return [self._documents.get(name) or TargetDocument(name, empty) for name in names]

    def _match(self, document: TargetDocument) -> float:
        """Return the match of a row, by its sparse vector or its text."""
        if self._words is None:
            return 0.0
        words = document.words
        if words is None:
            if document.text is None:
                raise ConfigError(
                    f"found neither a sparse vector nor a text of the row {quoted(document.id)}; "
                    "expected one of them for a search by words; search in the mode dense, or push texts"
                )
            [words] = self._record.words.embed_documents([document.text])
        return self._words.dot(words) / MATCH_WEIGHT

    def _scored(self, hits: Hits) -> list[_Row]:
        """Return rows with scores that are computed from their vectors, best first; deleted ones are left out."""
        names = [self._names[place] for place, _ in hits]
        documents = [each for each in self._fetch(names) if each.id in self._documents]
        return sorted(map(self._row, documents), key=lambda row: -row.score)

    def _row(self, document: TargetDocument) -> _Row:
        cosine = float(document.vector @ self._vector)
        score = cosine if self._words is None else fused(cosine, self._match(document))
        return _Row(document, score, cosine)


def _parts(items: Iterable[_T]) -> Iterator[list[_T]]:
    iterator = iter(items)
    while part := list(islice(iterator, _FETCHED)):
        yield part


def _folded(rows: Sequence[_Row], pieces: bool) -> list[SearchResult]:
    """Return a result for each document, with its best piece; for each piece if they are asked for."""
    of_documents: dict[str, list[_Row]] = {}
    for row in rows:
        piece = piece_of(row.document.id, row.document.metadata)
        name = row.document.id if piece is None or pieces else piece[0]
        of_documents.setdefault(name, []).append(row)
    return [_result(group) for group in of_documents.values()]


def _result(group: Sequence[_Row]) -> SearchResult:
    best = group[0]
    document, text = best.document, best.document.text or ""
    piece = piece_of(document.id, document.metadata)
    if piece is None:
        return SearchResult(document.id, best.score, text, document.metadata, best.cosine)
    name, number = piece
    place = document.metadata
    found = FoundPiece(
        text,
        number,
        int(place["start"]),
        int(place["end"]),
        str(place.get("heading", "")),
        len(group),
        place.get("page"),
    )
    kept = {key: value for key, value in place.items() if key not in PLACE}
    return SearchResult(name, best.score, text, kept, best.cosine, piece=found)
