"""NLTK's other tokenizers, imported on first use."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from functools import cache
from html import unescape
from typing import NamedTuple

__all__ = ["locate_words"]

# Characters that a tokenizer would rewrite become blanks, so that each word stands in the text unchanged: white space other
# than a blank; the quotation marks that Treebank writes as `` and ''; & and |, which toktok escapes.
_BLANKS = {
    "treebank": re.compile(r'[\s"]'),
    "tweet": re.compile(r"\s"),
    "toktok": re.compile(r"\s|\||&(?=\s|$)"),
}
_ENTITY = re.compile(r"&(?:#\d+|#[xX][0-9a-fA-F]+|\w+);")
_NEAR = 1000  # a word is looked for in this many characters, so that time grows with the text


def locate_words(text: str, tokenizer: str) -> list[tuple[str, int, int]]:
    """Split a text by one of NLTK's tokenizers.

    Parameters
    ----------
    text : str
    tokenizer : {"treebank", "tweet", "toktok"}

    Returns
    -------
    list of (str, int, int)
        The tokens that hold an alphanumeric character, lower-cased after splitting, with begin and end in characters. HTML
        entities, which ``tweet`` resolves, belong to the word that they stand in.
    """
    plain, pieces = _resolve(text) if tokenizer == "tweet" else (text, [])
    plain = _BLANKS[tokenizer].sub(" ", plain)
    found = []
    end = 0
    for word in _split(tokenizer)(plain):
        begin = plain.find(word, end, end + len(word) + _NEAR)
        begin = end if begin < 0 else begin
        end = min(begin + len(word), len(plain))
        if any(map(str.isalnum, word)):
            found.append((word.lower(), begin, end))
    if not pieces:
        return found
    return [
        (
            word,
            pieces[_piece_at(pieces, begin)].begin_of(begin),
            pieces[_piece_at(pieces, end - 1)].end_of(end),
        )
        for word, begin, end in found
    ]


class _Piece(NamedTuple):
    """A piece of a text whose HTML entities are resolved, and its place in the original text."""

    start: int
    length: int
    begin: int
    end: int

    @property
    def is_entity(self) -> bool:
        return self.length != self.end - self.begin

    def begin_of(self, place: int) -> int:
        """Return where a word that begins at a place in the resolved text begins in the original text."""
        return self.begin if self.is_entity else self.begin + place - self.start

    def end_of(self, place: int) -> int:
        """Return where a word that ends at a place in the resolved text ends in the original text."""
        return self.end if self.is_entity else self.begin + place - self.start


def _piece_at(pieces: list[_Piece], place: int) -> int:
    return bisect_right(pieces, place, key=lambda piece: piece.start) - 1


def _resolve(text: str) -> tuple[str, list[_Piece]]:
    """Resolve HTML entities; return the pieces of the new text, none if there are no entities."""
    parts: list[str] = []
    pieces: list[_Piece] = []
    length = last = 0
    for match in _ENTITY.finditer(text):
        resolved = unescape(match[0])
        if resolved == match[0]:
            continue
        for part, begin, end in (
            (text[last : match.start()], last, match.start()),
            (resolved, *match.span()),
        ):
            if part:
                parts.append(part)
                pieces.append(_Piece(length, len(part), begin, end))
                length += len(part)
        last = match.end()
    if not pieces:
        return text, []
    if last < len(text):
        parts.append(text[last:])
        pieces.append(_Piece(length, len(text) - last, last, len(text)))
    return "".join(parts), pieces


@cache
def _split(tokenizer: str) -> Callable[[str], list[str]]:
    from nltk.tokenize import ToktokTokenizer, TreebankWordTokenizer, TweetTokenizer

    makers = {"treebank": TreebankWordTokenizer, "tweet": TweetTokenizer, "toktok": ToktokTokenizer}
    split: Callable[[str], list[str]] = makers[tokenizer]().tokenize
    return split
