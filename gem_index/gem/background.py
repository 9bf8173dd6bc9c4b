"""Background statistics: what is common to any text, from word frequency alone (spec section 7)."""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Iterator, Sequence

import numpy as np

__all__ = ["RECIPE", "pseudo_sentences"]

RECIPE = "background/1"
"""Name and version of the recipe below; a change to it changes the fingerprint of every unfitted encoder."""

_SENTENCES = 5000
_SHORTEST, _LONGEST = 6, 19
_ZIPF_SHIFT = 2.7


def pseudo_sentences(words: Sequence[str]) -> Iterator[list[str]]:
    """Draw the 5,000 sentences of 6 to 19 words that the background is the statistics of.

    Parameters
    ----------
    words : sequence of str
        A vocabulary, the most frequent word first. A word is drawn with p(rank) ~ 1 / (rank + 2.7); a draw without an
        alphanumeric character is left out and drawn anew.

    Yields
    ------
    list of str
    """
    ranks = np.arange(1, len(words) + 1)
    cumulative = np.cumsum(1.0 / (ranks + _ZIPF_SHIFT))
    cumulative /= cumulative[-1]
    steps = cumulative.tolist()  # one number at a time is looked for, which a list is faster at
    draws = _uniform()
    for _ in range(_SENTENCES):
        length = _SHORTEST + int(next(draws) * (_LONGEST - _SHORTEST + 1))
        sentence: list[str] = []
        # Bounded, so that a vocabulary of nothing but punctuation ends.
        for u in (next(draws) for _ in range(100 * length)):
            rank = min(bisect_right(steps, u), len(words) - 1)
            word = words[rank]
            if any(map(str.isalnum, word)):
                sentence.append(word)
                if len(sentence) == length:
                    break
        yield sentence


def _uniform() -> Iterator[float]:
    """Yield numbers in [0, 1) from SHA-256 of a counter, the same on every machine and with every library."""
    counter = 0
    while True:
        digest = hashlib.sha256(f"gem-index {RECIPE} {counter}".encode()).digest()
        for begin in range(0, 32, 8):
            yield (int.from_bytes(digest[begin : begin + 8], "big") >> 11) / (1 << 53)
        counter += 1
