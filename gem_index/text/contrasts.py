"""Contrasts of short texts: a negation, a number or the order of the words, which vectors cannot tell apart."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import NamedTuple

import regex

__all__ = ["SHORT", "TextFacts", "contrast_of", "text_facts"]

SHORT = 100
"""Characters of a short text. In a longer one, a number or a negation seldom changes the subject of the whole."""

# Words of all languages in one list: it is read for a difference of two similar texts, which are in one language.
# A word that means something else in another language (Italian "mai", German "Mai") is left out.
_NEGATIONS = """
    not no never without cannot neither nor none nothing nobody cant dont doesnt didnt wont isnt unable off disable disabled
    nicht nichts kein keine keinen keinem keiner keines nie niemals ohne weder
    non pas jamais sans aucun aucune nunca jamás sin ningún ninguna senza nessun nessuna não sem
    niet geen nooit zonder inte ikke aldrig aldri utan uten uden bez не нет без никогда değil
    لا لم لن ليس بدون
"""
_NEGATED = frozenset(_NEGATIONS.split())
_CONTRACTED = regex.compile(r"n['\u2019]t\b")  # don't
_UNSPACED = regex.compile("[不没沒無无未別别]|ない|ません")  # in scripts without blanks


class TextFacts(NamedTuple):
    """What is compared of a text; a long text has no facts, so it is in contrast to no other long text.

    Attributes
    ----------
    negated : bool
        Whether the text has a negation.
    numbers : tuple of str
        Its tokens with digits, sorted.
    words, order : int
        Hashes of its tokens, sorted and as written; 0 for a long text.
    """

    negated: bool = False
    numbers: tuple[str, ...] = ()
    words: int = 0
    order: int = 0


def text_facts(text: str, tokens: Sequence[str]) -> TextFacts:
    """Return the facts of a text and its tokens."""
    if len(text) > SHORT:
        return TextFacts()
    negated = not _NEGATED.isdisjoint(tokens)
    negated = negated or bool(_CONTRACTED.search(text.lower()) or _UNSPACED.search(text))
    numbers = tuple(sorted(token for token in tokens if any(map(str.isdigit, token))))
    return TextFacts(negated, numbers, _hash(sorted(tokens)), _hash(tokens))


def contrast_of(one: TextFacts, other: TextFacts) -> str | None:
    """Return ``number``, ``negation`` or ``order`` if two texts differ by it (the first that applies), else None."""
    if one.numbers != other.numbers:
        return "number"
    if one.negated != other.negated:
        return "negation"
    return "order" if one.words == other.words and one.order != other.order else None


def _hash(tokens: Sequence[str]) -> int:
    digest = blake2b(" ".join(tokens).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)
