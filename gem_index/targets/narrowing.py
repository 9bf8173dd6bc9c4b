"""Translate filters of metadata to conditions that a database checks while it searches.

The conditions of a filter are necessary, not sufficient: a search checks the rows that meet them against the filter itself.
So an engine need not compare values as a collection does, and parts that no engine has (``$not``, ``$like``) are left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self, runtime_checkable

from gem_index.targets.protocol import TargetTable

__all__ = ["Condition", "NarrowingTable", "conditions_of"]

_MOST_VALUES, _FEW_VALUES = 1000, 20
_ESCAPED = re.compile(r'["\\\x00-\x1f]')


@dataclass(frozen=True)
class Condition:
    """A condition on one field: one of some values, a list with one of these values, or a number within bounds.

    Attributes
    ----------
    field : str
        Without quotes, backslashes, dots and control characters.
    values : tuple of str, bool, int or float
        Empty for bounds.
    least, most : int or float, optional
    """

    field: str
    values: tuple[str | float, ...] = ()
    least: float | None = None
    most: float | None = None

    @property
    def is_short(self) -> bool:
        """Whether it has at most 20 values; the time of some engines grows with the number of values."""
        return len(self.values) <= _FEW_VALUES

    @property
    def is_plain(self) -> bool:
        """Whether all its strings can be put between double quotes without escapes."""
        return not any(_ESCAPED.search(str(each)) for each in (self.field, *self.values))


@runtime_checkable
class NarrowingTable(TargetTable, Protocol):
    """A table whose database can search among some rows only."""

    def narrowed(self, conditions: Sequence[Condition]) -> Self:
        """Return the table, whose ``query`` and ``match`` then find rows that meet the conditions, perhaps also others."""
        ...


def conditions_of(where: Mapping[str, Any]) -> tuple[Condition, ...]:
    """Return necessary conditions: each row that a valid filter accepts meets them.

    Parameters
    ----------
    where : mapping
        As for :meth:`gem_index.Collection.search`.
    """
    found: list[Condition] = []
    for key, value in where.items():
        if key == "$and":
            found += [each for part in value for each in conditions_of(part)]
        elif not key.startswith("$") and "." not in key:
            operators = value if isinstance(value, Mapping) else {"$eq": value}
            found += _of_field(key, operators)
    return tuple(found)


def _of_field(field: str, operators: Mapping[str, Any]) -> list[Condition]:
    found = []
    for operator, operand in operators.items():
        if operator in ("$eq", "$in"):
            values = (operand,) if operator == "$eq" else tuple(operand)
            if 0 < len(values) <= _MOST_VALUES and all(map(_is_value, values)):
                found.append(Condition(field, values))
        elif _is_number(operand):
            # equality is allowed at bounds, because engines round large numbers
            if operator in ("$gt", "$gte"):
                found.append(Condition(field, least=operand))
            elif operator in ("$lt", "$lte"):
                found.append(Condition(field, most=operand))
    return found


def _is_value(value: object) -> bool:
    return isinstance(value, str | bool) or _is_number(value)


def _is_number(value: object) -> bool:
    """Tell whether every engine holds a number exactly."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= 2**53
