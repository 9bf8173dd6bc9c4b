"""Answer a search request: search one state of the collection and return results with texts."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gem_index.collection.access import CollectionAccess
from gem_index.collection.best_pieces import with_pieces
from gem_index.collection.results import SearchResult, SearchResults
from gem_index.collection.searching import Hit, Search, SearchRequest
from gem_index.collection.view import StaleStateError, View
from gem_index.collection.why import explain_hit
from gem_index.documents import check_ids
from gem_index.errors import CorruptionError, InputError
from gem_index.gem.reranking import rerank
from gem_index.quoting import quoted
from gem_index.reading.cutting import Cutting
from gem_index.store.records import StoredDocument

__all__ = ["RERANKED", "answer", "answer_reranked", "neighbours_of"]

_LOG = logging.getLogger(__name__)

_PIECES = 4  # documents that are looked at for each piece that is returned

RERANKED = 100
"""The minimum number of hits that are re-ranked; more if ``k`` is larger."""


def answer(access: CollectionAccess, asked: SearchRequest, why: bool = False) -> SearchResults:
    """Return the best documents for a request; see :meth:`gem_index.Collection.search`."""
    if why and not isinstance(asked.query, str):
        raise InputError("found a vector to explain the hits of; expected a text")
    wider = asked
    if asked.pieces and asked.k is not None:
        wider = replace(
            asked, k=_PIECES * asked.k
        )  # the best pieces need not be those of the best documents
    while True:
        try:
            best, stored, view = _search_once(access, wider)
            break
        except StaleStateError:
            continue  # a newer snapshot is in use: answer from its state
    query = asked.query if isinstance(asked.query, str) else ""
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
    if asked.pieces or view.pieces.cutting.chunk is not None:
        results = with_pieces(results, [hit.seq for hit in best], asked, view)
    if not why:
        return SearchResults(results)
    return SearchResults(
        replace(hit, why=explain_hit(view.encoder, query, _shown(hit, view.pieces.cutting)))
        for hit in results
    )


def _shown(hit: SearchResult, cutting: Cutting) -> str:
    """Return what was compared with the query: the text of a hit, or of its best piece."""
    if hit.piece is None:
        return hit.text
    if cutting.headings and hit.piece.heading:
        return f"{hit.piece.heading}\n\n{hit.piece.text}"
    return hit.piece.text


def answer_reranked(
    access: CollectionAccess, asked: SearchRequest, why: bool = False
) -> SearchResults:
    """Return the best documents for a request, re-ranked by cosine similarity with the query."""
    query = asked.query
    if not isinstance(query, str):
        raise InputError("found a vector to re-rank by; expected a text")
    k = asked.k
    hits = answer(access, replace(asked, k=None if k is None else max(k, RERANKED)))
    with access.reading() as rows:
        encoder, cutting = access.encoder(rows), rows.record.cuts
    texts = [(hit.id, _shown(hit, cutting)) for hit in hits]
    return SearchResults(
        replace(
            hits[best.index],
            score=best.score,
            cosine=best.score,
            why=explain_hit(encoder, query, best.text) if why else None,
        )
        for best in rerank(query, texts, encoder, k)
    )


def neighbours_of(
    access: CollectionAccess,
    document_id: str | int,
    k: int,
    where: Mapping[str, Any] | None,
) -> SearchResults:
    """Return the documents nearest to one of the collection; see :meth:`gem_index.Collection.neighbours`."""
    SearchRequest("k", k, where, "dense", None, "weighted")  # checks k
    [identifier] = check_ids([document_id])
    with access.reading() as rows:
        seqs = rows.documents.seqs_of([identifier])
        if not seqs:
            raise InputError(
                f"the collection {access.name} has no document {quoted(identifier)}; expected an id that it holds"
            )
        [stored] = rows.documents.by_seq(list(seqs.values())).values()
        encoder = access.encoder(rows)
    [vector] = encoder.encode([stored.text])
    if not vector.any():
        raise InputError(
            f"the document {quoted(identifier)} holds no word; expected one with words, which has neighbours"
        )
    asked = SearchRequest(
        vector, k + 1, where, "dense", None, "weighted", fingerprint=encoder.fingerprint
    )
    found = answer(access, asked)
    return SearchResults([hit for hit in found if hit.id != identifier][:k])


def _search_once(
    access: CollectionAccess, asked: SearchRequest
) -> tuple[list[Hit], Mapping[int, StoredDocument], View]:
    """Search one state of the collection."""
    with access.reading() as rows:
        view = access.views.at(rows.connection, rows.record)
        documents = rows.documents
        allowed = None
        if asked.where is not None and asked.filtered:
            allowed = access.filters.matching(
                documents, asked.where, rows.record.directory, rows.record.last_seq
            )
            if not len(allowed):
                documents.check_fields(asked.where)
        search = Search(view, documents, asked, allowed)
        try:
            best = search.best()
        except CorruptionError as error:
            if access.views.replaced(view.directory):
                raise StaleStateError from error
            if asked.mode != "hybrid":
                raise
            _LOG.warning("%s; searching by meaning alone", error)
            best = search.without_words().best()
        shown = [seq for hit in best for seq in (hit.seq, *hit.similar)]
        return best, documents.by_seq(shown), view


def _clipped(cosine: float) -> float:
    return min(1.0, max(-1.0, cosine))
