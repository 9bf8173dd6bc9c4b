"""The trigrams by which two wordings are compared."""

import pytest

from gem_index.text.trigrams import trigrams


def shown(number):
    """The characters of a number, 21 bits each."""
    codes = [number >> shift & (1 << 21) - 1 for shift in (42, 21, 0)]
    return "".join(chr(code) for code in codes if code)


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        ([], []),
        (["tea"], [" te", "ea ", "tea"]),
        (["a", "b"], [" a ", " b ", "a b"]),
        (["gr\u00fc\u00df"], [" gr", "gr\u00fc", "r\u00fc\u00df", "\u00fc\u00df "]),
        (["\u6cb3\u8fb9\u6709"], ["\u6709", "\u6cb3", "\u8fb9", "\u6cb3\u8fb9", "\u8fb9\u6709"]),
        (["\u6cb3", "tea"], [" te", "ea ", "tea", "\u6cb3"]),
        (["tea", "tea"], [" te", "a t", "ea ", "tea"]),
    ],
)
def test_of_words_and_of_scripts_without_blanks(tokens, expected):
    found = trigrams(tokens).tolist()
    assert sorted(map(shown, found)) == sorted(expected)
    assert found == sorted(set(found))
