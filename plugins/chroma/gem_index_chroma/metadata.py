"""Check which metadata Chroma can store unchanged."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

__all__ = ["changes", "is_supported"]

_RESERVED = ("$", "#", "chroma:")
_INTEGERS = range(-(2**63), 2**63)


def is_supported(name: str, value: Any) -> bool:
    """Tell whether Chroma stores a field of a document's metadata without a change.

    It does for strings, whole numbers of 64 bits, floats, booleans, and lists of one of these types that are not empty.
    """
    if not name or name.startswith(_RESERVED):
        return False
    if isinstance(value, list):
        return (
            bool(value) and len({type(each) for each in value}) == 1 and all(map(_is_scalar, value))
        )
    return _is_scalar(value)


def changes(old: Mapping[str, Any] | None, new: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the metadata for an upsert: Chroma keeps fields that are not sent, and removes fields with None."""
    return {**dict.fromkeys(old or ()), **new} or None


def _is_scalar(value: Any) -> bool:
    if isinstance(value, bool | str):
        return True
    if isinstance(value, int):
        return value in _INTEGERS
    return isinstance(value, float) and math.isfinite(value)
