"""Find the piece of each found document that matches the query best, or return all pieces as separate results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gem_index.collection.request import SearchRequest
from gem_index.collection.results import FoundPiece, SearchResult
from gem_index.collection.search.cut_texts import CutText, cut_text
from gem_index.collection.state.view import View
from gem_index.common.arrays import F32
from gem_index.index.fusion import fused
from gem_index.text.chunking import Piece

__all__ = ["with_pieces"]


@dataclass(frozen=True)
class _Scored:
    """A piece with its number (1 for the first) and its own score, on the scale of the mode."""

    number: int
    piece: Piece
    score: float
    cosine: float
    bm25: float


def with_pieces(
    results: list[SearchResult],
    seqs: Sequence[int],
    asked: SearchRequest,
    view: View,
    vector: F32 | None,
) -> list[SearchResult]:
    """Return the results with the best piece of each document; if pieces are requested, return each piece as a result.

    A piece that is a result has its own score. In a hybrid search with ``rrf``, this score is computed as with the fusion
    ``weighted``.

    Parameters
    ----------
    results : list of SearchResult
    seqs : sequence of int
        The ``seq`` of each result's document, in the same order.
    asked : SearchRequest
    view : View
        The state that was searched.
    vector : float32 array (d,), optional
        The query's vector; a search by words has none.
    """
    cut = [cut_text(hit.text, view.pieces) for hit in results]
    if not asked.pieces and all(len(each.pieces) == 1 for each in cut):
        return results
    if vector is None:  # a search by words
        vector = view.encoder.encode([str(asked.query)])[0]
    scored = _score_all([hit.text for hit in results], cut, seqs, asked, view, vector)
    if not asked.pieces:
        least = min((max(each.score for each in pieces) for pieces in scored), default=0.0)
        return [
            replace(hit, piece=_best(hit.text, pieces, least)) if len(pieces) > 1 else hit
            for hit, pieces in zip(results, scored, strict=True)
        ]
    apart = [
        replace(
            hit,
            score=each.score,
            cosine=None if hit.cosine is None else each.cosine,
            bm25=None if hit.bm25 is None else each.bm25,
            text=hit.text[each.piece.start : each.piece.end],
            piece=_found(hit.text, each, 1) if len(pieces) > 1 else None,
        )
        for hit, pieces in zip(results, scored, strict=True)
        for each in pieces
    ]
    apart.sort(key=lambda hit: -hit.score)  # stable: equal scores keep the order of the documents
    least_score = asked.least_score
    return [hit for hit in apart if least_score is None or hit.score >= least_score][: asked.k]


def _score_all(
    texts: Sequence[str],
    cut: Sequence[CutText],
    seqs: Sequence[int],
    asked: SearchRequest,
    view: View,
    vector: F32,
) -> list[list[_Scored]]:
    """Score the pieces of some texts, all at once."""
    parts = [view.pieces.parts_of(text, each.pieces) for text, each in zip(texts, cut, strict=True)]
    cosines = (view.piece_vectors(seqs, parts) @ vector).tolist()
    bm25 = scores = cosines
    if asked.mode != "dense":
        terms = view.terms(asked.words)
        counted = [
            each.counted(of_one, view.pieces.analyzer)
            for each, of_one in zip(cut, parts, strict=True)
        ]
        words = view.word_scores(counted, terms.every)
        bm25 = scores = words(dict.fromkeys(terms.every, 1.0))
        if asked.mode == "hybrid":
            matches = words(view.match_weights(terms))
            scores = [fused(*pair) for pair in zip(cosines, matches, strict=True)]
    values = iter(zip(scores, cosines, bm25, strict=True))
    return [
        [_Scored(number, piece, *next(values)) for number, piece in enumerate(each.pieces, 1)]
        for each in cut
    ]


def _best(text: str, pieces: list[_Scored], least: float) -> FoundPiece:
    best = max(pieces, key=lambda each: (each.score, each.cosine))
    return _found(text, best, sum(each.score >= least for each in pieces))


def _found(text: str, scored: _Scored, hits: int) -> FoundPiece:
    piece = scored.piece
    part = text[piece.start : piece.end]
    return FoundPiece(part, scored.number, piece.start, piece.end, piece.heading, hits, piece.page)
