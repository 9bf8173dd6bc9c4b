"""Print a note if the word vectors know few of the words of the texts."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

__all__ = ["SampledTexts", "tell_unknown_words"]

_SAMPLED = 300  # texts

Item = TypeVar("Item", str, tuple[str, str])
_FEW = 0.5


class SampledTexts(Generic[Item]):
    """Texts, or ids and texts, that are passed on; the first texts are kept."""

    def __init__(self, items: Iterable[Item]) -> None:
        self._items: Iterable[Item] = items
        self.first: list[str] = []

    def __iter__(self) -> Iterator[Item]:
        for item in self._items:
            if len(self.first) < _SAMPLED:
                self.first.append(str(item if isinstance(item, str) else item[1]))
            yield item


def tell_unknown_words(known: float | None) -> None:
    """Print a note if less than half of the words are known."""
    if known is not None and known < _FEW:
        print(  # noqa: T201
            f"Note: the word vectors know {known:.0%} of the words of a sample; the texts may be in another language or "
            "script, or the vectors keyed otherwise. gem-index vectors catalogue lists vectors of other languages.",
            file=sys.stderr,
        )
