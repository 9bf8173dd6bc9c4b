"""Trigrams of a text: its runs of three characters, by which two wordings are compared."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

__all__ = ["trigrams"]

_BITS = 21  # of a character: the largest is 0x10ffff


def trigrams(tokens: Iterable[str]) -> npt.NDArray[np.int64]:
    """Return the distinct trigrams of a text's tokens, joined by blanks, with a blank before and after.

    So case, punctuation and the number of blanks do not count.

    Parameters
    ----------
    tokens : iterable of str
        From :func:`gem_index.text.tokens.tokenize`.

    Returns
    -------
    int64 array (n,)
        Ascending; each number has the three characters, 21 bits each. Empty without tokens.
    """
    joined = " ".join(tokens)
    written = f" {joined} " if joined else ""
    codes = np.frombuffer(written.encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.int64)
    return np.unique((codes[:-2] << 2 * _BITS) | (codes[1:-1] << _BITS) | codes[2:])
