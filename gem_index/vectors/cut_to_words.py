"""Reduce a large source of word vectors to the words that a corpus needs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from gem_index.errors import ConfigError, InputError
from gem_index.vectors.base import VectorSource
from gem_index.vectors.coverage import word_counts
from gem_index.vectors.formats.base import VectorChunk, VectorFile

__all__ = ["cut_to_words"]

_BLOCK = 2048


def cut_to_words(
    source: VectorSource, origin: str, texts: Iterable[str], frequent: int
) -> VectorFile:
    """Return the vectors of a corpus' words and of the source's most frequent words, as a file to import.

    Parameters
    ----------
    source : VectorSource
        Words that it does not know are omitted; words that it composes get the composed vectors.
    origin : str
        The name of the source.
    texts : iterable of str
        The corpus, read once.
    frequent : int
        Number of the source's most frequent words to keep in addition, if it has a frequency order.

    Raises
    ------
    InputError
        If the source knows no word of the corpus.
    """
    if frequent < 0:
        raise ConfigError(f"found {frequent} frequent words to keep; expected 0 or more")
    ordered = source.frequent_words() or ()
    most_frequent = list(ordered[:frequent])
    corpus = [word for word, _ in word_counts(texts).most_common()]
    # The most frequent words first, as in the source: the background components draw words by their rank.
    wanted = list(dict.fromkeys([*most_frequent, *corpus]))
    kept = []
    for begin in range(0, len(wanted), _BLOCK):
        part = wanted[begin : begin + _BLOCK]
        _, unknown = source.lookup(part)
        kept += [word for word, absent in zip(part, unknown, strict=True) if not absent]
    if not kept:
        raise InputError(f"{origin} knows no word of the corpus; expected a source of its language")

    def chunks() -> Iterator[VectorChunk]:
        for begin in range(0, len(kept), _BLOCK):
            part = kept[begin : begin + _BLOCK]
            yield part, source.lookup(part)[0]

    return VectorFile(
        origin, "cut", source.dimension, np.dtype(np.float32), chunks, words=len(kept)
    )
