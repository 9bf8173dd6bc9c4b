"""Explain a vector by the shares and weights of its words."""

from __future__ import annotations

from dataclasses import dataclass

from gem_index.common.notebook import html_table

__all__ = ["Explanation", "WordWeight"]


@dataclass(frozen=True)
class WordWeight:
    """One word of an explained sentence: its share in the vector, its three scores and their sum (Eqs. 4, 6, 9, 10).

    Attributes
    ----------
    token : str
    known : bool
        Whether the word vectors have the word.
    alpha_n, alpha_s, alpha_u : float
        Novelty, significance and uniqueness.
    alpha : float
        The weight: the sum of the scores that the configuration uses.
    share : float
        How much the word adds to the sentence's vector: the inner product of this vector and the word's part in it, which is
        the weight times the word vector after removal. The shares of a sentence add up to 1; a word whose vector points away
        from the sentence's vector has a negative share. All are 0 if the vector is zero.
    """

    token: str
    known: bool
    alpha_n: float
    alpha_s: float
    alpha_u: float
    alpha: float
    share: float


@dataclass(frozen=True, repr=False)
class Explanation:
    """The share and the weights of each word of a sentence, in order."""

    text: str
    fingerprint: str
    words: tuple[WordWeight, ...]

    def __repr__(self) -> str:
        strongest = sorted(self.words, key=lambda word: -word.share)[:10]
        words = ", ".join(f"{word.token} {word.share:z.2f}" for word in strongest)
        more = f", … {len(self.words)} words" if len(self.words) > 10 else ""
        return f"Explanation({words}{more})"

    def _repr_html_(self) -> str:
        return html_table(
            ("word", "share", "novelty", "significance", "uniqueness", "weight"),
            (
                (
                    word.token if word.known else f"{word.token} (unknown)",
                    *(
                        f"{part:z.3f}"
                        for part in (word.share, word.alpha_n, word.alpha_s, word.alpha_u)
                    ),
                    f"{word.alpha:.3f}",
                )
                for word in self.words
            ),
        )
