"""Explain a hit: the match of its words with the query's, marked where word search takes two words for the same."""

from __future__ import annotations

from dataclasses import replace

from gem_index.gem.combined import Encoder
from gem_index.gem.matches import MatchedWord, MatchExplanation, explain_match
from gem_index.index.terms import terms_of

__all__ = ["explain_hit"]


def explain_hit(encoder: Encoder, query: str, text: str) -> MatchExplanation:
    """Return why a query and a text match; each word says whether word search finds it in the other text."""
    found = explain_match(encoder, query, text)
    return replace(
        found,
        first_words=_marked(found.first_words, set(terms_of(text))),
        second_words=_marked(found.second_words, set(terms_of(query))),
    )


def _marked(words: tuple[MatchedWord, ...], terms: set[str]) -> tuple[MatchedWord, ...]:
    return tuple(
        replace(word, same_word=not terms.isdisjoint(terms_of(word.token))) for word in words
    )
