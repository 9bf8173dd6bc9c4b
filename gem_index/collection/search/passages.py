"""Re-rank the hits of a search by their meaning, their words and their best passage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gem_index.collection.results import FoundPassage, SearchResult
from gem_index.collection.state.view import View
from gem_index.gem.reranking import cosines
from gem_index.index.counted_texts import CountedTexts
from gem_index.index.fusion import fused
from gem_index.index.terms import QueryTerms
from gem_index.text.tokens import token_spans

__all__ = ["PASSAGE_SHARE", "passages_of", "rerank_hits"]

_WORDS = 20  # words of a passage
_MOST = 100  # passages of a text; if there would be more, the passages get longer
PASSAGE_SHARE = 0.3
"""The weight of the best passage's cosine; the weight of the whole text's cosine is 0.7 (docs/evaluation.md)."""


def passages_of(text: str) -> list[tuple[int, int]]:
    """Return where each passage begins and ends; passages overlap by half, and a text of at most 20 words has none."""
    spans = token_spans(text)
    if len(spans) <= _WORDS:
        return []
    words = max(_WORDS, -(-2 * len(spans) // _MOST))
    step = words // 2
    begins = range(0, len(spans) - words + step, step)
    return [(spans[b][0], spans[min(b + words, len(spans)) - 1][1]) for b in begins]


@dataclass(frozen=True)
class _Passages:
    """The passages of a hit, and the text from which they come: the document's text, or the text of its best piece."""

    text: str
    start: int
    places: list[tuple[int, int]]

    @classmethod
    def of(cls, hit: SearchResult) -> _Passages:
        text, start = (hit.text, 0) if hit.piece is None else (hit.piece.text, hit.piece.start)
        return cls(text, start, passages_of(text))

    @property
    def texts(self) -> list[str]:
        return [self.text[begin:end] for begin, end in self.places]

    def found(self, number: int) -> FoundPassage:
        begin, end = self.places[number]
        return FoundPassage(self.text[begin:end], self.start + begin, self.start + end)


def rerank_hits(
    query: str,
    terms: QueryTerms,
    hits: Sequence[SearchResult],
    shown: Sequence[str],
    view: View,
) -> list[SearchResult]:
    """Order hits by (c + 2.25 match) / 3.25, best first; c is 0.7 times the cosine plus 0.3 times the best passage's cosine.

    Parameters
    ----------
    query : str
    terms : QueryTerms
        The terms of the query that count for the match.
    hits : sequence of SearchResult
        Equal scores keep their order.
    shown : sequence of str
        For each hit, the text that is compared with the query: the hit's text; if it has pieces, its best piece with
        headings.
    view : View
        The state of the collection; its encoder and word statistics are used.
    """
    passages = [_Passages.of(hit) for hit in hits]
    cut = [text for of_one in passages for text in of_one.texts]
    vectors = view.encoder.encode([query, *shown, *cut])
    near = cosines(vectors[0], vectors[1:])
    matches = [0.0] * len(shown)
    if terms.own:
        counted = CountedTexts(view.pieces.analyzer, shown)
        matches = view.word_scores([counted], terms.every)(view.match_weights(terms))
    scored = []
    begin = len(shown)
    for place, (hit, match, of_one) in enumerate(zip(hits, matches, passages, strict=True)):
        cosine = best = float(near[place])
        passage = None
        if of_one.places:
            own = near[begin : begin + len(of_one.places)]
            begin += len(own)
            best = float(own.max())
            passage = of_one.found(int(np.argmax(own)))
        score = fused((1 - PASSAGE_SHARE) * cosine + PASSAGE_SHARE * best, match)
        scored.append(replace(hit, score=score, cosine=cosine, passage=passage))
    return sorted(scored, key=lambda hit: -hit.score)
