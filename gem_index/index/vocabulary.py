"""The words of a collection, for the correction of mistyped words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from gem_index.text.analyzer import Analyzer, is_unspaced
from gem_index.text.languages import NONE
from gem_index.text.tokens import frequent_english

__all__ = ["VOCABULARY", "Vocabulary", "may_be_mistyped", "words_to_keep"]

VOCABULARY = "vocabulary.txt"
"""The name of the file of words, one per line, in the folder of the word index."""

_LEAST = 5  # letters of the shortest word that may have one error
_LONG = 9  # letters of the shortest word that may have two errors
_LONGEST = 40  # letters of the longest word that is corrected


@cache
def _frequent() -> frozenset[str]:
    return frozenset(frequent_english())


def may_be_mistyped(token: str, analyzer: Analyzer) -> bool:
    """Tell whether a word of a query may be corrected; the caller has checked that no document contains the word.

    Short words, numbers, frequent English words and words of scripts without blanks are never corrected. If the
    language is ``none``, no word is corrected.
    """
    return (
        _LEAST <= len(token) <= _LONGEST
        and token.isalpha()
        and analyzer.language != NONE
        and not is_unspaced(token)
        and not (analyzer.knows_english and token in _frequent())
    )


def words_to_keep(tokens: Iterable[str]) -> Iterator[str]:
    """Iterate over the tokens that can be corrections of mistyped words."""
    return (token for token in tokens if _LEAST - 1 <= len(token) <= _LONGEST and token.isalpha())


class Vocabulary:
    """Distinct words; words can be added while other threads search.

    Parameters
    ----------
    words : iterable of str
    """

    def __init__(self, words: Iterable[str] = ()) -> None:
        self._known: set[str] = set()
        # words are only appended to these lists, because another thread may be searching in them
        self._by_letter: dict[str, list[str]] = {}
        self.add(words)

    def add(self, words: Iterable[str]) -> None:
        """Add words; only one thread may do this at a time."""
        for word in words:
            if word not in self._known:
                self._known.add(word)
                self._by_letter.setdefault(word[0], []).append(word)

    def words(self) -> Iterator[str]:
        """Iterate over the words."""
        for words in self._by_letter.values():
            yield from words

    def near(self, word: str) -> dict[str, int]:
        """Return the words that differ from a word by few errors, each with its number of errors.

        The first letter must be the same. One error is allowed, or two if ``word`` has nine letters or more.

        An error is a missing, added or wrong letter, or two letters that changed places (optimal string
        alignment).
        """
        from rapidfuzz import process
        from rapidfuzz.distance import OSA

        found = process.extract(
            word,
            self._by_letter.get(word[0], []),
            scorer=OSA.distance,
            score_cutoff=1 if len(word) < _LONG else 2,
            limit=None,
        )
        return {near: int(errors) for near, errors, _ in found}

    def write(self, folder: Path) -> None:
        """Write the words into a folder, sorted, one per line."""
        with (folder / VOCABULARY).open("w", encoding="utf-8", newline="\n") as file:
            for letter in sorted(
                self._by_letter
            ):  # sorted in parts, because one sort of all words would stop other threads
                file.writelines(f"{word}\n" for word in sorted(self._by_letter[letter]))

    @classmethod
    def read(cls, folder: Path) -> Vocabulary:
        """Return the words that :meth:`write` wrote; no words if an earlier version of gem-index wrote the folder."""
        path = folder / VOCABULARY
        return cls(path.read_text(encoding="utf-8").split("\n")[:-1]) if path.exists() else cls()
