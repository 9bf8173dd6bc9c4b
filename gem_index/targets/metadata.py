"""The metadata that a push passes to a target, and checks whether a database can store it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, overload

from gem_index.common.forking import cached_property

__all__ = ["JsonObjects", "integers_are_short", "integers_within"]

_LONG = re.compile(r"\d{19}")  # an integer of 18 digits has less than 64 bits


class JsonObjects(Sequence[Mapping[str, Any]]):
    """Objects stored as JSON texts. They are parsed on first use, because most targets store the texts.

    Parameters
    ----------
    texts : sequence of str
        An object each.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = list(texts)

    @cached_property
    def _parsed(self) -> list[Mapping[str, Any]]:
        return list(map(json.loads, self.texts))

    def __len__(self) -> int:
        return len(self.texts)

    @overload
    def __getitem__(self, place: int) -> Mapping[str, Any]: ...
    @overload
    def __getitem__(self, place: slice) -> JsonObjects: ...
    def __getitem__(self, place: int | slice) -> Mapping[str, Any] | JsonObjects:
        return JsonObjects(self.texts[place]) if isinstance(place, slice) else self._parsed[place]


def integers_within(value: Any, allowed: range) -> bool:
    """Tell whether all integers in a JSON value are in a range."""
    if isinstance(value, Mapping):
        return all(integers_within(each, allowed) for each in value.values())
    if isinstance(value, list | tuple):
        return all(integers_within(each, allowed) for each in value)
    return not isinstance(value, int) or value in allowed


def integers_are_short(texts: Iterable[str]) -> bool:
    """Tell whether all integers in JSON texts have less than 64 bits for certain: nothing has 19 digits."""
    return _LONG.search("\n".join(texts)) is None
