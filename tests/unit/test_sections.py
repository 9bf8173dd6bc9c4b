"""Sections, blocks and units of texts: where they begin and end, and how they are counted."""

import pytest

from gem_index import Chunking
from gem_index.text.sections import blocks, common_path, holds_only_headings, sections_of
from gem_index.text.units import begin_of_last_units, blank_words, unit_spans, units, units_up_to


def found(text):
    return [
        (text[each.start : each.end], each.path, each.words)
        for each in sections_of(text, blank_words)
    ]


def test_a_text_before_the_first_heading_and_sections_under_headings():
    text = "before it\n\n# One\na b\n\n## Two\nc\n\n# Three\nd e f\n"
    assert found(text) == [
        ("before it", (), 2),
        ("# One\na b", ("One",), 4),
        ("## Two\nc", ("One", "Two"), 3),
        ("# Three\nd e f", ("Three",), 5),
    ]


def test_a_heading_without_text_belongs_to_the_section_below_it_only():
    text = "# One\n\n## Two\na\n\n# Empty\n\n# Three\nb\n\n## Four\n\n## Five\n"
    assert found(text) == [
        ("# One\n\n## Two\na", ("One", "Two"), 5),
        ("# Empty", ("Empty",), 2),
        ("# Three\nb", ("Three",), 3),
        ("## Four", ("Three", "Four"), 2),
        ("## Five", ("Three", "Five"), 2),
    ]


def test_two_empty_headings_in_a_row():
    text = "# One\n\n## Two\n\n### Three\na"
    assert found(text) == [(text, ("One", "Two", "Three"), 7)]


@pytest.mark.parametrize("mark", ["```", "~~~"])
def test_a_line_of_code_is_no_heading(mark):
    other = {"```": "~~~", "~~~": "```"}[mark]
    text = f"# One\n{mark}\n# no heading\n{other}\n# neither\n{mark}\n\n# Two\na"
    assert [path for _, path, _ in found(text)] == [("One",), ("Two",)]


@pytest.mark.parametrize(("length", "shown"), [(200, 200), (201, 200)])
def test_a_long_heading_is_cut(length, shown):
    [(_, [name], _)] = found(f"# {'x' * length}\na")
    assert len(name) == shown


def test_only_headings():
    assert holds_only_headings("# One\n\n## Two\n")
    assert not holds_only_headings("# One\na")


def test_the_headings_that_sections_share():
    sections = list(sections_of("# A\na\n## B\nb\n## C\nc\n", blank_words))
    assert common_path(sections[1:]) == ("A",)
    assert common_path(sections[1:2]) == ("A", "B")
    assert common_path([]) == ()


@pytest.mark.parametrize(
    ("text", "size", "expected"),
    [
        ("abcdefgh", 8, ["abcdefgh"]),
        ("abcdefghi", 8, ["abcdefgh", "i"]),
        (
            "ab\n\ncde f. g\nhi",
            8,
            ["ab\n\ncde ", "f. g\nhi"],
        ),  # the break of a paragraph is in the first half
        ("abcd\n\ne. g\nhi", 8, ["abcd\n\n", "e. g\nhi"]),
        ("abcde. g\nhijk", 10, ["abcde. g\n", "hijk"]),  # a line before a sentence
        ("abcd ef. hijk", 10, ["abcd ef. ", "hijk"]),  # a sentence before a word
        ("a bcd efghijkl", 8, ["a bcd ", "efghijkl"]),
    ],
)
def test_a_block_ends_at_the_best_break_of_its_second_half(text, size, expected):
    assert [text[begin:end] for begin, end in blocks(text, 0, len(text), size)] == expected


def test_blocks_of_a_part():
    assert list(blocks("xx abcd efgh xx", 3, 12, 6)) == [(3, 8), (8, 12)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("two words", ["two", "words"]),
        ("東京に行く", ["東", "京", "に", "行", "く"]),
        ("ภาษาไทยดี", ["ภาษา", "ไทยด", "ี"]),
        ("VPN是什么 ok", ["VPN", "是", "什", "么", "ok"]),
        ("", []),
    ],
)
def test_units(text, expected):
    assert [text[begin:end] for begin, end in unit_spans(text)] == expected
    assert units(text) == len(expected)


@pytest.mark.parametrize("words", [1, 2, 3, 4])
def test_units_are_counted_up_to_a_bound(words):
    long = " ".join(["x" * 40] * words)  # longer than a word usually is
    assert units_up_to(2, long, blank_words) == min(words, 3)
    assert units_up_to(words, long, blank_words) == words


def test_words_after_the_first_characters_count_too():
    assert units_up_to(2, f"{'a' * 15} {'b' * 15} ccc", blank_words) == 3


def test_where_the_last_units_begin():
    text = "a bc def"
    assert [begin_of_last_units(text, count) for count in (1, 2, 3, 4)] == [5, 2, 8, 8]


def test_automatic_pieces_have_150_words():
    text = " ".join(f"w{number}" for number in range(301))
    pieces = Chunking("auto").pieces(text)
    assert [blank_words(text[each.start : each.end]) for each in pieces] == [150, 150, 1]


@pytest.mark.parametrize("version", [1, 2, 3])
def test_pieces_have_the_headings_above_them_in_each_version(version):
    one, two, three = (" ".join([letter] * 12) for letter in "abc")
    text = f"# A\n{one}\n\n# B\n{two}\n\n## C\n{three}\n\n# Last\n\n"
    pieces = Chunking(12, version=version).pieces(text)
    assert [(text[each.start : each.end], each.heading) for each in pieces] == [
        (f"# A\n{one}", "A"), (f"# B\n{two}", "B"), (f"## C\n{three}", "B > C"), ("# Last", "Last"),
    ]  # fmt: skip
