"""Text to tokens (spec section 1): NLTK's ``wordpunct_tokenize``, lower-cased, without punctuation."""

from __future__ import annotations

import re
from importlib.resources import files

__all__ = ["frequent_english", "tokenize"]

# wordpunct_tokenize splits by ``\w+|[^\w\s]+``. A token is kept only if one of its characters is alphanumeric; ``\w`` is
# every alphanumeric character and the underscore, so no token of the second alternative is ever kept.
_WORD = re.compile(r"\w+")


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
    return [token.lower() for token in _WORD.findall(text) if token.strip("_")]


def frequent_english() -> list[str]:
    """Return the packaged list of frequent English words, the most frequent first."""
    return (files("gem_index") / "data" / "frequent_english.txt").read_text().split()
