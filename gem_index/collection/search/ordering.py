"""Order results by their metadata: boost by a date or a number, or sort by a field."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from gem_index.collection.results import SearchResult
from gem_index.errors import InputError
from gem_index.errors.quoting import quoted

__all__ = ["Boost", "boosted", "field_of", "lacks_field", "sort_key", "sorted_by"]

_SECONDS = {"h": 3600.0, "d": 86_400.0, "w": 604_800.0, "y": 31_557_600.0}
_FORM = re.compile(r"(?P<field>.+):(?P<number>\d+(\.\d+)?)(?P<unit>[hdwy]?)", re.DOTALL)


@dataclass(frozen=True)
class Boost:
    """A boost: scores are multiplied by a factor between 1/2 and 1.

    Attributes
    ----------
    field : str
        A field of dates or numbers.
    scale : float
        The age in seconds, or the number, for which the factor is 3/4.
    dates : bool
        Whether the field has dates, not numbers.
    """

    field: str
    scale: float
    dates: bool

    @classmethod
    def parse(cls, text: object) -> Boost:
        """Return the boost of a text such as ``created_at:30d`` or ``votes:10``.

        Raises
        ------
        InputError
            If the text has another form. The form is a field, a colon and a number above 0; for dates, ``h``, ``d``, ``w``
            or ``y`` follows the number.
        """
        found = _FORM.fullmatch(text) if isinstance(text, str) else None
        if found is None or float(found["number"]) == 0:
            raise InputError(
                f"the boost is {quoted(text)}; expected FIELD:NUMBER for a field of numbers, such as votes:10, or with the "
                "unit h, d, w or y for a field of dates, such as created_at:30d"
            )
        scale = float(found["number"]) * _SECONDS.get(found["unit"], 1.0)
        return cls(found["field"], scale, bool(found["unit"]))

    def factor(self, metadata: Mapping[str, Any], now: datetime) -> float:
        """Return (1 + 2^(-age / scale)) / 2 for dates, (1 + n / (n + scale)) / 2 for numbers, and 1/2 without a value."""
        value = field_of(metadata, self.field)
        if self.dates:
            date = _date(value)
            if date is None:
                return 0.5
            age = max(0.0, (now - date).total_seconds())
            return float((1 + 2 ** (-age / self.scale)) / 2)
        number = _number(value)
        if number is None or number <= 0:
            return 0.5
        return (1 + 1 / (1 + self.scale / number)) / 2


def boosted(
    results: Sequence[SearchResult], boost: Boost, now: datetime | None = None
) -> list[SearchResult]:
    """Return the results by their boosted scores, best first; scores below 0 do not change.

    Raises
    ------
    InputError
        If there are results, and none has a date or number in the field.
    """
    now = now or datetime.now(UTC)
    values = [field_of(hit.metadata, boost.field) for hit in results]
    usable = [
        _date(value) is not None if boost.dates else _number(value) is not None for value in values
    ]
    if results and not any(usable):
        shown = next((f", such as {quoted(v, 40)}" for v in values if v is not None), "")
        kind = "an ISO date" if boost.dates else "a number"
        raise InputError(
            f"none of the best {len(results)} results has {kind} in the field {quoted(boost.field)}{shown}; expected a "
            f"field of {'dates' if boost.dates else 'numbers'} to boost by"
        )
    scored = [
        replace(hit, score=hit.score * boost.factor(hit.metadata, now)) if hit.score > 0 else hit
        for hit in results
    ]
    return sorted(scored, key=lambda hit: -hit.score)


def sorted_by(results: Sequence[SearchResult], field: str) -> list[SearchResult]:
    """Return the results in the order of a field, numbers before texts; results without a value come last.

    Parameters
    ----------
    results : sequence of SearchResult
        Equal values keep their order.
    field : str
        With ``-`` before it, the order of the values is reversed.
    """
    name, descending = field.removeprefix("-"), field.startswith("-")
    keyed = [(sort_key(field_of(hit.metadata, name)), hit) for hit in results]
    known = [(key, hit) for key, hit in keyed if key is not None]
    known.sort(key=lambda pair: pair[0], reverse=descending)  # stable in both directions
    return [hit for _, hit in known] + [hit for key, hit in keyed if key is None]


def lacks_field(results: Sequence[SearchResult], field: str) -> bool:
    """Tell whether there are results, and none has a value to sort by; ``-`` before the field is left out."""
    name = field.removeprefix("-")
    return bool(results) and all(field_of(hit.metadata, name) is None for hit in results)


def field_of(metadata: Mapping[str, Any], name: str) -> Any:
    """Return the value of a field, None without the field; ``author.name`` is the field ``name`` of an object ``author``."""
    if name in metadata:
        return metadata[name]
    value: Any = metadata
    for part in name.split("."):
        if not isinstance(value, Mapping) or part not in value:
            return None
        value = value[part]
    return value


def _number(value: object) -> float | None:
    """Return a number as a finite float, or None for any other value.

    A number beyond the range of floats becomes the largest or smallest float.
    """
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return float(min(max(value, -sys.float_info.max), sys.float_info.max))


def _date(value: object) -> datetime | None:
    """Return the time of an ISO date; a date without a time zone is in UTC; None for any other value."""
    if not isinstance(value, str):
        return None
    if re.fullmatch(r"\d{4}(-\d\d)?", value):
        value += "-01" if len(value) == len("2025-01") else "-01-01"
    try:
        found = datetime.fromisoformat(value)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def sort_key(value: object) -> tuple[int, float, str] | None:
    """Return the key that orders a value: numbers and booleans, then texts; None for an empty text, a list or an object."""
    # booleans too: False comes before True; whole numbers are compared exactly
    if isinstance(value, int | float):
        return 0, value, ""
    return (1, 0, value) if isinstance(value, str) and value else None
