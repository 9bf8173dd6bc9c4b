"""A filter as conditions that a database can check: never more than the filter demands."""

from __future__ import annotations

from typing import Any

import pytest

from gem_index.targets import Condition, conditions_of


@pytest.mark.parametrize(
    ("where", "conditions"),
    [
        ({"lang": "en"}, [Condition("lang", ("en",))]),
        (
            {"lang": {"$eq": "en"}, "new": True},
            [Condition("lang", ("en",)), Condition("new", (True,))],
        ),
        ({"year": {"$in": [1, 2.5, "x"]}}, [Condition("year", (1, 2.5, "x"))]),
        ({"year": -(2**53)}, [Condition("year", (-(2**53),))]),
        ({"n": {"$in": list(range(1000))}}, [Condition("n", tuple(range(1000)))]),
        ({"year": {"$gt": 1, "$lte": 9}}, [Condition("year", least=1), Condition("year", most=9)]),
        (
            {"$and": [{"a": 1}, {"$and": [{"b": "c"}]}]},
            [Condition("a", (1,)), Condition("b", ("c",))],
        ),
    ],
)
def test_what_engines_can_compare(where: dict[str, Any], conditions: list[Condition]) -> None:
    assert list(conditions_of(where)) == conditions


@pytest.mark.parametrize(
    "where",
    [
        {"lang": None},
        {"lang": {"$in": ["en", None]}},  # a missing field is accepted
        {"lang": {"$in": []}},
        {"lang": {"$in": [str(n) for n in range(1001)]}},
        {"lang": {"$ne": "en"}},
        {"lang": {"$like": "e%"}},
        {"lang": {"$contains": "e"}},
        {"lang": {"$gt": "en"}},  # engines order texts in other ways
        {"author.name": "A"},  # a nested field, or a name with a dot
        {"$or": [{"lang": "en"}, {"year": 1}]},
        {"$not": {"lang": "en"}},
        {"year": 2**53 + 1},  # engines round it
        {"year": {"$gt": float("inf")}},
        {},
    ],
)
def test_other_parts_of_a_filter_are_left_out(where: dict[str, Any]) -> None:
    assert conditions_of(where) == ()
    assert conditions_of({"$and": [where, {"a": 1}]}) == (Condition("a", (1,)),)


@pytest.mark.parametrize("text", ['a"b', "a\\b", "a\nb", "a\0"])
def test_strings_that_need_escapes_are_known(text: str) -> None:
    assert not Condition("a", (text,)).is_plain
    assert not Condition(text, ("a",)).is_plain
    assert Condition("it's", ("五 %", 1, True)).is_plain


def test_a_condition_with_few_values_is_short() -> None:
    assert Condition("a", tuple(range(20))).is_short
    assert not Condition("a", tuple(range(21))).is_short
