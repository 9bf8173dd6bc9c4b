import pytest

from gem_index.errors import InputError
from gem_index.text.tokens import (
    check_text,
    check_texts,
    frequent_english,
    has_symbols,
    search_tokens,
    token_spans,
    tokenize,
)


def test_splits_at_punctuation_and_lower_cases():
    text = "Don't STOP-believing: 3.14 e-mail@example.com!"
    expected = ["don", "t", "stop", "believing", "3", "14", "e", "mail", "example", "com"]
    assert tokenize(text) == expected


def test_leaves_out_tokens_without_a_letter_or_digit():
    assert tokenize("... ___ -- _ !? \n\t") == []
    assert tokenize("_a_ __1") == ["_a_", "__1"]


def test_lower_cases_after_splitting_and_keeps_marks_with_their_letters():
    assert tokenize("\u0130stanbul") == ["i\u0307stanbul"]
    assert tokenize("\u0939\u093f\u0928\u094d\u0926\u0940 10\u00b2") == [
        "\u0939\u093f\u0928\u094d\u0926\u0940",
        "10",
        "\u00b2",
    ]


@pytest.mark.parametrize(
    ("text", "further"),
    [
        ("C++, C# and (F#)!", ["c++", "c#", "f#"]),
        (".NET 8, ASP.NET or node.js.", [".net", "asp.net", "node.js"]),
        ("AT&T sent A+, not A- (twice)", ["at&t", "a+", "a-"]),
        ("from 3.11.2 to v3.12", ["3.11.2", "v3.12"]),
        ("ask help@example.org on 24/7 I/O", ["help@example.org", "24/7", "i/o"]),
        ("R\uff06D and C\uff0b\uff0b", ["r&d", "c++"]),
        ("an e-mail, well--known; the end. And a_b", []),
        ("... ++ -- & .", []),
    ],
)
def test_words_with_symbols_are_further_tokens_of_a_word_search(text, further):
    assert search_tokens(text) == tokenize(text) + further
    assert all(map(has_symbols, further))
    assert not any(map(has_symbols, tokenize(text)))


def test_time_for_symbols_grows_with_the_text():
    """Hostile runs: 2 million characters in seconds, where backtracking would take hours."""
    for part in ("a.", "a-", "+", "x", ".", "a&+", "@a#"):
        search_tokens(part * (2_000_000 // len(part)))


def test_frequent_english_is_a_clean_list_in_order():
    words = frequent_english()
    assert len(words) >= 1500
    assert len(set(words)) == len(words)
    assert words[:3] == ["the", "of", "and"]
    assert all(tokenize(word) == [word] for word in words)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (5, r"the query is 5 \(int\); expected a string"),
        (None, r"the query is None \(NoneType\); expected a string"),
        ("a\ud800", "holds half of a surrogate pair"),
    ],
)
def test_anything_but_text_is_reported(text, message):
    with pytest.raises(InputError, match=message):
        check_text(text, "query")
    assert check_text("a bank", "query") == "a bank"


def test_the_places_of_tokens_are_those_of_the_tokens():
    for text in ("__ a _b_ 1", "__ \u00e9 _b_ 1"):
        assert [text[begin:end].lower() for begin, end in token_spans(text)] == tokenize(text)
        assert len(tokenize(text)) == 3


class _Frame:
    """A table of a library that offers the interchange protocol of data frames, and has no attribute columns."""

    def __dataframe__(self):
        raise AssertionError("a table is not read here")

    def __iter__(self):
        return iter(["a"])


@pytest.mark.parametrize(
    ("items", "found"),
    [
        ("ab", "one string 'ab'"),
        (b"ab", "one string b'ab'"),
        (bytearray(b"ab"), "one string"),
        ({"a": 1}, "a dict"),
        (_Frame(), "a _Frame"),
        (5, "a int"),
    ],
)
def test_what_is_no_list_of_texts(items, found):
    with pytest.raises(InputError, match=f"found {found}"):
        check_texts(items)
