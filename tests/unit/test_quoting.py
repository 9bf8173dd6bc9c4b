"""Values of unknown origin in messages."""

import pytest

from gem_index.errors.quoting import quoted, quoted_error, quoted_path


class Hostile:
    def __repr__(self):
        raise RuntimeError


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("visa", "'visa'"),
        ("a\rb\nc\x1b[2J", r"'a\rb\nc\x1b[2J'"),
        ("\ud800x\u202e", r"'\ud800x\u202e'"),
        (b"\xff", r"b'\xff'"),
        pytest.param(10**5000, "16610-bit integer", id="digits"),
        pytest.param({"a": [10**400, [[1]]]}, "{'a': [1329-bit integer, [[...]]]}", id="nested"),
        (2.5, "2.5"),
        (None, "None"),
        (Hostile(), "<Hostile>"),
    ],
)
def test_what_is_shown(value, shown):
    assert quoted(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"), [("x" * 100, "'xxxxxxx...'"), ([1234567, 8901234, 5], "[1234567...]")]
)
def test_what_is_cut_ends_as_it_did(value, shown):
    assert quoted(value, 12) == shown


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("a/b c.csv", "a/b c.csv"),
        ("x" * 12, "x" * 12),
        ("x" * 13, "'xxxxxxx...'"),
        ("a\nb", r"'a\nb'"),
    ],
)
def test_names_of_files(path, shown):
    assert quoted_path(path, 12) == shown
    assert quoted_path("y" * 200) == "y" * 200
    assert len(quoted_path("y" * 201)) == 200


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        (OSError(28, "No space left on device", "x"), "no space left on device"),
        (RuntimeError("Error in void f() at g.cpp:9: 0 != 1 (No space left on device)"), "no space left on device"),
        (ValueError("first\nsecond"), "first"),
        (ValueError("a\x1bb"), r"a\x1bb"),
        (KeyError(), "KeyError"),
    ],
)  # fmt: skip
def test_why_something_failed(error, shown):
    assert quoted_error(error) == shown


def test_an_object_that_is_shared_a_million_times_is_shown_in_bounded_length():
    shared = ["x"]
    for _ in range(200):
        shared = [shared, shared]
    for value in (shared, "x" * 10**6, list(range(10**6)), {str(i): i for i in range(1000)}):
        assert len(quoted(value)) <= 60
        assert len(quoted(value, 20)) <= 20
