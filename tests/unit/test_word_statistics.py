"""Statistics of words: those of parts together are those of all texts."""

import pytest

from gem_index.index.word_statistics import WordStatistics

TEXTS = [["tea", "tea", "bank"], [], ["bank"], ["visa", "tea"]]


def counted(texts):
    found = WordStatistics()
    for terms in texts:
        found.count(terms)
    return found


@pytest.mark.parametrize("cut", range(5))
def test_parts_are_added_up(cut):
    first, second = counted(TEXTS[:cut]), counted(TEXTS[cut:])
    first.add(second)
    assert first == counted(TEXTS)
    assert (first.texts, first.terms, first.mean_terms) == (4, 6, 1.5)
    assert first.frequencies == {"tea": 2, "bank": 2, "visa": 1}
    assert second == counted(TEXTS[cut:])


def test_of_no_texts():
    assert (WordStatistics().mean_terms, WordStatistics().frequencies) == (0, {})
