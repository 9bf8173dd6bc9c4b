"""Metadata filters to SQL: equality, $in, $gt/$gte/$lt/$lte, $and/$or/$not."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Column, ColumnElement, Text, and_, false, func, literal, not_, or_, true

from gem_index.errors import FilterError

__all__ = ["compile_where"]

_COMPARISONS = {
    "$gt": lambda value, bound: value > bound,
    "$gte": lambda value, bound: value >= bound,
    "$lt": lambda value, bound: value < bound,
    "$lte": lambda value, bound: value <= bound,
}
_MAX_INTEGER = 2**63
_ESCAPED = re.compile(r'["\\\x00-\x1f]')


def compile_where(where: Mapping[str, Any], metadata: Column[str]) -> ColumnElement[bool]:
    """Translate a filter into a condition on the metadata column.

    Parameters
    ----------
    where : mapping
        ``{"lang": "en", "year": {"$gte": 2020}}``: every entry must hold. A field compares with a JSON value of the same
        kind; a field that is missing equals None and nothing else. ``{"$and": [...]}``, ``{"$or": [...]}`` and
        ``{"$not": {...}}`` combine filters.
    metadata : Column
        The column with the JSON text.

    Returns
    -------
    ColumnElement
        True or false for every document, never unknown.

    Raises
    ------
    FilterError
        If the filter is not of this form.
    """
    if not isinstance(where, Mapping):
        raise FilterError(f"the filter is {where!r}; expected an object such as {{'lang': 'en'}}")
    return and_(true(), *(_entry(key, value, metadata) for key, value in where.items()))


def _entry(key: str, value: Any, metadata: Column[str]) -> ColumnElement[bool]:
    if key in ("$and", "$or"):
        if not isinstance(value, Sequence) or isinstance(value, str):
            raise FilterError(f"{key} holds {value!r}; expected a list of filters")
        parts = [compile_where(part, metadata) for part in value]
        return and_(true(), *parts) if key == "$and" else or_(false(), *parts)
    if key == "$not":
        return not_(compile_where(value, metadata))
    # JSON text escapes these characters, and SQLite compares the escaped name
    if not isinstance(key, str) or key.startswith("$") or _ESCAPED.search(key):
        raise FilterError(
            f"the filter names {key!r}; expected a name without quotes, backslashes or controls, or $and, $or, $not"
        )
    field = _Field(key, metadata)
    if not isinstance(value, Mapping):
        return field.equals(value)
    if not value:
        raise FilterError(f"the condition on {key!r} is empty; expected a value or an operator")
    return and_(*(field.condition(operator, operand) for operator, operand in value.items()))


class _Field:
    """One metadata field; its JSON type guards every comparison, as SQLite orders numbers before all text."""

    def __init__(self, key: str, metadata: Column[str]) -> None:
        self._key = key
        path = f'$."{key}"'
        self._value: ColumnElement[Any] = func.json_extract(metadata, path)
        self._type = func.coalesce(func.json_type(metadata, path), "null", type_=Text)

    def condition(self, operator: str, operand: Any) -> ColumnElement[bool]:
        if operator == "$in":
            if not isinstance(operand, Sequence) or isinstance(operand, str):
                raise FilterError(f"$in on {self._key!r} holds {operand!r}; expected a list")
            return or_(false(), *(self.equals(value) for value in operand))
        if operator not in _COMPARISONS:
            raise FilterError(
                f"the operator on {self._key!r} is {operator!r}; expected $in, {', '.join(_COMPARISONS)}"
            )
        if isinstance(operand, bool) or not isinstance(operand, int | float | str):
            raise FilterError(
                f"{operator} on {self._key!r} compares with {operand!r}; expected a number or a string"
            )
        return self._guarded(operand, _COMPARISONS[operator](self._value, self._bound(operand)))

    def equals(self, value: Any) -> ColumnElement[bool]:
        if value is None:
            return self._type == "null"
        if isinstance(value, bool):
            return self._type == ("true" if value else "false")
        if not isinstance(value, int | float | str):
            raise FilterError(
                f"{self._key!r} is compared with {value!r}; expected a string, a number, a boolean or null"
            )
        return self._guarded(value, self._value == self._bound(value))

    def _guarded(self, value: float | str, condition: ColumnElement[bool]) -> ColumnElement[bool]:
        kinds = ("text",) if isinstance(value, str) else ("integer", "real")
        return func.coalesce(and_(self._type.in_(kinds), condition), false())

    def _bound(self, value: float | str) -> ColumnElement[Any]:
        if isinstance(value, int) and not -_MAX_INTEGER <= value < _MAX_INTEGER:
            return literal(float(value))
        return literal(value)
