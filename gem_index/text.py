"""Text to tokens (spec section 1): NLTK's ``wordpunct_tokenize``, lower-cased, without punctuation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from importlib.resources import files

import regex

from gem_index.errors import InputError
from gem_index.quoting import quoted

__all__ = ["check_text", "check_texts", "frequent_english", "token_spans", "tokenize"]

# NLTK matches with the ``regex`` package since 3.10.3: its \w also covers combining marks, without which words of many
# scripts would fall apart. On ASCII the standard engine finds the same words, faster.
_TOKEN = regex.compile(r"\w+|[^\w\s]+")
_ASCII_WORD = re.compile(r"[a-z0-9_]+")


def tokenize(text: str) -> list[str]:
    """Split a text into lower-case word tokens.

    Parameters
    ----------
    text : str
        Any Unicode text.

    Returns
    -------
    list of str
        The tokens of ``nltk.wordpunct_tokenize`` in order, each lower-cased after splitting; tokens without an
        alphanumeric character (punctuation, runs of underscores) are left out.
    """
    if text.isascii():
        return [token for token in _ASCII_WORD.findall(text.lower()) if token.strip("_")]
    return [token.lower() for token in _TOKEN.findall(text) if any(map(str.isalnum, token))]


def token_spans(text: str) -> list[tuple[int, int]]:
    """Return where each token of :func:`tokenize` begins and ends in the text, in characters."""
    if text.isascii():
        found = (match for match in _ASCII_WORD.finditer(text.lower()) if match[0].strip("_"))
    else:
        found = (match for match in _TOKEN.finditer(text) if any(map(str.isalnum, match[0])))
    return [match.span() for match in found]


def frequent_english() -> list[str]:
    """Return the packaged list of frequent English words, the most frequent first."""
    return (files("gem_index") / "data" / "frequent_english.txt").read_text().split()


def check_text(text: object, what: str) -> str:
    """Return a text that can be shown and stored; ``what`` is how a message calls it.

    Raises
    ------
    InputError
        If it is not a string, or holds half of a surrogate pair: what is left of bytes that are not UTF-8.
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
    """Refuse what can be iterated over and is not a list of the kind: its characters, keys or column names would be taken.

    Raises
    ------
    InputError
        If it is one string, a mapping, or a table.
    """
    if isinstance(items, str | bytes | bytearray):
        raise InputError(
            f"found one string {quoted(items, 40)}; expected a list or another iterable of {what}"
        )
    if isinstance(items, Mapping) or hasattr(items, "columns") or hasattr(items, "__dataframe__"):
        raise InputError(
            f"found a {type(items).__name__}; expected a list or another iterable of {what}: of a table one column, "
            "of a mapping its values"
        )
    if not isinstance(items, Iterable):
        raise InputError(
            f"found a {type(items).__name__}; expected a list or another iterable of {what}"
        )
