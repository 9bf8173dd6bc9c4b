"""What is told of work while it runs."""

import pytest

from gem_index import progress
from gem_index.progress import counted


@pytest.mark.parametrize(
    ("items", "total", "told"),
    [
        ([], None, [("read", 0, 0)]),
        (iter(()), 7, [("read", 0, 7)]),
        ("abc", None, [("read", 2, 3), ("read", 3, 3)]),
        (iter("abc"), None, [("read", 2, 0), ("read", 3, 3)]),  # how many there are is not known
        ("abcd", 9, [("read", 2, 9), ("read", 4, 9), ("read", 4, 9)]),
    ],
)
def test_items_are_counted_as_they_are_taken(monkeypatch, items, total, told):
    monkeypatch.setattr(progress, "_EVERY", 2)
    found = []
    taken = list(counted(items, "read", lambda *each: found.append(each), total))
    assert found == told
    assert taken == ["a", "b", "c", "d"][: len(taken)]


def test_without_a_listener_the_items_are_the_same_object():
    items = ["a"]
    assert counted(items, "read", None) is items
