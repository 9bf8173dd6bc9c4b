"""Look-ups that a collection makes of itself: words and numbers of one document, bare and in sentences around them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from gem_index.index.lexical import terms_of
from gem_index.text import tokenize

__all__ = ["CARRIERS", "Lookup", "make_lookups"]

CARRIERS = (
    "{}",
    "what about {}",
    "please look at {} again",
    "does anybody know what {} means",
    "hello, can you please have a look at number {} again, it is still open and nobody has answered",
)
"""What people write around what they look for, from nothing to a long sentence."""

_LEAST_LETTERS, _LEAST_DIGITS = 4, 2


@dataclass(frozen=True)
class Lookup:
    """A query that one document answers, by its place."""

    query: str
    document: int


def make_lookups(texts: Sequence[str], each: int = 25, seed: int = 1) -> list[Lookup]:
    """Draw words, and numbers, whose stem one text alone holds, each in every carrier.

    Parameters
    ----------
    texts : sequence of str
    each : int
        The largest number of words, and of numbers, that are drawn.
    seed : int
    """
    places: dict[str, int] = {}
    held: Counter[str] = Counter()
    for place, text in enumerate(texts):
        found = set(terms_of(text))
        held.update(found)
        places.update(dict.fromkeys(found, place))
    rare = sorted(term for term, count in held.items() if count == 1)
    numbers = [term for term in rare if term.isdecimal() and len(term) >= _LEAST_DIGITS]
    words = [t for t in rare if t.isascii() and t.isalpha() and len(t) >= _LEAST_LETTERS]
    draw = random.Random(seed)  # noqa: S311 - a sample, no secret
    lookups = []
    for terms in (numbers, words):
        for term in draw.sample(terms, min(each, len(terms))):
            place = places[term]
            word = next(token for token in tokenize(texts[place]) if terms_of(token) == [term])
            lookups += [Lookup(carrier.format(word), place) for carrier in CARRIERS]
    return lookups
