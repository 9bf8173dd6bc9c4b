"""The rows of a pushed table, scored for one query, and the results that are made from these rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import nlargest
from itertools import compress, islice
from typing import Any, TypeVar

import numpy as np

from gem_index.collection.piece_rows import PLACE, piece_of
from gem_index.collection.push.query_record import QueryRecord
from gem_index.collection.results import FoundPiece, SearchResult
from gem_index.common.arrays import F32, SparseVector
from gem_index.errors import ConfigError
from gem_index.errors.quoting import quoted
from gem_index.gem.combined import Encoder
from gem_index.index.fusion import MATCH_WEIGHT, fuse_scores, fused
from gem_index.index.hits import Hits, Ids
from gem_index.targets.narrowing import NarrowingTable, conditions_of
from gem_index.targets.protocol import Neighbor, TargetDocument, TargetTable, WordsTable
from gem_index.targets.retries import with_retries

__all__ = ["DEEPEST", "WIDER", "FoundRow", "FoundRows", "OpenedTable", "folded", "parts_of"]

DEEPEST = 10_000
"""The largest number of rows that every engine can return for a query."""

WIDER = 4
"""The factor by which the number of requested rows grows while too few rows are found."""

_CANDIDATES = 300  # nearest rows; in a table without sparse vectors, they are scored by words
_FILTERED = 1000  # rows of the first request, if this process must apply a filter to the rows
_FETCHED = 1000  # rows whose contents are requested at once

_T = TypeVar("_T")
Accept = Callable[[Sequence[str]], Sequence[bool]]


@dataclass(frozen=True)
class OpenedTable:
    """A live table, with the data that a search needs."""

    table: TargetTable
    record: QueryRecord
    encoder: Encoder
    dimensions: int


@dataclass(frozen=True)
class FoundRow:
    """A found row with its scores."""

    document: TargetDocument
    score: float
    cosine: float


class FoundRows:
    """The rows of a table, scored for one query; the :class:`~gem_index.index.fusion.ScoredLists` of a hybrid search."""

    def __init__(
        self,
        opened: OpenedTable,
        vector: F32,
        words: SparseVector | None,
        accept: Accept | None,
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
        """Whether the filter accepted too few of the 10,000 best rows of the database."""

    def narrow(self, where: Mapping[str, Any]) -> None:
        """If the database can filter rows, let it search only among rows that a filter may accept."""
        if isinstance(self._table, NarrowingTable):
            self._table = self._table.narrowed(conditions_of(where))

    def best(self, k: int) -> list[FoundRow]:
        """Return the k best rows, best first; fewer rows if the table has fewer than k."""
        if self._words is None:
            return self._scored(self.nearest(k))[:k]
        if not self._table.schema.words:
            return self._scored(self.nearest(max(_CANDIDATES, k)))[:k]
        best, _ = fuse_scores(self, k)
        return self._scored(best)

    def all_accepted(self) -> list[FoundRow]:
        """Read the whole table, and return the 10,000 best rows that the filter accepts."""
        assert self._accept is not None
        found: list[FoundRow] = []
        for part in parts_of(self._table.documents()):
            accepted = self._accept([json.dumps(dict(each.metadata)) for each in part])
            found += map(self._row, self._with_words(list(compress(part, accepted))))
            found = nlargest(DEEPEST, found, key=lambda row: row.score)
        return found

    def nearest(self, depth: int) -> Hits:
        """Return the nearest accepted rows."""
        if not self._vector.any():
            return []
        return self._accepted_of(lambda number: self._table.query(self._vector, number), depth)

    def matching(self, depth: int) -> Hits:
        """Return the accepted rows with the highest matches."""
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
        """Return the best rows that the filter accepts; request more rows from the database until enough are accepted."""
        number = min(DEEPEST, depth if self._accept is None else max(depth, _FILTERED))
        while True:
            hits = with_retries(ask, number)
            kept = self._that_pass([hit.id for hit in hits])
            found = [(self._place(hit.id), hit.score) for hit in hits if kept[hit.id]]
            if len(hits) < number or len(found) >= min(depth, DEEPEST):
                return found[:depth]
            if number == DEEPEST:
                self.filter_left_too_few = True
                return found
            number = min(DEEPEST, WIDER * number)

    def _that_pass(self, names: Sequence[str]) -> Mapping[str, bool]:
        """Tell, for each row, whether the filter accepts it."""
        if self._accept is None:
            return dict.fromkeys(names, True)
        unknown = [name for name in names if name not in self._accepted]
        for part in parts_of(unknown):
            metadata = with_retries(self._table.metadata_of, part)
            texts = [json.dumps(dict(metadata.get(name, {}))) for name in part]
            self._accepted |= zip(part, self._accept(texts), strict=True)
        return self._accepted

    def _place(self, name: str) -> int:
        """Return the number of a row; equal scores are in the order of these numbers."""
        if name not in self._places:
            self._places[name] = len(self._names)
            self._names.append(name)
        return self._places[name]

    def _fetch(self, names: Sequence[str]) -> list[TargetDocument]:
        missing = [name for name in names if name not in self._documents]
        for part in parts_of(missing):
            found = with_retries(self._table.fetch, part)
            self._documents |= {each.id: each for each in self._with_words(list(found.values()))}
        empty = np.zeros_like(self._vector)
        return [self._documents.get(name) or TargetDocument(name, empty) for name in names]

    def _with_words(self, documents: list[TargetDocument]) -> list[TargetDocument]:
        """Return rows with sparse vectors; if the table has no sparse vectors, compute them from the texts."""
        if self._words is None or self._table.schema.words:
            return documents
        if not self._table.schema.texts and documents:
            raise ConfigError(
                f"found neither a sparse vector nor a text of the row {quoted(documents[0].id)}; "
                "expected one of them for a search by words; search in the mode dense, or push texts"
            )
        words = self._record.words.embed_documents([each.text or "" for each in documents])
        return [replace(each, words=found) for each, found in zip(documents, words, strict=True)]

    def _match(self, document: TargetDocument) -> float:
        """Return the match of a row; 0 for a row that was deleted meanwhile."""
        if self._words is None or document.words is None:
            return 0.0
        return self._words.dot(document.words) / MATCH_WEIGHT

    def _scored(self, hits: Hits) -> list[FoundRow]:
        """Fetch rows, leave out deleted rows, and return the others with their scores, best first."""
        names = [self._names[place] for place, _ in hits]
        documents = [each for each in self._fetch(names) if each.id in self._documents]
        return sorted(map(self._row, documents), key=lambda row: -row.score)

    def _row(self, document: TargetDocument) -> FoundRow:
        cosine = float(document.vector @ self._vector)
        score = cosine if self._words is None else fused(cosine, self._match(document))
        return FoundRow(document, score, cosine)


def parts_of(items: Iterable[_T]) -> Iterator[list[_T]]:
    """Divide items into lists that are small enough for one request."""
    iterator = iter(items)
    while part := list(islice(iterator, _FETCHED)):
        yield part


def folded(rows: Sequence[FoundRow], pieces: bool) -> list[SearchResult]:
    """Return a result for each document, with the document's best piece; with ``pieces``, a result for each piece."""
    of_documents: dict[str, list[FoundRow]] = {}
    for row in rows:
        piece = piece_of(row.document.id, row.document.metadata)
        name = row.document.id if piece is None or pieces else piece[0]
        of_documents.setdefault(name, []).append(row)
    return [_result(group) for group in of_documents.values()]


def _result(group: Sequence[FoundRow]) -> SearchResult:
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
