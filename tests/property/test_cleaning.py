"""Cleaning on any text: what has no markup is unchanged, tags do not remain, and time is proportional to the text."""

import html
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem_index.readers.cleaning import CLEANINGS, is_html, strip_html

WORDS = st.text("abc <>&;'\"=/!-\n\t.x1\u00e9", max_size=40)
PLAIN = st.text("abc \n.,x1\u00e9\u6771", max_size=40)
TAGS = ["b", "div", "p", "a", "span", "li", "td", "h1", "code", "font"]


@given(st.text())
def test_text_without_markup_is_unchanged(text):
    text = text.replace("<", "(").replace("&", "+")
    assert strip_html(text) == text
    assert not is_html(text)


@given(st.recursive(PLAIN.map(html.escape), lambda inner: st.builds(
    lambda tag, value, parts: f'<{tag} title="{html.escape(value)}">{"".join(parts)}</{tag}>',
    st.sampled_from(TAGS), PLAIN, st.lists(inner, max_size=4),
), max_leaves=12), PLAIN)  # fmt: skip
def test_tags_do_not_remain_and_words_do(document, word):
    found = strip_html(f"{document}<p>{word}</p>")
    assert "<" not in found
    assert "title=" not in found
    wanted = "".join(part.split(">")[-1] for part in f"{document}{word}".split("<"))
    assert "".join(found.split()) == "".join(html.unescape(wanted).split())


@given(WORDS)
def test_escaped_text_comes_back(text):
    escaped = html.escape(text)
    assert strip_html(escaped) == text


@given(WORDS)
def test_any_text_is_taken(text):
    for clean in CLEANINGS.values():
        clean(text)


HOSTILE = [
    "<", "<a", "<!--", "<script>", "<style><script>", '<a b="', "<a b='\"", "&#", "&a", '<a b="x" ', "\"<a '", "</", "<p>",
    "<pre>", "</p></pre>", "<br>", "\n>", "--\n", "<a b=\"<a b='", "On x wrote\n>", "&amp;", "<a ", "- - ", "<!doctype ",
]  # fmt: skip


@pytest.mark.parametrize("piece", HOSTILE)
def test_hostile_text_costs_no_more_than_its_length(piece):
    """With time by the square it would take hours."""
    text = piece * ((1_000_000 if piece == "<" else 300_000) // len(piece))
    began = time.process_time()
    for clean in CLEANINGS.values():
        clean(text)
    assert time.process_time() - began < 60
