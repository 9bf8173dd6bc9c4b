"""Translate LlamaIndex's metadata filters to those of a gem-index collection."""

from __future__ import annotations

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
_SUPPORTED = ["==", "!=", *(operator.value for operator in _ORDERED), "in", "nin"]


def as_where(filters: MetadataFilters | None) -> dict[str, Any]:
    """Translate LlamaIndex's filters.

    ``!=`` and ``nin`` accept everything that ``==`` and ``in`` do not accept, also a node without the field. None equals
    null or a missing field.

    Parameters
    ----------
    filters : MetadataFilters, optional
        Combined by ``and``, ``or`` or ``not`` (none of them holds), nested or not.

    Raises
    ------
    FilterError
        If an operator looks inside a list or a text: a collection compares whole values.
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
    if operator not in _ORDERED:
        raise FilterError(
            f"the operator on {key!r} is {operator.value!r}; expected one of {', '.join(_SUPPORTED)}: "
            "a collection compares whole values, and does not look inside lists or texts"
        )
    return {key: {_ORDERED[operator]: value}}
