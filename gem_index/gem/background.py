"""Background statistics: directions common to any text, from word frequencies alone (docs/algorithm.md, section 7)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from functools import lru_cache
from importlib.resources import files
from itertools import count, islice

import numpy as np
import numpy.typing as npt

from gem_index.files.npy import read_arrays
from gem_index.gem.batches import TokenBatch
from gem_index.gem.components import Components, CorpusStatistics
from gem_index.gem.summaries import summarise_batch
from gem_index.text.tokens import frequent_english
from gem_index.vectors.base import VectorSource

__all__ = [
    "RECIPE",
    "SHIPPED",
    "background_components",
    "background_statistics",
    "pseudo_sentences",
]

RECIPE = "background/1"
"""Name and version of the recipe; changing the recipe changes the fingerprint of every unfitted encoder."""

_SENTENCES = 5000
_SHORTEST, _LONGEST = 6, 19
_ZIPF_SHIFT = 2.7
_DIGESTS = 4096  # digests per block; each gives four numbers
_KEPT = 8  # statistics that a process caches

SHIPPED = files("gem_index") / "data" / "background.npz"
"""The components of the bundled vectors: ``FINGERPRINT POWER directions`` and ``FINGERPRINT POWER singular_values``.

Computing them would take a quarter of the time of a command that compares two texts. ``tests/unit/test_background.py``
writes the file.
"""

_known: dict[tuple[str, float], CorpusStatistics] = {}


def background_components(vectors: VectorSource, power: float, count: int) -> Components:
    """Return at most ``count`` principal directions of the pseudo-sentences."""
    parts = "directions", "singular_values"
    names = [f"{vectors.fingerprint} {power:g} {part}" for part in parts]
    with SHIPPED.open("rb") as file:
        shipped = read_arrays(file, *names)
    if shipped:
        directions, sigma = map(shipped.__getitem__, names)
        if count <= len(sigma):
            return Components(directions[:count], sigma[:count], 0, RECIPE)
    found = background_statistics(vectors, power).components(count)
    return Components(found.directions, found.singular_values, 0, RECIPE)


def background_statistics(vectors: VectorSource, power: float) -> CorpusStatistics:
    """Return the statistics of the pseudo-sentences, computed once per process and fingerprint of the vectors."""
    key = vectors.fingerprint, power
    found = _known.get(key)
    if found is None:
        words = vectors.frequent_words()
        batch = TokenBatch.of_tokens(pseudo_sentences(words or frequent_english()))
        found = summarise_batch(vectors, batch, power)
        for oldest in list(_known)[: max(0, len(_known) + 1 - _KEPT)]:
            _known.pop(oldest, None)
        _known[key] = found
    return found


def pseudo_sentences(words: Sequence[str]) -> Iterator[list[str]]:
    """Draw the 5,000 pseudo-sentences of 6 to 19 words from which the background statistics are computed.

    Parameters
    ----------
    words : sequence of str
        A vocabulary, the most frequent word first. A word is drawn with p(rank) ~ 1 / (rank + 2.7); a draw without an
        alphanumeric character is left out and drawn again.

    Yields
    ------
    list of str
    """
    draws = _drawn(words)
    for _ in range(_SENTENCES):
        u, _word = next(draws)
        length = _SHORTEST + int(u * (_LONGEST - _SHORTEST + 1))
        # Bounded, so that the loop ends even if the vocabulary has only punctuation.
        found = (word for _, word in islice(draws, 100 * length) if word)
        yield list(islice(found, length))


def _drawn(words: Sequence[str]) -> Iterator[tuple[float, str]]:
    """Yield numbers in [0, 1) and the word that each number draws; a word without alphanumeric characters becomes empty."""
    cumulative = np.cumsum(1.0 / (np.arange(1, len(words) + 1) + _ZIPF_SHIFT))
    cumulative /= cumulative[-1]
    for block in count():
        uniform = _uniform(block)
        ranks = np.minimum(np.searchsorted(cumulative, uniform, side="right"), len(words) - 1)
        distinct, places = np.unique(ranks, return_inverse=True)
        texts = [words[rank] for rank in distinct.tolist()]
        usable = [text if any(map(str.isalnum, text)) else "" for text in texts]
        yield from zip(uniform.tolist(), map(usable.__getitem__, places.tolist()), strict=True)


@lru_cache(maxsize=4)
def _uniform(block: int) -> npt.NDArray[np.float64]:
    """Return a block of numbers in [0, 1) from SHA-256 of a counter, the same on every machine and with every library."""
    digests = (
        hashlib.sha256(f"gem-index {RECIPE} {counter}".encode()).digest()
        for counter in range(block * _DIGESTS, (block + 1) * _DIGESTS)
    )
    return (np.frombuffer(b"".join(digests), dtype=">u8") >> 11) / (1 << 53)
