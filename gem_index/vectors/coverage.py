"""The coverage of a corpus by a source of word vectors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from gem_index.errors import InputError
from gem_index.text.tokens import tokenize
from gem_index.vectors.base import VectorSource

__all__ = ["Coverage", "known_share", "measure_coverage", "word_counts"]

_BLOCK = 20_000
_BINS = 10
_UNKNOWN_WORDS = 20


@dataclass(frozen=True)
class Coverage:
    """The coverage of a corpus by a source.

    Attributes
    ----------
    tokens, types : int
        Number of words, and of distinct words.
    known_tokens, known_types : float
        The share of them that the source has or composes, 0 to 1.
    unknown_words : list of (str, int)
        The most frequent unknown words, with their counts.
    norms : list of (float, int)
        Histogram of the known words' vector lengths: the upper edge of each bin and the number of words in it. The first
        bin begins at 0.
    """

    tokens: int
    types: int
    known_tokens: float
    known_types: float
    unknown_words: list[tuple[str, int]]
    norms: list[tuple[float, int]]


def word_counts(texts: Iterable[str]) -> Counter[str]:
    """Return the count of each word in texts."""
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(tokenize(text))
    if not counts:
        raise InputError("the corpus holds no word; expected at least one")
    return counts


def known_share(sources: Sequence[VectorSource], texts: Iterable[str]) -> float:
    """Return the share of the words of some texts that one of the sources holds or composes; 1 for texts without words."""
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(tokenize(text))
    if not counts:
        return 1.0
    words = list(counts)
    unknown = np.all([source.lookup(words)[1] for source in sources], axis=0)
    times = np.fromiter(counts.values(), dtype=np.int64)
    return float(times[~unknown].sum() / times.sum())


def measure_coverage(source: VectorSource, texts: Iterable[str]) -> Coverage:
    """Measure the coverage of a corpus by a source; the corpus is read once.

    Raises
    ------
    InputError
        If the corpus holds no word.
    """
    counts = word_counts(texts)
    words = list(counts)
    unknown = np.empty(len(words), dtype=bool)
    norms = np.empty(len(words))
    for begin in range(0, len(words), _BLOCK):
        part = slice(begin, begin + _BLOCK)
        rows, unknown[part] = source.lookup(words[part])
        norms[part] = np.linalg.norm(rows.astype(np.float64), axis=1)
    times = np.fromiter(counts.values(), dtype=np.int64)
    missing = Counter({words[i]: int(times[i]) for i in np.flatnonzero(unknown).tolist()})
    known = norms[~unknown]
    held, edges = np.histogram(known, _BINS, (0.0, float(known.max(initial=0.0)) or 1.0))
    return Coverage(
        tokens=int(times.sum()),
        types=len(words),
        known_tokens=float(times[~unknown].sum() / times.sum()),
        known_types=float((~unknown).mean()),
        unknown_words=missing.most_common(_UNKNOWN_WORDS),
        norms=[(float(edge), int(count)) for edge, count in zip(edges[1:], held, strict=True)],
    )
