"""Explain a hit by pairs of a query word and a text word, and mark the words that word search finds in both."""

from __future__ import annotations

from dataclasses import replace

from gem_index.collection.state.piece_encoder import PieceEncoder
from gem_index.gem.matches import MatchedWord, MatchExplanation, explain_match
from gem_index.text.analyzer import Analyzer

__all__ = ["explain_hit"]


def explain_hit(pieces: PieceEncoder, query: str, text: str) -> MatchExplanation:
    """Return why a query and a text are similar; for each word, also whether word search finds it in the other text."""
    found = explain_match(pieces.encoder, query, text)
    analyzer = pieces.analyzer
    return replace(
        found,
        first_words=_marked(found.first_words, analyzer, text),
        second_words=_marked(found.second_words, analyzer, query),
    )


def _marked(
    words: tuple[MatchedWord, ...], analyzer: Analyzer, other: str
) -> tuple[MatchedWord, ...]:
    held = set(analyzer.words(other))
    return tuple(
        replace(word, same_word=not held.isdisjoint(analyzer.words(word.token))) for word in words
    )
