"""Contrasts of short texts: a negation, a number, opposites or the order of the words, which vectors cannot tell apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from types import MappingProxyType
from typing import NamedTuple

import regex

from gem_index.text.analyzer import is_unspaced
from gem_index.text.opposites import is_direction, opposite_signs

__all__ = ["SHORT", "TextFacts", "contrast_of", "text_facts"]

SHORT = 100
"""Characters of a short text. In a longer one, a number or a negation seldom changes the subject of the whole."""

# Words of all languages in one list: it is read for a difference of two similar texts, which are in one language.
# A word that means something else in another language (Italian "mai", German "Mai") is left out.
_NEGATIONS = """
    not no never without cannot neither nor none nothing nobody cant dont doesnt didnt wont isnt unable
    nicht nichts kein keine keinen keinem keiner keines nie niemals ohne weder
    non pas jamais sans aucun aucune nunca jamás sin ningún ninguna senza nessun nessuna não sem
    niet geen nooit zonder inte ikke aldrig aldri utan uten uden bez не нет без никогда değil
    لا لم لن ليس بدون
"""
_NEGATED = frozenset(_NEGATIONS.split())
_CONTRACTED = regex.compile(r"n['\u2019]t\b")  # don't
_NUMBER = regex.compile(r"[\p{Latin}\d]*\d[\p{Latin}\d]*")
_UNSPACED = regex.compile("[不没沒無无未別别]|ない|ません")  # in scripts without blanks


class TextFacts(NamedTuple):
    """The facts of a text by which contrasts are found. Long texts have no facts, so two long texts have no contrast.

    Attributes
    ----------
    negated : bool
        Whether the text has a negation.
    numbers : tuple of str
        The tokens with digits, sorted; in scripts without blanks, the numbers with the Latin letters beside them.
    words, order : int
        Hashes of the sorted tokens, and of the tokens as written; 0 for a long text.
    signs : mapping of str to int
        The opposites of the text: see :func:`~gem_index.text.opposites.opposite_signs`.
    """

    negated: bool = False
    numbers: tuple[str, ...] = ()
    words: int = 0
    order: int = 0
    signs: Mapping[str, int] = MappingProxyType({})


def text_facts(text: str, tokens: Sequence[str]) -> TextFacts:
    """Return the facts of a text and its tokens."""
    if len(text) > SHORT:
        return TextFacts()
    negated = not _NEGATED.isdisjoint(tokens)
    negated = negated or bool(_CONTRACTED.search(text.lower()) or _UNSPACED.search(text))
    numbers = tuple(sorted(each for token in tokens for each in _numbers_in(token)))
    return TextFacts(negated, numbers, _hash(sorted(tokens)), _hash(tokens), opposite_signs(tokens))


def _numbers_in(token: str) -> list[str]:
    """Return a token if it has a digit; in scripts without blanks, where a token may be a sentence, only its numbers."""
    if not any(map(str.isdigit, token)):
        return []
    return _NUMBER.findall(token) if is_unspaced(token) else [token]


def contrast_of(one: TextFacts, other: TextFacts) -> str | None:
    """Return ``number``, ``negation``, ``opposite`` or ``order``: the first by which two texts differ, else None."""
    if one.numbers != other.numbers:
        return "number"
    if one.negated != other.negated:
        return "negation"
    opposed = [name for name, sign in one.signs.items() if other.signs.get(name, sign) != sign]
    turned = one.words == other.words and one.order != other.order
    if turned or any(map(is_direction, opposed)):
        return "order"
    return "opposite" if opposed else None


def _hash(tokens: Sequence[str]) -> int:
    digest = blake2b(" ".join(tokens).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)
