"""Checks of single values."""

import math

import numpy as np
import pytest

from gem_index.common.checks import check_choice, check_number, check_whole_number
from gem_index.errors import ConfigError, InputError


@pytest.mark.parametrize("value", [1, 5, np.int64(3)])
def test_whole_numbers(value):
    found = check_whole_number(value, "k", 1, 5)
    assert (found, type(found)) == (value, int)
    assert check_whole_number(10**400, "k", 1) == 10**400


@pytest.mark.parametrize("value", [0, 6, True, 2.0, "3", None, math.nan, np.float64(3), np.True_])
def test_what_is_no_whole_number_within_the_bounds(value):
    with pytest.raises(ConfigError, match=r"^k is .*; expected a whole number from 1 to 5$"):
        check_whole_number(value, "k", 1, 5)


def test_messages():
    with pytest.raises(InputError, match="^k is -1; expected a whole number of at least 0$") as it:
        check_whole_number(-1, "k", 0, error=InputError)
    assert it.type is InputError
    with pytest.raises(ConfigError, match="^k is -1; expected words$"):
        check_whole_number(-1, "k", 0, expected="words")
    with pytest.raises(ConfigError, match=r"^t is 'x'; expected a number from 0 to 1$"):
        check_number("x", "t", 0, 1)
    with pytest.raises(ConfigError, match="^t is 2; expected a share$"):
        check_number(2, "t", 0, 1, expected="a share")


@pytest.mark.parametrize("value", [0, 1, 0.5, np.float32(0.25), np.int8(1)])
def test_numbers(value):
    found = check_number(value, "t", 0, 1)
    assert (found, type(found)) == (float(value), float)


@pytest.mark.parametrize("value", [-0.1, 1.1, True, math.nan, math.inf, -math.inf, "0", 1j, None])
def test_what_is_no_number_within_the_bounds(value):
    with pytest.raises(InputError, match="; expected a number from 0 to 1$"):
        check_number(value, "t", 0, 1, error=InputError)


def test_a_number_is_finite_and_may_have_to_be_above_its_bound():
    assert check_number(-1e308, "t") == -1e308
    for value in (math.inf, math.nan, 10**400):
        with pytest.raises(ConfigError):
            check_number(value, "t")
    assert check_number(1e-300, "t", 0, above=True) == 1e-300
    with pytest.raises(ConfigError, match="^t is 0; expected more$"):
        check_number(0, "t", 0, above=True, expected="more")


def test_choices():
    check_choice("a", "mode", ["a", "b"])
    with pytest.raises(ConfigError, match="^mode is 'c'; expected a or b$"):
        check_choice("c", "mode", {"a": 1, "b": 2})
    with pytest.raises(InputError, match=r"^mode is \['a'\]; expected one of a, b, c$"):
        check_choice(["a"], "mode", "abc", error=InputError)
