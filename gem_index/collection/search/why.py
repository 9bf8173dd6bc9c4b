"""Explain a hit: the match of its words with the query's, marked where word search takes two words for the same."""

from __future__ import annotations

from dataclasses import replace

from gem_index.collection.state.piece_encoder import PieceEncoder
from gem_index.gem.matches import MatchedWord, MatchExplanation, explain_match
from gem_index.text.analyser import Analyser

__all__ = ["explain_hit"]


def explain_hit(pieces: PieceEncoder, query: str, text: str) -> MatchExplanation:
    """Return why a query and a text match; each word says whether word search finds it in the other text."""
    found = explain_match(pieces.encoder, query, text)
    analyser = pieces.analyser
    return replace(
        found,
        first_words=_marked(found.first_words, analyser, text),
        second_words=_marked(found.second_words, analyser, query),
    )


def _marked(
    words: tuple[MatchedWord, ...], analyser: Analyser, other: str
) -> tuple[MatchedWord, ...]:
    held = set(analyser.words(other))
    return tuple(
        replace(word, same_word=not held.isdisjoint(analyser.words(word.token))) for word in words
    )
