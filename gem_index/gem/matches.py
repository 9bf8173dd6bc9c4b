"""Explain why two texts match: their cosine as the sum of the shares of their word pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from gem_index.common.notebook import html_table
from gem_index.text.tokens import Tokenizer, check_text, token_spans, tokenize

__all__ = ["MatchExplanation", "MatchedPair", "MatchedWord", "explain_match"]

MOST_PAIRS = 100_000
"""The largest number of pairs in an explanation (two texts of 316 words); the pairs of two books would fill the memory."""


@dataclass(frozen=True)
class MatchedWord:
    """A word of one of two texts, ``text[begin:end]``, and its share of their cosine.

    ``same_word`` tells whether the other text has the word too, in this form or another form with the same term; None if
    this was not computed.
    """

    token: str
    begin: int
    end: int
    share: float
    same_word: bool | None = None


@dataclass(frozen=True)
class MatchedPair:
    """A word of the first text and a word of the second, by their positions, and the share of the pair in the cosine."""

    first: int
    second: int
    share: float


@dataclass(frozen=True, repr=False)
class MatchExplanation:
    """Why two texts match.

    The shares of all pairs, of the first text's words, and of the second text's words each add up to ``cosine``. A negative
    share lowers the cosine. ``pairs`` has the strongest 100,000 pairs, the strongest first.
    """

    first: str
    second: str
    fingerprint: str
    cosine: float
    first_words: tuple[MatchedWord, ...]
    second_words: tuple[MatchedWord, ...]
    pairs: tuple[MatchedPair, ...]

    def __repr__(self) -> str:
        best = ", ".join(f"{a} ~ {b} {share:.2f}" for a, b, share in self._named(5))
        return f"MatchExplanation({self.cosine:.3f}: {best})"

    def _repr_html_(self) -> str:
        rows = ((a, b, f"{share:.3f}") for a, b, share in self._named(20))
        return html_table(("first", "second", f"share of {self.cosine:.3f}"), rows)

    def _named(self, most: int) -> list[tuple[str, str, float]]:
        return [
            (self.first_words[p.first].token, self.second_words[p.second].token, p.share)
            for p in self.pairs[:most]
        ]


class WordVectors(Protocol):
    """An encoder whose sentence vectors are sums of vectors of their words."""

    @property
    def fingerprint(self) -> str:
        """Identity of the encoder."""
        ...

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer that splits texts into words."""
        ...

    def word_vectors(self, text: str) -> npt.NDArray[np.float64]:
        """Return the contribution of each word to the text's unit vector, (n, d)."""
        ...


def explain_match(encoder: WordVectors, first: str, second: str) -> MatchExplanation:
    """Split the cosine of two texts into the shares of their words; see the method of the encoders."""
    texts = check_text(first, "first text"), check_text(second, "second text")
    a, b = map(encoder.word_vectors, texts)
    shares = a @ b.T
    order = _largest(shares.ravel(), MOST_PAIRS)
    columns = max(1, shares.shape[1])
    return MatchExplanation(
        first,
        second,
        encoder.fingerprint,
        float(shares.sum()),
        _words(first, shares.sum(axis=1), encoder.tokenizer),
        _words(second, shares.sum(axis=0), encoder.tokenizer),
        tuple(
            MatchedPair(place // columns, place % columns, share)
            for place, share in zip(order.tolist(), shares.ravel()[order].tolist(), strict=True)
        ),
    )


def _largest(values: npt.NDArray[np.float64], most: int) -> npt.NDArray[np.int64]:
    """Return the positions of the largest values, largest first; equal values keep their order."""
    places = np.arange(len(values))
    if len(values) > most:
        places = np.sort(np.argpartition(-values, most)[:most])
    found: npt.NDArray[np.int64] = places[np.argsort(-values[places], kind="stable")]
    return found


def _words(
    text: str, shares: npt.NDArray[np.float64], tokenizer: Tokenizer
) -> tuple[MatchedWord, ...]:
    tokens, spans = tokenize(text, tokenizer), token_spans(text, tokenizer)
    return tuple(
        MatchedWord(token, *span, share)
        for token, span, share in zip(tokens, spans, shares.tolist(), strict=True)
    )
