"""Texts to word ids: each distinct word of a batch is looked up once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import TypeVar

import numpy as np
import numpy.typing as npt

__all__ = ["TokenBatch", "blocks", "ranges_by_tokens"]

T = TypeVar("T")


@dataclass(frozen=True)
class TokenBatch:
    """The words of some sentences.

    Attributes
    ----------
    words : list of str
        u distinct words in order of first appearance.
    ids : int32 array (tokens,)
        The sentences' words, one sentence after the other, as indexes into ``words``.
    offsets : int64 array (sentences + 1,)
        Where each sentence begins in ``ids``.
    """

    words: list[str]
    ids: npt.NDArray[np.int32]
    offsets: npt.NDArray[np.int64]

    @classmethod
    def of(cls, sentences: Iterable[Sequence[str]]) -> TokenBatch:
        """Return tokenized sentences as a batch, its words numbered."""
        numbers: dict[str, int] = {}
        ids: list[int] = []
        offsets = [0]
        for tokens in sentences:
            ids.extend(numbers.setdefault(token, len(numbers)) for token in tokens)
            offsets.append(len(ids))
        return cls(list(numbers), np.array(ids, dtype=np.int32), np.array(offsets, dtype=np.int64))

    @property
    def filled(self) -> int:
        """How many sentences have words."""
        return int(np.count_nonzero(np.diff(self.offsets)))


def blocks(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Cut an iterable into lists of at most that size."""
    iterator = iter(items)
    while block := list(islice(iterator, size)):
        yield block


def ranges_by_tokens(offsets: npt.NDArray[np.int64], parts: int) -> list[tuple[int, int]]:
    """Cut sentences into at most that many consecutive ranges (begin, end) of about as many tokens each."""
    sentences = len(offsets) - 1
    cuts = np.searchsorted(offsets, np.linspace(0, offsets[-1], parts + 1)[1:-1])
    edges = [0, *(int(cut) for cut in cuts), sentences]
    return [(a, b) for a, b in pairwise(edges) if a < b]
