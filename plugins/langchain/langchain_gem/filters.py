"""Translate LangChain's metadata filters to those of a gem-index collection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gem_index.errors import FilterError

__all__ = ["as_where"]

_DEEPEST = 50
"""The nesting depth that a collection accepts; it refuses deeper filters itself."""


def as_where(filter: Any, depth: int = 0) -> Any:
    """Translate ``$eq``, ``$ne`` and ``$nin``; other operators are passed on, and the collection checks them.

    As in MongoDB, ``$ne`` and ``$nin`` accept all documents that ``$eq`` and ``$in`` refuse, also those without the field.
    ``{"$eq": None}`` accepts documents without the field or with null, ``{"$ne": None}`` all others.

    Parameters
    ----------
    filter : mapping, optional
        A filter such as ``{"lang": {"$ne": "en"}, "year": {"$gte": 2020}}``, combined by ``$and``, ``$or`` and ``$not``.

    Returns
    -------
    mapping
        For :meth:`gem_index.Collection.search`.

    Raises
    ------
    FilterError
        If ``$eq`` or ``$ne`` compares with a mapping, or ``$nin`` does not hold a list.
    """
    if not isinstance(filter, Mapping) or depth > _DEEPEST:
        return filter
    where: dict[Any, Any] = {}
    more: list[dict[Any, Any]] = []
    for key, value in filter.items():
        if key in ("$and", "$or") and isinstance(value, list | tuple):
            where[key] = [as_where(part, depth + 1) for part in value]
        elif key == "$not":
            where[key] = as_where(value, depth + 1)
        elif isinstance(value, Mapping):
            kept = {name: operand for name, operand in value.items() if name not in _TRANSLATED}
            if kept or not value:
                where[key] = kept
            more += [
                _TRANSLATED[name](key, operand)
                for name, operand in value.items()
                if name in _TRANSLATED
            ]
        else:
            where[key] = value
    return {"$and": [where, *more]} if more else where


def _equal(key: Any, value: Any, operator: str = "$eq") -> dict[Any, Any]:
    if isinstance(value, Mapping):
        raise FilterError(
            f"{operator} on {key!r} compares with an object; expected a string, a number, a boolean or null"
        )
    return {key: value}


def _not_equal(key: Any, value: Any) -> dict[Any, Any]:
    return {"$not": _equal(key, value, "$ne")}


def _not_among(key: Any, values: Any) -> dict[Any, Any]:
    if not isinstance(values, list | tuple):
        raise FilterError(f"$nin on {key!r} holds a {type(values).__name__}; expected a list")
    return {"$not": {key: {"$in": values}}}


_TRANSLATED = {"$eq": _equal, "$ne": _not_equal, "$nin": _not_among}
