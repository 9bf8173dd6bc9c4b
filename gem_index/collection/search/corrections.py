"""Correct words of a query if no document contains them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gem_index.collection.request import SearchRequest
from gem_index.collection.state.view import View
from gem_index.errors import CorruptionError
from gem_index.text.tokens import WeightedText, normalized_token, token_spans

__all__ = ["corrections", "replace_words"]


def corrections(view: View, asked: SearchRequest) -> dict[str, str]:
    """Return the words of a query that should be replaced, each with its replacement; see :meth:`View.corrections`."""
    if not asked.correct or not asked.words or isinstance(asked.query, WeightedText):
        return {}
    try:
        return view.corrections(asked.words)
    except CorruptionError:
        return {}  # the search that follows reads the same damaged file, and reports it


def replace_words(asked: SearchRequest, words: Mapping[str, str]) -> SearchRequest:
    """Return the request, with some words of its query replaced."""
    if not words:
        return asked
    query = str(asked.query)
    for begin, end in reversed(token_spans(query)):
        word = words.get(normalized_token(query[begin:end]))
        if word is not None:
            query = query[:begin] + word + query[end:]
    return replace(asked, query=query)
