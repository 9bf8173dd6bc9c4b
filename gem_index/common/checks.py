"""Checks of single values from callers and files: whole numbers, numbers, one of several names."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

from gem_index.errors import ConfigError, InputError
from gem_index.errors.quoting import quoted

__all__ = ["check_choice", "check_number", "check_whole_number"]


def check_whole_number(
    value: object,
    name: str,
    least: int,
    most: float = math.inf,
    *,
    expected: str = "",
    error: type[InputError] = ConfigError,
) -> int:
    """Return a value as an int, if it is a whole number within bounds.

    Parameters
    ----------
    value : object
        NumPy's integers are accepted too; True and False are not numbers.
    name : str
        The name of the value in the message.
    least, most : int
        The bounds, both taken.
    expected : str
        The words for the bounds in the message; if empty, the bounds themselves.
    error : type
        Raised if it is another value.

    Raises
    ------
    InputError
        Of the type ``error``.
    """
    if isinstance(value, Integral) and not isinstance(value, bool) and least <= int(value) <= most:
        return int(value)
    bounds = f"of at least {least}" if most == math.inf else f"from {least} to {most}"
    raise error(f"{name} is {quoted(value)}; expected {expected or f'a whole number {bounds}'}")


def check_number(
    value: object,
    name: str,
    least: float = -sys.float_info.max,
    most: float = sys.float_info.max,
    *,
    above: bool = False,
    expected: str = "",
    error: type[InputError] = ConfigError,
) -> float:
    """Return a value as a float, if it is a finite number within bounds.

    Parameters
    ----------
    value, name, expected, error
        As for :func:`check_whole_number`.
    least, most : float
        The bounds, both taken.
    above : bool
        The number has to be above ``least``.

    Raises
    ------
    InputError
        Of the type ``error``.
    """
    if isinstance(value, Real) and not isinstance(value, bool):
        number: Any = (
            value  # compared without conversion: a whole number may be too large for a float
        )
        if least <= number <= most and not (above and number == least):
            return float(number)
    bounds = f"a number from {least:g} to {most:g}"
    raise error(f"{name} is {quoted(value)}; expected {expected or bounds}")


def check_choice(
    value: object, name: str, choices: Iterable[str], *, error: type[InputError] = ConfigError
) -> None:
    """Check that a value is one of several names.

    Parameters
    ----------
    value, name, error
        As for :func:`check_whole_number`.
    choices : iterable of str

    Raises
    ------
    InputError
        Of the type ``error``.
    """
    known = tuple(choices)
    if not isinstance(value, str) or value not in known:
        listed = " or ".join(known) if len(known) == 2 else f"one of {', '.join(known)}"
        raise error(f"{name} is {quoted(value)}; expected {listed}")
