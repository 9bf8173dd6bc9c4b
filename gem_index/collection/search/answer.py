"""Answer a search request: search one state of the collection, and return the results with their texts."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import chain
from threading import Lock
from typing import Any, TypeAlias, TypeVar

from gem_index.collection.request import SearchRequest
from gem_index.collection.results import SearchResult, SearchResults
from gem_index.collection.search.best_pieces import with_pieces
from gem_index.collection.search.corrections import corrections, replace_words
from gem_index.collection.search.field_filter import FieldFilter, accepted_documents
from gem_index.collection.search.metadata_reader import MetadataReader
from gem_index.collection.search.modes import Hit, Search, query_vectors
from gem_index.collection.search.ordering import Boost, boosted, lacks_field, sorted_by
from gem_index.collection.search.passages import rerank_hits
from gem_index.collection.search.why import explain_hit
from gem_index.collection.state.access import CollectionAccess, CollectionRows
from gem_index.collection.state.calibration import score_bound
from gem_index.collection.state.filter_cache import FilteredDocuments
from gem_index.collection.state.view import View
from gem_index.collection.state.view_cache import StaleStateError
from gem_index.common.arrays import F32
from gem_index.common.settings import load_settings
from gem_index.documents import check_ids
from gem_index.errors import CorruptionError, InputError
from gem_index.errors.quoting import quoted
from gem_index.index.hits import Ids
from gem_index.index.terms import QueryTerms
from gem_index.store.documents import DocumentRepository
from gem_index.store.records import StoredDocument
from gem_index.text.chunking import Chunking

__all__ = ["RERANKED", "answer", "answer_all", "similar_to"]

_Result = TypeVar("_Result")
_Stored: TypeAlias = Mapping[int, StoredDocument]
_LOG = logging.getLogger(__name__)

_DOCUMENTS_PER_PIECE = (
    4  # a search for k pieces first reads 4 k documents; if these are too few, it reads more
)

_FAST_HITS = 100  # results; a search for more is not batched
_FAST_QUERY = 1000  # characters; a search with a longer query is not batched

RERANKED = 100
"""The number of hits that are re-ranked; if ``k`` is larger, k hits are re-ranked."""


def answer(access: CollectionAccess, asked: SearchRequest) -> SearchResults:
    """Return the best documents for a request; see :meth:`gem_index.Collection.search`.

    Fast requests of several threads are batched. A request is slow if it has a filter, an offset, a boost,
    ``rerank``, ``why``, a long query or a large ``k``. Slow requests are answered alone, so no fast request waits for them.
    """
    fast = not (asked.why or asked.rerank or asked.filtered or asked.offset or asked.boost)
    if isinstance(asked.query, str) and len(asked.query) > _FAST_QUERY:
        fast = False
    if not fast or asked.k is None or asked.k > _FAST_HITS:
        [results] = answer_all(access, [asked])
        return results
    return access.batcher.answer(asked, lambda requests: answer_all(access, requests, threads=1))


def answer_all(
    access: CollectionAccess,
    requests: Sequence[SearchRequest],
    threads: int | None = None,
) -> list[SearchResults]:
    """Return the best documents for each request; all requests search the same state of the collection.

    The requests must have the same options. The queries are encoded together, and searched in threads. The default
    number of threads is in the settings.
    """
    threads = threads or load_settings().threads
    find = _answer_reranked if requests and requests[0].rerank else _from_one_state
    boosts = [None if asked.boost is None else Boost.parse(asked.boost) for asked in requests]
    found = find(access, [_candidates(asked) for asked in requests], threads)
    return [
        results.with_hits(_ordered(access, results, asked, boost))
        for asked, boost, results in zip(requests, boosts, found, strict=True)
    ]


def _candidates(asked: SearchRequest) -> SearchRequest:
    """Return the request without its offset; with a boost, request all results that the boost can reorder."""
    asked = asked.from_first
    if asked.boost is None or asked.k is None:
        return asked
    return replace(asked, k=max(asked.k, RERANKED))


def _ordered(
    access: CollectionAccess, results: SearchResults, asked: SearchRequest, boost: Boost | None
) -> list[SearchResult]:
    """Return the requested page of the results, in the requested order."""
    best = results if boost is None else boosted(results, boost)
    page = best[asked.offset : None if asked.k is None else asked.offset + asked.k]
    if asked.sort_by is None:
        return page
    if lacks_field(page, asked.sort_by):
        with access.reading() as rows:
            # raises an error if no document has the field
            MetadataReader(access, rows).count_by(asked.sort_by.removeprefix("-"), None, None)
    return sorted_by(page, asked.sort_by)


def _from_one_state(
    access: CollectionAccess, requests: Sequence[SearchRequest], threads: int
) -> list[SearchResults]:
    while True:
        try:
            return _answer_at_once(access, requests, threads)
        except StaleStateError:
            continue  # a newer snapshot is in use: search again, in the newer state


def _answer_at_once(
    access: CollectionAccess, requests: Sequence[SearchRequest], threads: int
) -> list[SearchResults]:
    with access.reading() as rows:
        view = access.views.at(rows.connection, rows.record)
        bounds = [score_bound(rows.record, view.pieces.fingerprint, asked) for asked in requests]
        requests = [
            asked.with_min_score(bound) for asked, bound in zip(requests, bounds, strict=True)
        ]
        allowed = _allowed(access, rows, view, requests[0]) if requests else None
        documents = _SharedTexts(rows.documents)
        corrected = [corrections(view, asked) for asked in requests]
        requests = [replace_words(*pair) for pair in zip(requests, corrected, strict=True)]
        synonyms = [view.synonyms_of(asked.query) for asked in requests]
        requests = [_rewritten(*pair, view) for pair in zip(requests, synonyms, strict=True)]
        vectors = query_vectors(view, requests)

        def search(place: int, widen: int = _DOCUMENTS_PER_PIECE) -> list[Hit]:
            wider = _wider(requests[place], widen)
            return _best(access, Search(view, documents, wider, allowed, vectors[place]))

        def with_texts(place: int, best: list[Hit], stored: _Stored) -> SearchResults:
            hits = _results(best, stored, requests[place], view, vectors[place])
            return SearchResults(_marked(hits, bounds[place]), corrected[place], synonyms[place])

        found = _in_threads(search, len(requests), threads)
        stored = _stored(rows, chain.from_iterable(found))
        results = [with_texts(place, best, stored) for place, best in enumerate(found)]
        for place, asked in enumerate(requests):
            widen, best = _DOCUMENTS_PER_PIECE, found[place]
            while not _has_best_pieces(results[place], best, asked, widen):
                widen *= _DOCUMENTS_PER_PIECE
                best = search(place, widen)
                results[place] = with_texts(place, best, _stored(rows, best))
    return results


def _rewritten(
    asked: SearchRequest, synonyms: Mapping[str, tuple[str, ...]], view: View
) -> SearchRequest:
    """Return the request; a word or phrase of its query that no document contains is replaced by a synonym."""
    return replace(asked, query=view.rewritten(str(asked.query))) if synonyms else asked


def _stored(rows: CollectionRows, hits: Iterable[Hit]) -> _Stored:
    shown = {seq for hit in hits for seq in (hit.seq, *hit.similar)}
    return rows.documents.by_seq(sorted(shown))


def _allowed(
    access: CollectionAccess, rows: CollectionRows, view: View, asked: SearchRequest
) -> Ids | None:
    """Return the documents that the filter of a request accepts; None without a filter."""
    if asked.where is None or not asked.filtered:
        return None
    documents: FilteredDocuments = rows.documents
    if view.snapshot is not None and view.snapshot.fields is not None:
        documents = FieldFilter(rows.documents, view.snapshot.fields, view.snapshot.ids)
    try:
        return accepted_documents(access, rows, documents, asked.where)
    except CorruptionError as error:
        if access.views.replaced(view.directory):
            raise StaleStateError from error
        _LOG.warning("%s; filtering by the stored documents", error)
        return accepted_documents(access, rows, rows.documents, asked.where)


def _wider(asked: SearchRequest, times: int) -> SearchRequest:
    """If pieces are requested, multiply k by ``times``: the k best pieces may belong to documents of lower rank."""
    if asked.pieces and asked.k is not None:
        return replace(asked, k=times * asked.k)
    return asked


def _has_best_pieces(
    results: SearchResults, best: list[Hit], asked: SearchRequest, times: int
) -> bool:
    """Tell whether the documents that were read have the best pieces.

    A piece never scores higher than its document. So a piece is among the best if its score is at least the score of
    the last document that was read.
    """
    if not asked.pieces or asked.k is None or asked.fusion == "rrf":
        return True
    if len(best) < times * asked.k or (asked.least_score or -math.inf) > best[-1].score:
        return True
    return len(results) == asked.k and results[-1].score >= best[-1].score


def _best(access: CollectionAccess, search: Search) -> list[Hit]:
    try:
        return search.best()
    except CorruptionError as error:
        if access.views.replaced(search.view.directory):
            raise StaleStateError from error
        if search.asked.mode != "hybrid":
            raise
        _LOG.warning("%s; searching by meaning alone", error)
        return search.without_words().best()


def _results(
    best: list[Hit],
    stored: _Stored,
    asked: SearchRequest,
    view: View,
    vector: F32 | None,
) -> SearchResults:
    results = [
        SearchResult(
            stored[hit.seq].document_id,
            _clipped(hit.score) if asked.mode == "dense" else hit.score,
            stored[hit.seq].text,
            json.loads(stored[hit.seq].metadata),
            None if hit.cosine is None else _clipped(hit.cosine),
            hit.bm25,
            similar=tuple(stored[seq].document_id for seq in hit.similar),
        )
        for hit in best
    ]
    if asked.pieces or (asked.best_piece and view.pieces.chunking.chunk is not None):
        results = with_pieces(results, [hit.seq for hit in best], asked, view, vector)
    if not asked.why:
        return SearchResults(results)
    query = str(asked.query)
    return SearchResults(
        replace(hit, why=explain_hit(view.pieces, query, _shown(hit, view.pieces.chunking)))
        for hit in results
    )


def _marked(hits: SearchResults, bound: float | None) -> Iterable[SearchResult]:
    """Mark each result as weak or not, if the collection is calibrated for the search."""
    return hits if bound is None else (replace(hit, weak=hit.score < bound) for hit in hits)


def _in_threads(work: Callable[[int], _Result], count: int, threads: int) -> list[_Result]:
    """Return work(0), work(1), ...; each thread computes one range of these calls."""
    threads = min(threads, count)
    if threads <= 1:
        return [work(place) for place in range(count)]
    cuts = [count * part // threads for part in range(threads + 1)]

    def part(begin: int, end: int) -> list[_Result]:
        return [work(place) for place in range(begin, end)]

    with ThreadPoolExecutor(threads - 1) as pool:
        others = pool.map(part, cuts[1:-1], cuts[2:])
        return [*part(0, cuts[1]), *chain.from_iterable(others)]


class _SharedTexts:
    """The texts of documents, for several threads that share a connection to the database."""

    def __init__(self, documents: DocumentRepository) -> None:
        self._documents = documents
        self._lock = Lock()

    def texts(self, seqs: Ids) -> list[str]:
        """Return the texts of some documents."""
        with self._lock:
            return self._documents.texts(seqs.tolist())


def _shown(hit: SearchResult, chunking: Chunking) -> str:
    """Return the text that is compared with the query: the hit's text; if it has pieces, its best piece with headings."""
    if hit.piece is None:
        return hit.text
    if chunking.headings and hit.piece.heading:
        return f"{hit.piece.heading}\n\n{hit.piece.text}"
    return hit.piece.text


def _answer_reranked(
    access: CollectionAccess, requests: Sequence[SearchRequest], threads: int
) -> list[SearchResults]:
    """Return the best documents for each request, re-ranked by meaning, words and best passage together."""
    candidates = [
        replace(asked, k=None if asked.k is None else max(asked.k, RERANKED), why=False)
        for asked in requests
    ]
    found = _from_one_state(access, candidates, threads)
    while True:
        view = access.view()
        try:
            return _rerank_all(requests, found, view)
        except CorruptionError as error:
            if access.views.replaced(view.directory):
                continue
            _LOG.warning("%s; re-ranking by meaning alone", error)
            return _rerank_all(requests, found, view, words=False)


def _rerank_all(
    requests: Sequence[SearchRequest],
    found: Sequence[SearchResults],
    view: View,
    words: bool = True,
) -> list[SearchResults]:
    chunking = view.pieces.chunking

    def reranked(asked: SearchRequest, hits: SearchResults) -> SearchResults:
        query = view.rewritten(str(replace_words(asked, hits.corrected).query))
        terms = view.terms(query) if words else QueryTerms(())
        shown = [_shown(hit, chunking) for hit in hits]
        best = rerank_hits(query, terms, hits, shown, view)[: asked.k]
        if asked.why:
            best = [
                replace(hit, why=explain_hit(view.pieces, query, _shown(hit, chunking)))
                for hit in best
            ]
        return hits.with_hits(best)

    return [reranked(*pair) for pair in zip(requests, found, strict=True)]


def similar_to(
    access: CollectionAccess,
    document_id: str | int,
    k: int,
    where: Mapping[str, Any] | None,
) -> SearchResults:
    """Return the documents nearest to one document; see :meth:`gem_index.Collection.similar`."""
    SearchRequest("k", k, where, "dense")  # checks k
    [identifier] = check_ids([document_id])
    with access.reading() as rows:
        seqs = rows.documents.seqs_of([identifier])
        if not seqs:
            raise InputError(
                f"the collection {access.name} has no document {quoted(identifier)}; expected the id of one of its documents"
            )
        [stored] = rows.documents.by_seq(list(seqs.values())).values()
        encoder = access.encoder(rows)
    [vector] = encoder.encode([stored.text])
    if not vector.any():
        raise InputError(
            f"the document {quoted(identifier)} has no words; expected a document with words"
        )
    asked = SearchRequest(vector, k + 1, where, "dense", fingerprint=encoder.fingerprint)
    found = answer(access, asked)
    return SearchResults([hit for hit in found if hit.id != stored.document_id][:k])


def _clipped(cosine: float) -> float:
    return min(1.0, max(-1.0, cosine))
