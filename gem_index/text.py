"""Text to tokens (spec section 1): NLTK's ``wordpunct_tokenize``, lower-cased, without punctuation."""

from __future__ import annotations

import re
from importlib.resources import files

import regex

__all__ = ["frequent_english", "tokenize"]

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


def frequent_english() -> list[str]:
    """Return the packaged list of frequent English words, the most frequent first."""
    return (files("gem_index") / "data" / "frequent_english.txt").read_text().split()
