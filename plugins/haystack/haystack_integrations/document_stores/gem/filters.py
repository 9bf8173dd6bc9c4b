"""Translate Haystack's filters to those of a gem-index collection."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from haystack.errors import FilterError

__all__ = ["as_where"]

_NOTHING: dict[str, Any] = {"$or": []}
_ORDERED = {">": "$gt", ">=": "$gte", "<": "$lt", "<=": "$lte"}


def as_where(filters: dict[str, Any] | None) -> dict[str, Any]:
    """Translate Haystack filters.

    Dates are compared as stored text, so all dates must be written in the same form.

    Parameters
    ----------
    filters : dict
        A comparison ``{"field": "meta.lang", "operator": "==", "value": "en"}``, or
        ``{"operator": "AND", "conditions": [...]}`` with ``AND``, ``OR`` or ``NOT``.

    Raises
    ------
    FilterError
        If they are of another form, or refer to anything but a field of the metadata.
    """
    return _where(filters) if filters is not None and filters != {} else {}


def _where(filters: object) -> dict[str, Any]:
    if not isinstance(filters, dict):
        raise FilterError(f"the filter is {filters!r}; expected a dictionary")
    if "field" in filters:
        return _comparison(filters)
    operator, conditions = filters.get("operator"), filters.get("conditions")
    if operator not in ("AND", "OR", "NOT") or not isinstance(conditions, list) or not conditions:
        raise FilterError(
            f"the filter is {filters}; expected 'field', 'operator' and 'value', or 'operator' AND, OR or NOT and "
            "a list of 'conditions'"
        )
    parts = [_where(condition) for condition in conditions]
    if operator == "NOT":
        return {"$not": {"$and": parts}}
    return {f"${operator.lower()}": parts}


def _comparison(condition: dict[str, Any]) -> dict[str, Any]:
    if "operator" not in condition or "value" not in condition:
        raise FilterError(f"the condition is {condition}; expected 'field', 'operator' and 'value'")
    field, operator, value = condition["field"], condition["operator"], condition["value"]
    name = str(field).removeprefix("meta.")
    if name == field and name in ("id", "content", "embedding", "blob", "score"):
        raise FilterError(f"the condition looks at {name!r}; expected a field of the metadata")
    if "." in name:
        raise FilterError(
            f"the condition looks at {name!r}, a field inside another; expected a field of the metadata itself: "
            "store fields for filters at the top level"
        )
    if operator in ("==", "!="):
        equal = {name: value}
        return equal if operator == "==" else {"$not": equal}
    if operator in ("in", "not in"):
        if not isinstance(value, list):
            raise FilterError(f"{operator!r} holds {value!r}; expected a list")
        among = {name: {"$in": value}}
        return among if operator == "in" else {"$not": among}
    if operator not in _ORDERED:
        raise FilterError(
            f"the operator is {operator!r}; expected ==, !=, >, >=, <, <=, 'in' or 'not in'"
        )
    if value is None:
        return _NOTHING
    if isinstance(value, bool) or not (isinstance(value, int | float) or _is_date(value)):
        raise FilterError(f"{operator!r} compares with {value!r}; expected a number or an ISO date")
    return {name: {_ORDERED[operator]: value}}


def _is_date(value: object) -> bool:
    try:
        datetime.fromisoformat(str(value))
    except ValueError:
        return False
    return isinstance(value, str)
