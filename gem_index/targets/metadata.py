"""Which metadata a database can store."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["integers_within"]


def integers_within(value: Any, allowed: range) -> bool:
    """Tell whether all integers in a JSON value are in a range."""
    if isinstance(value, Mapping):
        return all(integers_within(each, allowed) for each in value.values())
    if isinstance(value, list | tuple):
        return all(integers_within(each, allowed) for each in value)
    return not isinstance(value, int) or value in allowed
