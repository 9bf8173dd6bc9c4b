"""Counts by the year, month or day of a field of dates."""

from __future__ import annotations

import re
from collections import Counter

from gem_index.collection.state.metadata_fields import FieldCounts, ValueCount
from gem_index.errors import InputError
from gem_index.errors.quoting import quoted

__all__ = ["field_of_period", "in_periods", "part_of_date"]

_PERIOD = re.compile(r"(year|month|day)\((.+)\)")
_LENGTHS = {"year": 4, "month": 7, "day": 10}  # characters at the beginning of an ISO date
_DATE = re.compile(r"\d{4}-\d\d-\d\d")


def field_of_period(name: str) -> tuple[str, str | None]:
    """Return field and period of a name: ``month(created)`` → ``created``, ``month``; ``created`` → ``created``, None."""
    found = _PERIOD.fullmatch(name)
    return (name, None) if found is None else (found[2], found[1])


def part_of_date(field: str, value: object, period: str) -> str:
    """Return the year, month or day of a field's date: 2024-03-05 → 2024-03 for the month.

    Raises
    ------
    InputError
        If the value is not an ISO date or time.
    """
    if not isinstance(value, str) or not _DATE.match(value):
        raise InputError(
            f"the field {quoted(field)} has the value {quoted(value)}; expected ISO dates, such as 2024-03-05"
        )
    return value[: _LENGTHS[period]]


def in_periods(counts: FieldCounts, period: str, limit: int | None) -> FieldCounts:
    """Add the counts of dates up to counts of periods, in the order of time; with a limit, return only the last periods.

    Raises
    ------
    InputError
        If a value is not an ISO date or time.
    """
    sizes: Counter[str] = Counter()
    for each in counts.values:
        sizes[part_of_date(counts.field, each.value, period)] += each.documents
    values = [ValueCount(name, size) for name, size in sorted(sizes.items())]
    return FieldCounts(
        field=f"{period}({counts.field})",
        documents=counts.documents,
        missing=counts.missing,
        distinct=len(values),
        values=tuple(values if limit is None else values[-limit:]),
    )
