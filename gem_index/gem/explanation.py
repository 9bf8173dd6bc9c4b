"""Explain a vector by the weights of its words."""

from __future__ import annotations

from dataclasses import dataclass

from gem_index.notebook import html_table

__all__ = ["Explanation", "WordWeight"]


@dataclass(frozen=True)
class WordWeight:
    """One word of an explained sentence: its three scores and their sum (Eqs. 4, 6, 9, 10)."""

    token: str
    known: bool
    alpha_n: float
    alpha_s: float
    alpha_u: float
    alpha: float


@dataclass(frozen=True, repr=False)
class Explanation:
    """The weight of each word of a sentence, in order."""

    text: str
    fingerprint: str
    words: tuple[WordWeight, ...]

    def __repr__(self) -> str:
        words = ", ".join(f"{word.token} {word.alpha:.2f}" for word in self.words[:10])
        more = f", … {len(self.words)} words" if len(self.words) > 10 else ""
        return f"Explanation({words}{more})"

    def _repr_html_(self) -> str:
        return html_table(
            ("word", "novelty", "significance", "uniqueness", "weight"),
            (
                (
                    word.token if word.known else f"{word.token} (unknown)",
                    *(f"{part:.3f}" for part in (word.alpha_n, word.alpha_s, word.alpha_u)),
                    f"{word.alpha:.3f}",
                )
                for word in self.words
            ),
        )
