"""Look-up queries generated from a collection: words and numbers of one document, alone and inside sentences."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from gem_index.text.analyzer import ENGLISH
from gem_index.text.tokens import tokenize

__all__ = ["CARRIERS", "Lookup", "make_lookups"]

CARRIERS = (
    "{}",
    "what about {}",
    "please look at {} again",
    "does anybody know what {} means",
    "hello, can you please have a look at number {} again, it is still open and nobody has answered",
)
"""Texts that people write around a search term, from nothing to a long sentence."""

_LEAST_LETTERS, _LEAST_DIGITS = 4, 2


@dataclass(frozen=True)
class Lookup:
    """A query, and the position of the one document that answers it."""

    query: str
    document: int


def make_lookups(texts: Sequence[str], each: int = 25, seed: int = 1) -> list[Lookup]:
    """Draw words and numbers whose stem occurs in only one text, and put each into every carrier.

    Parameters
    ----------
    texts : sequence of str
    each : int
        Maximum number of words, and of numbers, to draw.
    seed : int
    """
    places: dict[str, int] = {}
    held: Counter[str] = Counter()
    for place, text in enumerate(texts):
        found = set(ENGLISH.terms(text))
        held.update(found)
        places.update(dict.fromkeys(found, place))
    rare = sorted(term for term, count in held.items() if count == 1)
    numbers = [term for term in rare if term.isdecimal() and len(term) >= _LEAST_DIGITS]
    words = [t for t in rare if t.isascii() and t.isalpha() and len(t) >= _LEAST_LETTERS]
    draw = random.Random(seed)  # noqa: S311 - a sample, not a secret
    lookups = []
    for terms in (numbers, words):
        for term in draw.sample(terms, min(each, len(terms))):
            place = places[term]
            word = next(token for token in tokenize(texts[place]) if term in ENGLISH.terms(token))
            lookups += [Lookup(carrier.format(word), place) for carrier in CARRIERS]
    return lookups
