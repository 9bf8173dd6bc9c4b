"""Kinds of the values of a metadata field, and checks that a filter compares values of one kind.

There are three kinds of texts, because the order of their characters is not their order in time: ISO dates (``2025-01-14``,
with or without a time), dates in another form (``14.01.2025``), and other texts. A missing value, null and an empty text
have no kind.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from sqlalchemy import ColumnElement, case, func, or_

from gem_index.errors import FilterError
from gem_index.errors.quoting import quoted
from gem_index.store.where import COMPARISONS, field_value

__all__ = ["Kinds", "check_equalities", "check_orderings", "kind_of_value", "merged"]

Kinds: TypeAlias = Mapping[str, Any]
"""The kinds of a field's values, each with an example."""

NUMBER, DATE, OTHER_DATE, TEXT = "number", "ISO date", "date that is not ISO", "text"
_TEXTS = (DATE, OTHER_DATE, TEXT)
_BOOLEAN, _LIST, _OBJECT = "boolean", "list", "object"
_OF_JSON = {
    "integer": NUMBER,
    "real": NUMBER,
    "true": _BOOLEAN,
    "false": _BOOLEAN,
    "array": _LIST,
    "object": _OBJECT,
}
_DIGIT = "[0-9]"
_DAY = f"{_DIGIT * 4}-{_DIGIT * 2}-{_DIGIT * 2}"
_ISO = re.compile(r"\d{4}-\d\d-\d\d([T ].*)?", re.ASCII | re.DOTALL)
_PART_OF_ISO = re.compile(r"\d{4}(-\d\d)?-?", re.ASCII)
_SEPARATED = f"{_DIGIT}*[./-]{_DIGIT}*[./-]{_DIGIT}*"
_LONGEST_DATE = 40  # characters


def kind_of_value(
    key: str, metadata: ColumnElement[str]
) -> tuple[ColumnElement[Any], ColumnElement[Any]]:
    """Return the kind of a field's value as SQL (NULL if it has none), and the value."""
    value, json_type = field_value(key, metadata)
    of_text = case(
        (value == "", None),
        (or_(value.op("GLOB")(_DAY), value.op("GLOB")(f"{_DAY}[T ]*")), DATE),
        ((func.length(value) <= _LONGEST_DATE) & value.op("GLOB")(_SEPARATED), OTHER_DATE),
        else_=TEXT,
    )
    found = [(json_type == name, kind) for name, kind in _OF_JSON.items()]
    return case(*found, (json_type == "text", of_text), else_=None), value


def merged(one: Kinds, other: Kinds) -> Kinds:
    """Return the kinds of two groups of values together."""
    return {**other, **one}


def check_orderings(where: Mapping[str, Any], kinds_of: Callable[[str], Kinds]) -> None:
    """Check that each ordering in a filter compares values of one kind.

    Parameters
    ----------
    where : mapping
        A filter that :func:`~gem_index.store.where.compile_where` takes.
    kinds_of : callable
        Returns the :data:`Kinds` of a field.

    Raises
    ------
    FilterError
        If a field has no value of the kind with which it is compared, or some values are dates in another form.
    """
    for name, operator, operand in _conditions(where):
        if operator not in COMPARISONS:
            continue
        kinds: Kinds = kinds_of(name)
        texts = {kind: kinds[kind] for kind in _TEXTS if kind in kinds}
        if not kinds:
            continue
        if not isinstance(operand, str):
            if NUMBER not in kinds:
                raise _other_kind(name, operand, kinds)
        elif not texts:
            raise _other_kind(name, operand, kinds)
        elif _ISO.fullmatch(operand):
            if DATE not in texts or OTHER_DATE in texts:
                shown = texts.get(OTHER_DATE, next(iter(texts.values())))
                raise FilterError(
                    f"the filter compares {quoted(name)} with the ISO date {quoted(operand)}; expected a text, such as "
                    f"{quoted(shown, 40)}: not all its texts are ISO dates, and texts are ordered by their characters"
                )
        elif list(texts) == [DATE] and not _PART_OF_ISO.fullmatch(operand):
            raise FilterError(
                f"the filter compares {quoted(name)} with the text {quoted(operand)}; expected an ISO date, such as "
                f"{quoted(texts[DATE])}: all its texts are ISO dates"
            )


def check_equalities(where: Mapping[str, Any], kinds_of: Callable[[str], Kinds]) -> None:
    """Check that each equality of a filter that accepts nothing compares values of one kind, as :func:`check_orderings`."""
    for name, operator, operand in _conditions(where):
        values = operand if operator == "$in" else [operand] if operator == "$eq" else []
        wanted = {_kind(value) for value in values}
        kinds: Kinds = kinds_of(name) if wanted else {}
        found = {TEXT if kind in _TEXTS else kind for kind in kinds}
        if found and None not in wanted and not wanted & found and _LIST not in found:
            raise _other_kind(name, values[0], kinds)


def _conditions(where: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """Iterate over field, operator and operand of the conditions of a filter; a value is an ``$eq``."""
    for key, value in where.items():
        if key in ("$and", "$or"):
            for part in value:
                yield from _conditions(part)
        elif key == "$not":
            yield from _conditions(value)
        elif isinstance(value, Mapping):
            yield from ((key, operator, operand) for operator, operand in value.items())
        else:
            yield key, "$eq", value


def _kind(value: object) -> str | None:
    if value is None:
        return None
    return _BOOLEAN if isinstance(value, bool) else TEXT if isinstance(value, str) else NUMBER


def _other_kind(name: str, operand: object, kinds: Kinds) -> FilterError:
    held = [f"{_one(kind)}, such as {_shown(kind, sample)}" for kind, sample in kinds.items()]
    return FilterError(
        f"the filter compares {quoted(name)} with the {_kind(operand)} {quoted(operand)}; expected "
        f"{', or '.join(held[:3])}: no value of the field is {_one(str(_kind(operand)))}"
    )


def _one(kind: str) -> str:
    return f"{'an' if kind[0] in 'Io' else 'a'} {kind}"


def _shown(kind: str, sample: object) -> str:
    return ("true" if sample else "false") if kind == _BOOLEAN else quoted(sample, 40)
