"""The length of a text in words, or in characters if its script has no blanks between words."""

from __future__ import annotations

from collections.abc import Callable

import regex

__all__ = ["begin_of_last_units", "blank_words", "unit_spans", "units", "units_up_to"]

# a character of Chinese or Japanese, up to four letters of Thai and its neighbours, or a word
_UNIT = regex.compile(
    r"[\p{Han}\p{Hiragana}\p{Katakana}]"
    r"|[\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}]{1,4}"
    r"|[^\s\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}]+"
)
_OF_WORD = 16  # nearly every word is shorter than this, with the blank after it


def units(text: str) -> int:
    """Return how many units a text has: words, or parts of text in scripts without blanks."""
    return blank_words(text) if text.isascii() else sum(1 for _ in _UNIT.finditer(text))


def blank_words(text: str) -> int:
    """Return the number of words of a text that are divided by blanks."""
    return len(text.split())


def units_up_to(most: int, text: str, count: Callable[[str], int]) -> int:
    """Return the number of words of a text by ``count``, or ``most + 1`` if it has more than ``most`` words."""
    begin = text[: _OF_WORD * most]
    found = count(begin)
    if found <= most and len(begin) < len(text):
        found = count(text)
    return min(found, most + 1)


def unit_spans(text: str) -> list[tuple[int, int]]:
    """Return the begin and end of each unit, in characters."""
    return [found.span() for found in _UNIT.finditer(text)]


def begin_of_last_units(text: str, count: int) -> int:
    """Return where the last ``count`` units of a text begin; the length of the text if it has no more units."""
    begins = [found.start() for found in _UNIT.finditer(text)]
    return begins[-count] if len(begins) > count else len(text)
