"""Vectors of unknown runs of characters, in scripts without blanks: the mean of the known words inside a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from gem_index.text.analyzer import is_unspaced
from gem_index.vectors.base import FloatArray

__all__ = ["RUNS", "known_words", "mostly_runs", "vectors_of_runs"]

RUNS = ("word", "split")
"""The ways to look up an unknown run of characters: like any word, or by the known words in the run."""

_LONGEST = 8  # characters; longer words are not searched inside a run
_SHARE = (
    # share of a table's words; if more words are in scripts without blanks, `split` is the default
    0.2
)
_SIGNS_AT_ONCE = 1 << 16  # characters that are divided at once

Find = Callable[[Sequence[str]], npt.NDArray[np.int64]]
"""Returns the row of each word, -1 for an unknown word."""


def mostly_runs(words: Sequence[str]) -> bool:
    """Tell whether word vectors are for a script without blanks, by their most frequent words."""
    return sum(map(is_unspaced, words)) > _SHARE * len(words)


def known_words(text: str, find: Find) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Find known words in runs: from left to right, the longest known word at each position; skip unknown parts.

    Parameters
    ----------
    text : str
        Runs, with line breaks between them; no word contains a line break.
    find : callable

    Returns
    -------
    tuple of int64 array (n,)
        For each word, its position in the text, and its row.
    """
    places: list[int] = []
    found: list[int] = []
    begin = 0  # the first position at which the next word may begin
    while begin < len(text):
        block = text[begin : begin + _SIGNS_AT_ONCE + _LONGEST]
        rows = find(
            [block[at : at + n] for at in range(len(block)) for n in range(1, _LONGEST + 1)]
        )
        rows = rows.reshape(len(block), _LONGEST)
        skipped = (rows >= 0)[:, ::-1].argmax(
            axis=1
        )  # for each position, the number of longer parts that were tried and are unknown
        row_of_longest = rows[np.arange(len(block)), _LONGEST - 1 - skipped].tolist()
        lengths = (_LONGEST - skipped).tolist()
        last = begin + len(block) == len(text)
        at = 0
        while at < len(block) and (last or at < _SIGNS_AT_ONCE):
            row = row_of_longest[at]
            if row < 0:
                at += 1
                continue
            places.append(begin + at)
            found.append(row)
            at += lengths[at]
        begin += at
    return np.array(places, dtype=np.int64), np.array(found, dtype=np.int64)


def vectors_of_runs(
    words: Sequence[str], find: Find, take: Callable[[npt.NDArray[np.int64]], FloatArray]
) -> tuple[npt.NDArray[np.int64], FloatArray]:
    """Return the positions of the n runs that have known words, and the mean vectors (n, d) of these words."""
    from gem_index.kernels.rows import sum_rows

    runs = [place for place, word in enumerate(words) if is_unspaced(word)]
    text = "\n".join(words[place] for place in runs)
    places, rows = known_words(text, find)
    ends = np.cumsum([len(words[place]) + 1 for place in runs])
    counts = np.bincount(np.searchsorted(ends, places, "right"), minlength=len(runs))
    distinct, inside = np.unique(rows, return_inverse=True)
    table = take(distinct)
    sums = np.zeros((len(runs), table.shape[1]), dtype=np.float32)
    sum_rows(table, inside.astype(np.int64), counts.astype(np.int64), sums)
    held = counts > 0
    with np.errstate(over="ignore", invalid="ignore"):
        means: FloatArray = np.nan_to_num(sums[held] / counts[held, None].astype(np.float32))
    return np.array(runs, dtype=np.int64)[held], means
