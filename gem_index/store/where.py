"""Translate metadata filters to SQL: equality, comparisons, lists, patterns, $and/$or/$not."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Text,
    and_,
    case,
    exists,
    false,
    func,
    literal,
    not_,
    or_,
    select,
    true,
)

from gem_index.errors import FilterError
from gem_index.errors.quoting import quoted

__all__ = ["COMPARISONS", "compile_where", "field_value", "fields_of"]

COMPARISONS = {
    "$gt": lambda value, bound: value > bound,
    "$gte": lambda value, bound: value >= bound,
    "$lt": lambda value, bound: value < bound,
    "$lte": lambda value, bound: value <= bound,
}
_OPERATORS = ", ".join(["$eq", "$ne", "$in", "$nin", *COMPARISONS, "$exists", "$contains", "$like"])
_MAX_INTEGER = 2**63
_INFINITE = (float("inf"), float("-inf"))
_MOST_PARTS = 500  # conditions in a filter; SQLite accepts a depth of 1000
_MOST_VALUES = 100_000  # values of one $in
_DEEPEST = 50  # filters inside each other
_ZERO = r"\u0000"  # as JSON writes a zero byte
_ESCAPED = re.compile(r'["\\\x00-\x1f]')


def compile_where(
    where: Mapping[str, Any], metadata: ColumnElement[str], depth: int = 0
) -> ColumnElement[bool]:
    """Translate a filter into a condition on the metadata column.

    Parameters
    ----------
    where : mapping
        ``{"lang": "en", "year": {"$gte": 2020}}``: every entry must be true. A field is compared with a JSON value of the
        same kind. A missing field equals only None, and a list equals each of its members. ``author.name`` is the field
        ``name`` of the object ``author``, unless a document has a field of that full name. No filter accepts a document with
        a zero byte in its metadata.

        Operators: ``$eq``, ``$ne``, ``$in``, ``$nin``, ``$gt``, ``$gte``, ``$lt``, ``$lte``; ``$exists`` (True or False);
        ``$contains``, a member of a list or a part of a string; ``$like``, a complete string, with ASCII letters in either
        case: ``%`` stands for any characters, ``_`` for one character, and a backslash before them removes this meaning.
        ``{"$and": [...]}``, ``{"$or": [...]}`` and ``{"$not": {...}}`` combine filters.
    metadata : ColumnElement
        The column with the JSON text.
    depth : int
        How many filters enclose this one.

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
        raise FilterError(
            f"the filter is {quoted(where)}; expected an object such as {{'lang': 'en'}}"
        )
    if depth > _DEEPEST:
        raise FilterError(f"the filter is nested deeper than {_DEEPEST}; expected a simpler one")
    if depth == 0 and _count_parts(where, 0) > _MOST_PARTS:
        raise FilterError(
            f"the filter has more than {_MOST_PARTS} conditions; expected fewer: use $in for many values of one field"
        )
    found = and_(true(), *(_entry(key, value, metadata, depth) for key, value in where.items()))
    if depth:
        return found
    # SQLite's functions of JSON end a text at a zero byte, so different texts would seem equal. Without its escaped
    # backslashes a JSON text holds the escape of a zero byte only where there is one.
    return and_(func.instr(func.replace(metadata, r"\\", ""), _ZERO) == 0, found)


def _entry(key: str, value: Any, metadata: ColumnElement[str], depth: int) -> ColumnElement[bool]:
    if key in ("$and", "$or"):
        if not isinstance(value, Sequence) or isinstance(value, str):
            raise FilterError(f"{key} holds {quoted(value)}; expected a list of filters")
        parts = [compile_where(part, metadata, depth + 1) for part in value]
        return and_(true(), *parts) if key == "$and" else or_(false(), *parts)
    if key == "$not":
        return not_(compile_where(value, metadata, depth + 1))
    # JSON text escapes these characters, and SQLite compares the escaped name
    if not isinstance(key, str) or key.startswith("$") or _ESCAPED.search(key):
        raise FilterError(
            f"the filter names {quoted(key)}; expected a name without quotes, backslashes or controls, or $and, $or, $not"
        )
    field = _Field(key, metadata)
    if not isinstance(value, Mapping):
        return field.equals(value)
    if not value:
        raise FilterError(
            f"the condition on {quoted(key)} is empty; expected a value or an operator"
        )
    return and_(*(field.condition(operator, operand) for operator, operand in value.items()))


def fields_of(where: Mapping[str, Any]) -> list[str]:
    """Return the names of the fields in a filter of :func:`compile_where`, each once, in order.

    Fields that the filter only tests with ``$exists`` are left out.
    """
    found: dict[str, None] = {}
    for key, value in where.items():
        if key in ("$and", "$or"):
            found |= dict.fromkeys(name for part in value for name in fields_of(part))
        elif key == "$not":
            found |= dict.fromkeys(fields_of(value))
        elif not isinstance(value, Mapping) or set(value) != {"$exists"}:
            found[key] = None
    return list(found)


def field_value(
    key: str, metadata: ColumnElement[str]
) -> tuple[ColumnElement[Any], ColumnElement[Any]]:
    """Return the value of a field in a column of metadata, and its JSON type; NULL if it is missing."""
    field = _Field(key, metadata)
    return field.value, field.held


def _refuse_surrogates(text: object) -> None:
    if isinstance(text, str) and "\0" in text:
        raise FilterError(
            f"the filter holds {quoted(text)} with a zero byte; expected none: metadata with zero bytes is not searched"
        )
    try:
        if isinstance(text, str):
            text.encode()
    except UnicodeEncodeError as error:
        raise FilterError(
            f"the filter holds {quoted(text)}, half of a surrogate pair, which is not a character; expected valid Unicode"
        ) from error


def _count_parts(where: object, depth: int) -> int:
    """Return the number of conditions in a filter; counting stops above the limit."""
    if not isinstance(where, Mapping) or depth > _DEEPEST:
        return 1
    count = 0
    for key, value in where.items():
        nested: Sequence[object] = [value] if key == "$not" else []
        if key in ("$and", "$or") and isinstance(value, Sequence) and not isinstance(value, str):
            nested = value
        count += 0 if nested else len(value) if isinstance(value, Mapping) else 1
        for part in nested:
            count += _count_parts(part, depth + 1)
            if count > _MOST_PARTS:
                return _MOST_PARTS + 1
    return count


class _Field:
    """One metadata field. Each comparison also checks the JSON type, because SQLite orders all numbers before all text."""

    def __init__(self, key: str, metadata: ColumnElement[str]) -> None:
        _refuse_surrogates(key)
        self._key = key
        paths = [f'$."{key}"']
        if "." in key:
            paths.append("$" + "".join(f'."{part}"' for part in key.split(".")))
        self.value: ColumnElement[Any] = _first(func.json_extract, metadata, paths)
        self.held: ColumnElement[Any] = _first(func.json_type, metadata, paths)
        self._type = func.coalesce(self.held, "null", type_=Text)

    def condition(self, operator: str, operand: Any) -> ColumnElement[bool]:
        if operator == "$eq":
            return self.equals(operand)
        if operator == "$ne":
            return not_(self.equals(operand))
        if operator == "$exists":
            if not isinstance(operand, bool):
                raise FilterError(
                    f"$exists on {quoted(self._key)} is {quoted(operand)}; expected true or false"
                )
            return self.held.is_not(None) if operand else self.held.is_(None)
        if operator in ("$contains", "$like"):
            return self._text(operator, operand)
        if operator in ("$in", "$nin"):
            if not isinstance(operand, Sequence) or isinstance(operand, str):
                raise FilterError(
                    f"{operator} on {quoted(self._key)} holds {quoted(operand)}; expected a list"
                )
            if len(operand) > _MOST_VALUES:
                raise FilterError(
                    f"{operator} on {quoted(self._key)} holds {len(operand)} values; expected at most {_MOST_VALUES}"
                )
            among = self._among(operand)
            return among if operator == "$in" else not_(among)
        if operator not in COMPARISONS:
            raise FilterError(
                f"the operator on {quoted(self._key)} is {quoted(operator)}; expected {_OPERATORS}"
            )
        if isinstance(operand, bool) or not isinstance(operand, int | float | str):
            raise FilterError(
                f"{operator} on {quoted(self._key)} compares with {quoted(operand)}; expected a number or a string"
            )
        return self._guard(operand, COMPARISONS[operator](self.value, self._bind(operand)))

    def _text(self, operator: str, operand: Any) -> ColumnElement[bool]:
        """Look for a part of a string, or for a member of a list."""
        if operator == "$contains" and not isinstance(operand, str):
            return self._members(operand)
        if not isinstance(operand, str):
            raise FilterError(
                f"{operator} on {quoted(self._key)} looks for {quoted(operand)}; expected a string"
            )
        if operator == "$like":
            return self._guard(operand, self.value.like(self._bind(operand), escape="\\"))
        inside = self._guard(operand, func.instr(self.value, self._bind(operand)) > 0)
        return or_(inside, self._members(operand))

    def _members(self, value: Any) -> ColumnElement[bool]:
        """Look for a member of a list."""
        return self._any_member(lambda found, kind: self._same(value, found, kind))

    def _any_member(
        self, condition: Callable[[ColumnElement[Any], ColumnElement[Any]], ColumnElement[bool]]
    ) -> ColumnElement[bool]:
        """Tell whether a member of a list meets a condition on its value and kind; CASE skips documents without a list."""
        table = func.json_each(self.value).table_valued("value", "type")
        found = exists().select_from(table).where(condition(table.c.value, table.c.type))
        return case((self._type == "array", found), else_=false())

    def _among(self, values: Sequence[Any]) -> ColumnElement[bool]:
        """Compare with a table of many texts and a table of many numbers: one condition per value would nest too deeply."""
        texts = [value for value in values if isinstance(value, str)]
        _refuse_surrogates("".join(texts))
        numbers = [
            value
            for value in values
            if isinstance(value, int | float) and not isinstance(value, bool)
        ]
        rest = [value for value in values if not isinstance(value, int | float | str)]
        rest += {value for value in values if isinstance(value, bool)}
        parts = [self.equals(value) for value in {repr(value): value for value in rest}.values()]
        for kind, listed in (("", texts), (0.0, [_sqlite_number(n) for n in numbers])):
            table = func.json_each(json.dumps([n for n in listed if n == n and n not in _INFINITE]))
            wanted = select(table.table_valued("value").c.value)
            parts.append(self._guard(kind, self.value.in_(wanted)))
            kinds = _kinds(kind)
            parts.append(
                self._any_member(
                    lambda found, of, kinds=kinds, wanted=wanted: and_(  # type: ignore[misc]
                        of.in_(kinds), found.in_(wanted)
                    )
                )
            )
        return or_(false(), *parts)

    def equals(self, value: Any) -> ColumnElement[bool]:
        return or_(self._same(value, self.value, self._type), self._members(value))

    def _same(
        self, value: Any, found: ColumnElement[Any], kind: ColumnElement[Any]
    ) -> ColumnElement[bool]:
        """Compare a value of a document with a value of the filter, by kind and content."""
        if value is None:
            return kind == "null"
        if isinstance(value, bool):
            return kind == ("true" if value else "false")
        if not isinstance(value, int | float | str):
            raise FilterError(
                f"{quoted(self._key)} is compared with {quoted(value)}; expected a string, a number, a boolean or null"
            )
        return func.coalesce(and_(kind.in_(_kinds(value)), found == self._bind(value)), false())

    def _guard(self, value: float | str, condition: ColumnElement[bool]) -> ColumnElement[bool]:
        return func.coalesce(and_(self._type.in_(_kinds(value)), condition), false())

    def _bind(self, value: float | str) -> ColumnElement[Any]:
        _refuse_surrogates(value)
        return literal(value if isinstance(value, str) else _sqlite_number(value))


def _first(
    function: Callable[..., ColumnElement[Any]], metadata: ColumnElement[str], paths: Sequence[str]
) -> ColumnElement[Any]:
    """Return the result of a function of JSON for the first path that exists."""
    found = [function(metadata, path) for path in paths]
    return found[0] if len(found) == 1 else func.coalesce(*found)


def _kinds(value: float | str) -> tuple[str, ...]:
    """Return SQLite's names of the JSON types that can be compared with a value."""
    return ("text",) if isinstance(value, str) else ("integer", "real")


def _sqlite_number(value: float) -> float:
    """Convert a number for SQLite: integers beyond 64 bits become floats."""
    if isinstance(value, int) and not -_MAX_INTEGER <= value < _MAX_INTEGER:
        try:
            return float(value)
        except OverflowError as error:
            raise FilterError(
                f"the filter compares with a {quoted(value)}; expected a number within float64"
            ) from error
    return value
