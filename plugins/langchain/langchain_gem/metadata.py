"""Metadata and filters of documents as JSON values."""

from __future__ import annotations

from datetime import date, time
from typing import Any

__all__ = ["json_value"]

_DEEPEST = 100  # levels; a collection refuses deeper metadata and filters


def json_value(value: Any, depth: int = 0) -> Any:
    """Return a value with its dates and times as ISO 8601 text, also inside mappings and lists; others stay as they are.

    In one form of date the order of the texts is that of the dates, so filters can compare them.
    """
    if isinstance(value, date | time):  # a datetime is a date
        return value.isoformat()
    if depth == _DEEPEST:
        return value
    if isinstance(value, dict):
        return {key: json_value(each, depth + 1) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(each, depth + 1) for each in value]
    return value
