"""Text to tokens (docs/algorithm.md, section 1): NLTK's ``wordpunct_tokenize``, lower-cased, without punctuation.

Texts are stored as they are given and compared in one form: each token has composed letters of ordinary width. So "é"
written as one character or as two is one letter, and full-width letters are ordinary ones.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from itertools import accumulate
from typing import Any, Literal, Self, TypeAlias

import regex

from gem_index.common.checks import check_number
from gem_index.errors import InputError
from gem_index.errors.quoting import quoted

__all__ = [
    "Tokenizer",
    "WeightedText",
    "check_text",
    "check_texts",
    "check_weight",
    "frequent_english",
    "has_symbols",
    "normalized_token",
    "search_tokens",
    "token_spans",
    "token_weights",
    "tokenize",
]

Tokenizer: TypeAlias = Literal["wordpunct", "treebank", "tweet", "toktok"]
"""NLTK's tokenizers that need no download."""

# NLTK matches with the ``regex`` package since 3.10.3: its \w also covers combining marks, which many scripts use inside
# words. On ASCII the standard engine finds the same words, faster.
_TOKEN = regex.compile(r"\w+|[^\w\s]+")
_ASCII_WORD = re.compile(r"[a-z0-9_]+")
_DECOMPOSED = regex.compile(r"\P{M}\p{M}+|[\u1100-\u11ff]+")  # letters with marks, Korean syllables
_OTHER_WIDTH = re.compile("[\uff00-\uffef]+")  # full-width letters, half-width kana

_JOINED = (
    r"(?:[.&/@]\w++|[+#]++\w*+)"  # possessive: no backtracking, so that time grows with the text
)
_WITH_SYMBOLS = regex.compile(
    rf"(?<![\w.])(?:\.\w++{_JOINED}*+|\w++{_JOINED}++|\w++(?=-))(?:-(?![\w-]))?"
)
_SYMBOL = re.compile(r"[.&/@+#-]")
# a run between blanks that contains such a symbol; if there is none, the standard engine notices it faster
_BESIDE_SYMBOLS = re.compile(r"(?<!\S)[^\s.&/@+#-]*+[.&/@+#-]\S*+")


def tokenize(text: str, tokenizer: Tokenizer = "wordpunct") -> list[str]:
    """Split a text into lower-case word tokens.

    Parameters
    ----------
    text : str
        Any Unicode text.
    tokenizer : str
        One of NLTK's tokenizers.

    Returns
    -------
    list of str
        The tokens of the tokenizer in order, each normalized and lower-cased after splitting; tokens without an
        alphanumeric character (punctuation, runs of underscores) are left out.
    """
    if tokenizer != "wordpunct":
        return [normalized_token(word) for word, _, _ in _locate_words(text, tokenizer)]
    if text.isascii():
        return [token for token in _ASCII_WORD.findall(text.lower()) if token.strip("_")]
    return [
        normalized_token(token) for token in _TOKEN.findall(text) if any(map(str.isalnum, token))
    ]


def normalized_token(token: str) -> str:
    """Return a token in the form in which tokens are compared: composed, of ordinary width, lower-case.

    Letters are composed with their marks as in NFC. Other characters stay, such as the square in "m²", or the ohm sign that
    NFC replaces by a letter: word vectors know them as they are written.
    """
    if token.isascii():
        return token.lower()
    ordinary = _OTHER_WIDTH.sub(lambda found: unicodedata.normalize("NFKC", found[0]), token)
    composed: str = _DECOMPOSED.sub(lambda found: unicodedata.normalize("NFC", found[0]), ordinary)
    return composed.lower()


def token_spans(text: str, tokenizer: Tokenizer = "wordpunct") -> list[tuple[int, int]]:
    """Return the begin and end of each token of :func:`tokenize` in the text, in characters."""
    if tokenizer != "wordpunct":
        return [(begin, end) for _, begin, end in _locate_words(text, tokenizer)]
    if text.isascii():
        found = (match for match in _ASCII_WORD.finditer(text.lower()) if match[0].strip("_"))
    else:
        found = (match for match in _TOKEN.finditer(text) if any(map(str.isalnum, match[0])))
    return [match.span() for match in found]


def _locate_words(text: str, tokenizer: Tokenizer) -> list[tuple[str, int, int]]:
    from gem_index.text.tokenizers import locate_words  # imports NLTK

    return locate_words(text, tokenizer)


class WeightedText(str):
    r"""A text whose parts have different weights, such as a subject that counts twice as much as its body.

    To other code it is an ordinary string. An encoder multiplies each word's contribution to the vector by the weight of
    its part; word search repeats each word by the rounded weight, at least once.

    Parameters
    ----------
    text : str
    weights : sequence of (int, float)
        Length in characters and weight (0.01 to 100) of each part; consecutive parts cover the whole text.

    Raises
    ------
    InputError
        If a weight is not a number from 0.01 to 100, or the lengths do not add up to the text's length.

    Examples
    --------
    >>> text = WeightedText.joined([("renew a visa", 2.0), ("where do I go?", 1.0)])
    >>> text
    'renew a visa\n\nwhere do I go?'
    >>> text.weights
    ((14, 2.0), (14, 1.0))
    """

    __slots__ = ("weights",)
    weights: tuple[tuple[int, float], ...]

    def __new__(cls, text: str, weights: Iterable[tuple[int, float]]) -> Self:  # noqa: D102 - documented above
        self = super().__new__(cls, check_text(text, "text"))
        if not isinstance(weights, Iterable):
            raise InputError(
                f"the parts of a text are {quoted(weights, 40)}; expected (length, weight) pairs"
            )
        found = []
        for part in weights:
            pair = tuple(part) if isinstance(part, list | tuple) else ()
            if len(pair) != 2 or type(pair[0]) is not int or pair[0] < 0:
                raise InputError(
                    f"a part of a text is {quoted(part, 40)}; expected (length, weight)"
                )
            found.append((pair[0], check_weight(pair[1], "the weight of a part of a text")))
        self.weights = tuple(found)
        if sum(length for length, _ in found) != len(text):
            raise InputError(
                f"the parts {quoted(found, 60)} do not add up to the {len(text)} characters of the text; "
                "expected parts that cover it"
            )
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.weights)

    @classmethod
    def joined(cls, parts: Sequence[tuple[str, float]]) -> str:
        """Join texts with weights by blank lines; the result is a plain string if all weights are equal."""
        text = "\n\n".join(part for part, _ in parts)
        for _, weight in parts:
            check_weight(weight, "the weight of a part of a text")
        if len({weight for _, weight in parts}) <= 1:
            return text
        *first, (last, weight) = parts
        return cls(text, [*((len(part) + 2, w) for part, w in first), (len(last), weight)])


_LIGHTEST, _HEAVIEST = 0.01, 100.0  # word search repeats a word by its weight


def check_weight(value: object, what: str) -> float:
    """Return the weight of a part of a text as a float.

    Raises
    ------
    InputError
        If it is not a number from 0.01 to 100.
    """
    bounds = f"a number above 0, from {_LIGHTEST:g} to {_HEAVIEST:g}"
    return check_number(value, what, _LIGHTEST, _HEAVIEST, expected=bounds, error=InputError)


def token_weights(text: WeightedText, tokenizer: Tokenizer = "wordpunct") -> list[float]:
    """Return the weight of each token of :func:`tokenize`."""
    ends = list(accumulate(length for length, _ in text.weights))
    spans = token_spans(text, tokenizer)
    return [text.weights[min(bisect_right(ends, begin), len(ends) - 1)][1] for begin, _ in spans]


def search_tokens(text: str) -> list[str]:
    """Return the tokens of a text for word search.

    They are the tokens of :func:`tokenize` and, in addition, words with symbols, such as ``c++``, ``.net``, ``at&t``, ``a-``
    and ``3.11.2``, which would be other words without their symbols. In a :class:`WeightedText` each token is repeated by
    the rounded weight of its part, at least once.
    """
    tokens = tokenize(text)
    if not isinstance(text, WeightedText):
        return tokens + _words_with_symbols(text)
    weighted = list(zip(tokens, token_weights(text), strict=True))
    end = 0
    for length, weight in text.weights:
        begin, end = end, end + length
        weighted += [(token, weight) for token in _words_with_symbols(text[begin:end])]
    return [token for token, weight in weighted for _ in range(max(1, round(weight)))]


def _words_with_symbols(text: str) -> list[str]:
    candidates = " ".join(_BESIDE_SYMBOLS.findall(normalized_token(text)))
    return list(filter(has_symbols, _WITH_SYMBOLS.findall(candidates)))


def has_symbols(token: str) -> bool:
    """Tell whether a token or its stem repeats other tokens: a word with symbols, or a part of a word."""
    return _SYMBOL.search(token) is not None


def frequent_english() -> list[str]:
    """Return the packaged list of frequent English words, the most frequent first."""
    return (files("gem_index") / "data" / "frequent_english.txt").read_text().split()


def check_text(text: object, what: str) -> str:
    """Return a text after checking that it can be shown and stored; ``what`` is its name in messages.

    Raises
    ------
    InputError
        If it is not a string, or holds half of a surrogate pair, as decoding bytes that are not UTF-8 may leave.
    """
    if not isinstance(text, str):
        raise InputError(f"the {what} is {quoted(text)} ({type(text).__name__}); expected a string")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"the {what} {quoted(text)} holds half of a surrogate pair, which is not a character; expected valid Unicode"
        ) from error
    return text


def check_texts(items: Iterable[object], what: str = "texts") -> None:
    """Check that items are a collection of values, not one string, a mapping or a table.

    Iterating over a string, a mapping or a table would give characters, keys or column names.

    Raises
    ------
    InputError
        If they are one string, a mapping, a table, or not iterable.
    """
    if isinstance(items, str | bytes | bytearray):
        raise InputError(
            f"found one string {quoted(items, 40)}; expected a list or another iterable of {what}"
        )
    kind = type(items)  # asking a lazy frame itself for its columns would compute its schema
    if isinstance(items, Mapping) or hasattr(kind, "columns") or hasattr(kind, "__dataframe__"):
        raise InputError(
            f"found a {type(items).__name__}; expected a list or another iterable of {what}: one column of a table, "
            "the values of a mapping"
        )
    if not isinstance(items, Iterable):
        raise InputError(
            f"found a {type(items).__name__}; expected a list or another iterable of {what}"
        )
