"""Words that say nothing about the subject of a text."""

import pytest

from gem_index.text.languages import STEMMERS
from gem_index.text.stop_words import stop_words
from gem_index.text.tokens import frequent_english


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", "the what would"),
        ("auto", "the what would"),
        ("fr", "les sont quelles comment"),
        ("de", "der und ist wer wann"),
        ("es", "los para cómo"),
        ("ru", "и не когда"),
        ("nb", "og ikke"),
        ("zh", "什么 多少 的人"),
        ("ar", "ما في"),
        ("mul", "the les und"),
        ("none", "the les und"),
    ],
)
def test_words_without_a_subject(language, words):
    assert all(word in stop_words(language) for word in words.split())


@pytest.mark.parametrize(
    ("language", "word"),
    [("en", "die"), ("de", "les"), ("fr", "carte"), ("zh", "银行"), ("ar", "بنك"), ("ta", "the")],
)
def test_other_words_have_one(language, word):
    assert word not in stop_words(language)


def test_every_language_with_a_stemmer_is_accepted():
    for language in STEMMERS:
        assert "computer" not in stop_words(language)


@pytest.mark.parametrize(
    ("language", "norwegian", "german", "english"),
    [
        ("none", True, True, True),
        ("mul", True, True, True),
        ("nb", True, False, False),
        ("nn", True, False, False),
        ("en", False, False, True),
        ("auto", False, False, True),
        ("ja", False, False, False),
    ],
)
def test_whose_lists_a_language_has(language, norwegian, german, english):
    words = stop_words(language)
    assert [each in words for each in ("ikke", "nicht", "against")] == [norwegian, german, english]


def test_the_150_most_frequent_english_words_are_stop_words():
    assert [word in stop_words("en") for word in frequent_english()[:150]] == [True] * 150
