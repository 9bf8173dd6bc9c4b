"""The words that distinguish groups of texts from each other."""

from __future__ import annotations

import math
from collections import Counter

from gem_index.text.analyzer import Analyzer
from gem_index.text.tokens import frequent_english, tokenize

__all__ = ["TopicWords"]

_WORDS = 5
_FUNCTION_WORDS = 150  # the most frequent words of English, which describe no topic


class TopicWords:
    """Counts the words of groups of texts, text by text.

    Parameters
    ----------
    analyzer : Analyzer
        Makes stems of words.
    groups : int
        Number of groups.
    """

    def __init__(self, analyzer: Analyzer, groups: int) -> None:
        self._analyzer = analyzer
        self._counts = [Counter[str]() for _ in range(groups)]
        self._forms: dict[str, Counter[str]] = {}
        self._stems: dict[str, str] = {}

    def add(self, group: int, text: str) -> None:
        """Count each stem of a text once, and the words that it comes from."""
        found = set()
        for word in set(tokenize(text)):
            if word not in self._stems:
                self._stems[word] = next(iter(self._analyzer.words(word)), "")
            stem = self._stems[word]
            found.add(stem)
            self._forms.setdefault(stem, Counter())[word] += 1
        self._counts[group].update(found)

    def telling(self) -> list[tuple[str, ...]]:
        """Return for each group the words that distinguish it best from all texts, the best first.

        A stem counts p log(p / q), where p is its share of the group's stems and q its share of all stems. This is its part
        of the divergence of the group's words from all words. Words that all groups have in common count nothing. Function
        words and numbers are left out, because they describe no topic.
        """
        silent = {
            stem
            for word in frequent_english()[:_FUNCTION_WORDS]
            for stem in self._analyzer.words(word)
        }
        total = Counter[str]()
        for counts in self._counts:
            total.update(counts)
        every = total.total()
        found = []
        for counts in self._counts:
            size = counts.total()
            scores = {
                stem: held * math.log(held * every / (size * total[stem]))
                for stem, held in counts.items()
                if stem not in silent and len(stem) > 1 and not stem.isdigit()
            }
            best = sorted((-score, stem) for stem, score in scores.items())
            found.append(tuple(self._forms[stem].most_common(1)[0][0] for _, stem in best[:_WORDS]))
        return found
