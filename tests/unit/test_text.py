import pytest

from gem_index.errors import InputError
from gem_index.text import check_text, frequent_english, tokenize


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
