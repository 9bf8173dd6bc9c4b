"""Trigrams of a text: its runs of three characters, by which two wordings are compared."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import regex

__all__ = ["trigrams"]

_BITS = 21  # bits of a character; the largest is 0x10ffff
_UNSPACED = regex.compile(
    r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}]+"
)


def trigrams(tokens: Iterable[str]) -> npt.NDArray[np.int64]:
    """Return the distinct trigrams of a text's tokens, joined by blanks, with a blank before and after.

    So case, punctuation and the number of blanks do not count. In scripts that put no blanks between words, a character says
    more. Runs in these scripts give single characters and pairs instead, so one typing error in a short text changes few of
    them.

    Parameters
    ----------
    tokens : iterable of str
        From :func:`gem_index.text.tokens.tokenize`.

    Returns
    -------
    int64 array (n,)
        Ascending; each number has the characters of a trigram, 21 bits each. Empty without tokens.
    """
    joined = " ".join(tokens)
    if joined.isascii():
        return np.unique(_runs_of_three(joined))
    pieces = [_codes(run) for run in _UNSPACED.findall(joined)]
    pairs = [(codes[:-1] << _BITS) | codes[1:] for codes in pieces]
    spaced = _runs_of_three(" ".join(_UNSPACED.sub(" ", joined).split()))
    return np.unique(np.concatenate([spaced, *pieces, *pairs]))


def _runs_of_three(joined: str) -> npt.NDArray[np.int64]:
    codes = _codes(f" {joined} " if joined else "")
    return (codes[:-2] << 2 * _BITS) | (codes[1:-1] << _BITS) | codes[2:]


def _codes(text: str) -> npt.NDArray[np.int64]:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.int64)
