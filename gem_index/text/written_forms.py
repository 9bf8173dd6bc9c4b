"""Written forms of names: "é" is one character or two (Unicode's NFC and NFD), and names of either form are the same.

Ids and file names are stored as they are given, and found in either form, because macOS decomposes file names while
keyboards write composed letters.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from typing import TypeVar

__all__ = ["composed", "found_in_any_form", "written_forms"]

_Value = TypeVar("_Value")


def composed(name: str) -> str:
    """Return a name in the form in which names are compared, NFC."""
    return unicodedata.normalize("NFC", name)


def written_forms(name: str) -> tuple[str, ...]:
    """Return the distinct forms of a name: as it is given, composed, decomposed."""
    if name.isascii():
        return (name,)
    return tuple(dict.fromkeys((name, composed(name), unicodedata.normalize("NFD", name))))


def found_in_any_form(names: Iterable[str], values: Mapping[str, _Value]) -> dict[str, _Value]:
    """Return the value of each name that exists. If several forms exist, the identical one comes first."""
    forms = {composed(name): value for name, value in values.items()}
    found = {}
    for name in names:
        value = values.get(name, forms.get(composed(name)))
        if value is not None:
            found[name] = value
    return found
