"""Answer a search request: search one state of the collection and return results with texts."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gem_index.collection.access import CollectionAccess
from gem_index.collection.results import SearchResult, SearchResults
from gem_index.collection.searching import Hit, Search, SearchRequest
from gem_index.collection.view import StaleStateError
from gem_index.collection.why import explain_hit
from gem_index.documents import check_ids
from gem_index.errors import CorruptionError, InputError
from gem_index.gem.combined import Encoder
from gem_index.gem.reranking import rerank
from gem_index.quoting import quoted
from gem_index.store.records import StoredDocument

__all__ = ["RERANKED", "answer", "answer_reranked", "neighbours_of"]

_LOG = logging.getLogger(__name__)

RERANKED = 100
"""The minimum number of hits that are re-ranked; more if ``k`` is larger."""


def answer(access: CollectionAccess, asked: SearchRequest, why: bool = False) -> SearchResults:
    """Return the best documents for a request; see :meth:`gem_index.Collection.search`."""
    if why and not isinstance(asked.query, str):
        raise InputError("found a vector to explain the hits of; expected a text")
    while True:
        try:
            best, stored, encoder = _search_once(access, asked)
            break
        except StaleStateError:
            continue  # a newer snapshot is in use: answer from its state
    return SearchResults(
        SearchResult(
            stored[hit.seq].document_id,
            _clipped(hit.score) if asked.mode == "dense" else hit.score,
            stored[hit.seq].text,
            json.loads(stored[hit.seq].metadata),
            None if hit.cosine is None else _clipped(hit.cosine),
            hit.bm25,
            explain_hit(encoder, str(asked.query), stored[hit.seq].text) if why else None,
            tuple(stored[seq].document_id for seq in hit.similar),
        )
        for hit in best
    )


def answer_reranked(
    access: CollectionAccess, asked: SearchRequest, why: bool = False
) -> SearchResults:
    """Return the best documents for a request, re-ranked by cosine similarity with the query."""
    query = asked.query
    if not isinstance(query, str):
        raise InputError("found a vector to re-rank by; expected a text")
    k = asked.k
    hits = answer(access, replace(asked, k=None if k is None else max(k, RERANKED)))
    encoder = access.encoder()
    return SearchResults(
        replace(
            hits[best.index],
            score=best.score,
            cosine=best.score,
            why=explain_hit(encoder, query, best.text) if why else None,
        )
        for best in rerank(query, [(hit.id, hit.text) for hit in hits], encoder, k)
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
) -> tuple[list[Hit], Mapping[int, StoredDocument], Encoder]:
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
        return best, documents.by_seq(shown), view.encoder


def _clipped(cosine: float) -> float:
    return min(1.0, max(-1.0, cosine))
