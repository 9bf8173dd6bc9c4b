"""Translate LlamaIndex's metadata filters to those of a gem-index collection."""

from __future__ import annotations

import re
from typing import Any

from llama_index.core.vector_stores.types import (
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
)

from gem_index.errors import FilterError

__all__ = ["as_where"]

_ORDERED = {
    FilterOperator.GT: "$gt",
    FilterOperator.GTE: "$gte",
    FilterOperator.LT: "$lt",
    FilterOperator.LTE: "$lte",
}
_MEMBERS = {FilterOperator.ANY: "$or", FilterOperator.ALL: "$and"}
_WITHIN = (FilterOperator.CONTAINS, FilterOperator.TEXT_MATCH)
_SUPPORTED = [
    *("==", "!=", *(operator.value for operator in _ORDERED), "in", "nin"),
    *(operator.value for operator in (*_MEMBERS, *_WITHIN)),
    FilterOperator.TEXT_MATCH_INSENSITIVE.value,
]


def as_where(filters: MetadataFilters | None) -> dict[str, Any]:
    """Translate LlamaIndex's filters.

    ``!=`` and ``nin`` accept everything that ``==`` and ``in`` do not accept, also a node without the field. None equals
    null or a missing field. A list equals each of its members; ``any``, ``all`` and ``contains`` look for members,
    ``contains`` and ``text_match`` for a part of a text.

    Parameters
    ----------
    filters : MetadataFilters, optional
        Combined by ``and``, ``or`` or ``not`` (none of them holds), nested or not.

    Raises
    ------
    FilterError
        If a collection has no such operator.
    """
    if filters is None or not filters.filters:
        return {}
    parts = [
        as_where(part) if isinstance(part, MetadataFilters) else _comparison(part)
        for part in filters.filters
    ]
    if filters.condition == FilterCondition.OR:
        return {"$or": parts}
    if filters.condition == FilterCondition.NOT:
        return {"$not": {"$or": parts}}
    return {"$and": parts}


def _comparison(condition: MetadataFilter) -> dict[str, Any]:
    key, operator, value = condition.key, condition.operator, condition.value
    if operator in (FilterOperator.EQ, FilterOperator.NE):
        equal = {key: value}
        return equal if operator == FilterOperator.EQ else {"$not": equal}
    if operator in (FilterOperator.IN, FilterOperator.NIN):
        among = {key: {"$in": value}}
        return among if operator == FilterOperator.IN else {"$not": among}
    if operator in _MEMBERS and isinstance(value, list):
        return {_MEMBERS[operator]: [{key: {"$eq": member}} for member in value]}
    if operator in _WITHIN:
        return {key: {"$contains": value}}
    if operator == FilterOperator.TEXT_MATCH_INSENSITIVE and isinstance(value, str):
        return {key: {"$like": f"%{_literal(value)}%"}}
    if operator not in _ORDERED:
        raise FilterError(
            f"the operator on {key!r} is {operator.value!r} with {value!r:.60}; expected one of {', '.join(_SUPPORTED)}"
        )
    return {key: {_ORDERED[operator]: value}}


def _literal(text: str) -> str:
    """Return a pattern of ``$like`` that stands for the text itself."""
    return re.sub(r"([\\%_])", r"\\\1", text)
