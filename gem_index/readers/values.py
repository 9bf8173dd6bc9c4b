"""Values of tables as values of JSON."""

from __future__ import annotations

import datetime
import decimal
import ipaddress
import math
import uuid
from typing import TypeAlias

__all__ = ["UNSUPPORTED", "json_value"]

UNSUPPORTED = (ValueError, ArithmeticError, TypeError, LookupError)
"""Exceptions from converting a value of a table that JSON does not have."""


def json_value(value: object) -> object:
    """Convert a value of a table to a JSON value.

    Raises
    ------
    ValueError
        If JSON has no such value.
    """
    if hasattr(value, "tolist"):  # a value or an array of NumPy
        value = value.tolist()
    if isinstance(value, dict):
        return {key: json_value(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(part) for part in value]
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat() if value == value else None
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    if isinstance(value, uuid.UUID | _Address):
        return str(value)
    if isinstance(value, decimal.Decimal):
        if value.is_nan():
            return None
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None  # tables of numbers write missing values as NaN
    if type(value).__name__ == "NAType":  # of pandas
        return None
    if value is None or isinstance(value, str | bool | int | float):
        return value
    raise ValueError(f"a {type(value).__name__}")


_Address: TypeAlias = (
    ipaddress.IPv4Address | ipaddress.IPv6Address | ipaddress.IPv4Interface | ipaddress.IPv6Interface
    | ipaddress.IPv4Network | ipaddress.IPv6Network
)  # fmt: skip
