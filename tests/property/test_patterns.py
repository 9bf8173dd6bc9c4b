"""Patterns of .gitignore: the same answers as pathspec gives, in bounded time."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pathspec import GitIgnoreSpec

from gem_index.readers.patterns import Patterns

PARTS = ["a", "b", "ab", "*", "**", "?", "[ab]", "[!a]", "[*]", "\\*", "/", "/**/", "**/", ".", "-"]
NAMES = (
    st.lists(st.sampled_from("ab*.-"), min_size=1, max_size=6)
    .map("".join)
    .filter(lambda name: name != ".")
)


def is_valid(line):
    try:
        GitIgnoreSpec.from_lines([line])
    except ValueError:
        return False
    return True


@given(
    st.lists(st.sampled_from(PARTS), max_size=12).map("".join).filter(is_valid),
    st.lists(NAMES, min_size=1, max_size=6).map("/".join),
    st.sampled_from(["", "!"]),
    st.sampled_from(["", "/"]),
)
def test_each_pattern_matches_what_pathspec_matches(pattern, path, negation, end):
    line = negation + pattern
    if not is_valid(line):
        return
    wanted = (
        GitIgnoreSpec.from_lines([re.sub(r"\*{3,}", "**", line)]).check_file(path + end).include
    )
    if "[!" in line:  # pathspec lets a set match a slash
        assert Patterns([line]).say(path + end) in (wanted, None)
    else:
        assert Patterns([line]).say(path + end) == wanted


@pytest.mark.parametrize(
    ("lines", "path", "said"),
    [
        (["*.md", "!a.md"], "a.md", False),
        (["!a.md", "*.md"], "a.md", True),
        (["docs/", "!docs/a.md"], "docs/a.md", False),
        (["!docs/a.md", "docs/"], "docs/a.md", True),
        (["docs/", "!*/"], "docs/a.md", False),
        (["a/**/b/**/c"], "a/x/b/y/b/c", True),
        (["**/a*b/**/c"], "x/axb/ab/c", True),
        (["# a comment", ""], "# a comment", None),
        (["a[!b]c"], "a/c", None),
        (["a[+-9]c*d*e"], "a/cde", None),
        (["*[!a]*c"], "xbxc", True),
    ],
)
def test_the_last_pattern_counts(lines, path, said):
    assert Patterns(lines).say(path) == said


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*a" * 12 + "b", "a" * 254 + "c"),
        ("x/" + "a*" * 12 + "b/", "x/" + "a" * 255 + "/"),
        ("a**" * 12 + "b", "a" * 255),
        ("**/a/" * 12 + "b", "a/" * 2000 + "c"),
        ("/a/**/" + "a*a/**/" * 12 + "b", "aaaa/" * 800 + "c"),
    ],
)
def test_many_stars_take_bounded_time(pattern, path):
    started = time.process_time()
    assert not Patterns([pattern]).say(path)
    assert time.process_time() - started < 5  # centuries, if each star tries each length
