"""Words that say nothing about the subject of a text."""

import pytest

from gem_index.text.languages import STEMMERS
from gem_index.text.stop_words import stop_words


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
