"""Removing HTML, quoted replies and signatures from texts."""

import itertools

import pytest

from gem_index.errors import ConfigError
from gem_index.readers.cleaning import (
    cleaning_of,
    is_html,
    strip_html,
    strip_quotes,
    strip_signature,
)

HTML = [
    ("<p>Hello <b>you</b> &amp; me</p><p>Second</p>", "Hello you & me\n\nSecond"),
    ("one<br>two<BR/>three", "one\ntwo\nthree"),
    ("in\n  one line<br>second", "in one line\nsecond"),
    ("<ul>\n<li>a</li>\n<li>b</li>\n</ul>", "a\nb"),
    ("<table><tr><td>1</td><td>2</td></tr><tr><td>3</td></tr></table>end", "1 2\n3\n\nend"),
    ("<table><tr><th>a</th><th>b</th></tr><tr><td>1</td></tr></table>", "a b\n1"),
    ("<!DOCTYPE html>\n<?xml version='1.0'?>x", "x"),
    ("<select><option>a</option><option>b</option></select>c", "a\nb\n\nc"),
    ("<dl><dt>a</dt><dd>b</dd></dl>c", "a\nb\n\nc"),
    ("<p>in\n   one\tline</p>", "in one line"),
    ("</pre>x  y<pre>a\n  b</pre>c  d", "x y\n\na\n  b\n\nc d"),
    ("<pre>a\n  b</pre>after", "a\n  b\n\nafter"),
    ("some <b>bold</b>\n\nparagraph", "some bold\n\nparagraph"),
    ("<script>var x='<p>'</script>text<style type='a'>p {}</style>", "text"),
    ("a</script> <b>b</b> c<script>x</script>d</style>e<style>y</style>", "a b cde"),
    ("<!DOCTYPE html><!-- a <b> c --><html><body>x</body></html>", "x"),
    ("<a href=\"http://x/?a>b\" title='&lt;'>link</a>", "link"),
    ("<div class=one data-x='1'hidden>z</div>", "z"),
    ("I&#39;m &#x41; caf&eacute;&nbsp;owner\nline two", "I'm A caf\u00e9 owner\nline two"),
    ("soft&shy;ware<br>hard&#xad;ware", "software\nhardware"),
    ("&lt;b&gt; is bold", "<b> is bold"),
    ("a<br>&amp;lt;", "a\n&lt;"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), HTML)
def test_html(text, expected):
    assert strip_html(text) == expected
    assert is_html(text)


@pytest.mark.parametrize(
    "text",
    [
        "a < b and c > d", "if a<b and c>d: <T>", "List<String> m = new Map<K, V>()", "AT&T ?a=1&copy=2 &c.",
        "&copyright; &nosuchname; &", "x <- y <= z <> w", "<me@example.org> wrote", "<http://example.org>",
        "i < 5 && j > 3", "#include <stdio.h>", "<", "<!", "<!--", "</", "<p", "<p class='x", "</p x>", "tom & jerry",
        "1 <b", "a \0 b", " spaces \n\n\n stay ",
    ],
)  # fmt: skip
def test_plain_text_and_code_are_no_html(text):
    assert strip_html(text) == text
    assert not is_html(text)
    assert cleaning_of(["auto"])(text) == text


@pytest.mark.parametrize(
    "text", ["Vector<Object> v", "the <b> tag", "use <script> for this &amp; that"]
)
def test_a_tag_alone_does_not_make_a_text_html(text):
    assert not is_html(text)
    assert cleaning_of(["auto"])(text) == text
    assert cleaning_of(["html"])(text) != text


def test_a_script_without_end_does_not_swallow_the_text():
    assert strip_html("a <script>b <p>c</p>") == "a b\n\nc"


MAIL = """Thanks, that works!

On Mon, 3 Mar 2025 at 10:00, Ann Example <ann@example.org>
wrote:
> Try this.
>> What?

And here: 5 > 4 -- is it?
> More.
-- \nBob
Head of all
"""


@pytest.mark.parametrize("names", [*itertools.permutations(["html", "quotes", "signatures"])])
def test_steps_have_one_order_however_they_are_named(names):
    page = "<p>Thanks</p><p>&gt; before</p><p>Yes &amp; no</p><pre>\n-- \nBob\n&gt; street</pre>"
    assert cleaning_of(names)(page) == "Thanks\n\nYes & no"


def test_mail():
    without = "Thanks, that works!\n\nAnd here: 5 > 4 -- is it?"
    assert cleaning_of(["signatures", "quotes"])(MAIL) == without
    assert strip_quotes(MAIL) == without + "\n-- \nBob\nHead of all"
    assert strip_signature(MAIL).endswith("> More.")


@pytest.mark.parametrize(
    "introduction",
    [
        "Am 3. M\u00e4rz 2025 um 10:00 schrieb Ann <a@b.c>:",
        "Le 3 mars 2025 \u00e0 10:00, Ann a \u00e9crit :",
        "El lun, 3 mar 2025, Ann escribi\u00f3:",
        "Il giorno lun 3 mar Ann ha scritto:",
    ],
)
def test_introductions_of_quotations(introduction):
    assert strip_quotes(f"Yes.\n\n{introduction}\n\n> No?\n") == "Yes."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Yes.\n    > code\nNo.\n   > quoted\n", "Yes.\n    > code\nNo."),
        ("Yes.\n\nOn Mon at 10:00, Ann wrote:\n\n\n> No?\n", "Yes."),
        ("On our trip it rained.\nOn Mon at 10:00, Ann wrote:\n> No?\n", "On our trip it rained."),
    ],
)
def test_what_belongs_to_a_quotation(text, expected):
    assert strip_quotes(text) == expected


def test_a_signature_begins_with_two_hyphens_with_or_without_a_blank():
    assert strip_signature("a\n--\nBob") == strip_signature("a\n-- \nBob") == "a"


def test_an_end_without_its_begin_does_not_make_a_text_html():
    assert not is_html("x </b> y </li> z")


def test_what_follows_an_original_message():
    assert strip_quotes("Yes.\n-----Original Message-----\nFrom: Ann\n\nNo?") == "Yes."


@pytest.mark.parametrize(
    "text",
    [
        "a\n\n\n\nb --", "On time, she wrote: fine", "x\n--\n" + "line\n" * 16, "> only a quotation",
        "-- \nonly a signature", "a -- b\n--- c\n", "a >= b\n = c > d",
    ],
)  # fmt: skip
def test_a_text_that_is_no_mail_or_nothing_else_stays(text):
    assert strip_signature(strip_quotes(text)) == text


@pytest.mark.parametrize(
    ("names", "problem"),
    [
        (["soap"], "the cleaning is 'soap'; expected a list of html, auto, quotes, signatures"),
        ("html", "the cleaning is 'html'; expected a list"),
        (["html", "auto"], "both html and auto; expected one"),
        ([5], "the cleaning is 5"),
    ],
)
def test_unknown_names(names, problem):
    with pytest.raises(ConfigError, match=problem):
        cleaning_of(names)


def test_no_cleaning():
    assert cleaning_of([])("<p>a</p>") == "<p>a</p>"


def test_what_is_said_about_an_unknown_cleaning_in_whole():
    for names in ("html", ["soap"]):
        with pytest.raises(ConfigError) as refused:
            cleaning_of(names)
        found = names if isinstance(names, str) else names[0]
        assert str(refused.value) == (
            f"the cleaning is {found!r}; expected a list of html, auto, quotes, signatures, or an empty list"
        )
    with pytest.raises(ConfigError) as refused:
        cleaning_of(["auto", "html"])
    assert str(refused.value) == "the cleaning is both html and auto; expected one of them"


@pytest.mark.parametrize("mark", ["<hr>", "<BR>", "<img src='a'>", "<p>", "<!-- a -->"])
def test_marks_that_make_a_text_html_alone(mark):
    assert is_html(f"a {mark} b")


@pytest.mark.parametrize(("lines", "kept"), [(14, False), (15, False), (16, True)])
def test_a_signature_has_at_most_fifteen_lines(lines, kept):
    text = "a\n-- \n" + "line\n" * lines
    assert strip_signature(text) == (text if kept else "a")


def test_what_is_removed_leaves_one_blank_line():
    assert strip_quotes("a\n\n\n\nb\n\n> c\n\n\nd\n") == "a\n\nb\n\nd"
