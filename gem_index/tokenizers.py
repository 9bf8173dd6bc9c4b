"""NLTK's other tokenizers, imported when one of them is asked for."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from html import unescape

__all__ = ["locate_words"]

_SPACE = re.compile(r"\s")


def locate_words(text: str, tokenizer: str) -> list[tuple[str, int, int]]:
    """Split a text by one of NLTK's tokenizers.

    Parameters
    ----------
    text : str
    tokenizer : {"treebank", "tweet", "toktok"}

    Returns
    -------
    list of (str, int, int)
        The tokens that hold an alphanumeric character, lower-cased after splitting, with begin and end in characters. A
        token that the tokenizer rewrote stands where the text goes on, with length 0.
    """
    found = []
    end = 0
    for token in _split(tokenizer)(_SPACE.sub(" ", text)):  # Treebank's rules know the blank alone
        word = unescape(token)  # toktok escapes & and |
        begin = text.find(word, end)
        if begin >= 0:
            end = begin + len(word)
        if any(map(str.isalnum, word)):
            found.append((word.lower(), end if begin < 0 else begin, end))
    return found


@cache
def _split(tokenizer: str) -> Callable[[str], list[str]]:
    from nltk.tokenize import ToktokTokenizer, TreebankWordTokenizer, TweetTokenizer

    makers = {"treebank": TreebankWordTokenizer, "tweet": TweetTokenizer, "toktok": ToktokTokenizer}
    split: Callable[[str], list[str]] = makers[tokenizer]().tokenize
    return split
