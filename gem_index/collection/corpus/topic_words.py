"""The words that distinguish groups of texts from each other."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from copy import copy
from functools import lru_cache

import regex

from gem_index.text.analyzer import Analyzer, is_unspaced
from gem_index.text.stop_words import stop_words
from gem_index.text.tokens import tokenize

__all__ = ["TopicWords", "topic_names"]

_WORDS = 5
_REMEMBERED = 1 << 16
_NO_WORDS = regex.compile(
    r"(?:https?://|www\.)\S+|\S+@[\w-]+\.\S+|&#?\w{2,10};"  # URLs, mail addresses, HTML entities
)
_NAMING = 3  # words in the name of a topic
_CODE = regex.compile(
    r"(?=[a-f]*[0-9])[0-9a-f_]{8,}|\d.*"
)  # a hexadecimal id, or a number with its unit


class TopicWords:
    """Counts the words of groups of texts, text by text.

    Parameters
    ----------
    analyzer : Analyzer
        Turns words into stems.
    groups : int
        The number of groups.
    """

    def __init__(self, analyzer: Analyzer, groups: int) -> None:
        self._counts = [Counter[str]() for _ in range(groups)]
        self._texts = 0
        self._forms: dict[str, Counter[str]] = {}
        self._stop = stop_words(analyzer.language)

        @lru_cache(_REMEMBERED)
        def stems(word: str) -> tuple[tuple[str, str], ...]:
            """Return the stems of a word, each with a written form; scripts without blanks have several stems."""
            found = analyzer.words(word)
            if is_unspaced(word):
                return tuple((stem, stem) for stem in found if stem not in self._stop)
            if word in self._stop:
                return ()
            return tuple((stem, word) for stem in found[:1])

        self._stems = stems

    def add(self, group: int, text: str) -> None:
        """Count each stem of a text once, and the written words with this stem; ignore URLs and HTML entities."""
        found = {
            pair for word in set(tokenize(_NO_WORDS.sub(" ", text))) for pair in self._stems(word)
        }
        for stem, word in found:
            self._forms.setdefault(stem, Counter())[word] += 1
        self._counts[group].update({stem for stem, _ in found})
        self._texts += 1

    def joined(self, groups: Sequence[int]) -> TopicWords:
        """Return the counts of larger groups; ``groups`` has, for each group, the number of its larger group."""
        larger = copy(self)
        larger._counts = [Counter[str]() for _ in range(max(groups) + 1)]
        for counts, group in zip(self._counts, groups, strict=True):
            larger._counts[group].update(counts)
        return larger

    def telling(self) -> list[tuple[str, ...]]:
        """Return, for each group, the words that distinguish it best from all texts, the best word first.

        The score of a stem is p log(p / q) · (1 - e).

        - p is the share of the stem among the stems of the group, and q is its share among all stems. p log(p / q) is
          the stem's part of the divergence of the group's words from all words.
        - e, from 0 to 1, is the normalised entropy of the stem's shares: it tells how evenly the groups use the stem.
          So a word that most groups have, such as the name of a company, has a low score.

        A single group cannot be compared with other groups. Then the score is p log(1 + t / n), where t is the number
        of texts, and n is the number of texts with the stem.

        Stop words of the language, numbers and hexadecimal ids are left out, because they describe no topic.
        """
        total = Counter[str]()
        for counts in self._counts:
            total.update(counts)
        sizes = [max(counts.total(), 1) for counts in self._counts]
        named = [stem for stem in total if self._is_name(stem)]
        shares = {
            stem: [counts[stem] / size for counts, size in zip(self._counts, sizes, strict=True)]
            for stem in named
        }
        # each count is increased by one; otherwise a stem that occurs only once would be as uneven as possible
        evenness = {
            stem: _evenness(
                [
                    (counts[stem] + 1) / size
                    for counts, size in zip(self._counts, sizes, strict=True)
                ]
            )
            for stem in named
        }
        every = max(total.total(), 1)
        found = []
        for group, counts in enumerate(self._counts):
            scores = {
                stem: shares[stem][group]
                * (
                    math.log(shares[stem][group] * every / total[stem]) * (1 - evenness[stem])
                    if len(self._counts) > 1
                    else math.log(1 + self._texts / total[stem])
                )
                for stem in counts
                if stem in shares
            }
            found.append(self._best(scores))
        return found

    def _is_name(self, stem: str) -> bool:
        return len(stem) > 1 and not _CODE.fullmatch(stem)

    def _best(self, scores: Mapping[str, float]) -> tuple[str, ...]:
        best = sorted((-score, stem) for stem, score in scores.items())
        return tuple(self._forms[stem].most_common(1)[0][0] for _, stem in best[:_WORDS])


def _evenness(shares: list[float]) -> float:
    """Return the entropy of shares, divided by its maximum: 1 for equal shares, 0 if only one share is not zero."""
    if len(shares) < 2:
        return 0.0
    size = sum(shares)
    entropy = -sum(each / size * math.log(each / size) for each in shares if each)
    return entropy / math.log(len(shares))


def topic_names(words: Sequence[tuple[str, ...]]) -> list[str]:
    """Return a name for each topic: the topic's first words, with a number if an earlier topic has the same name."""
    found: list[str] = []
    for each in words:
        name = ", ".join(each[:_NAMING]) or "no words"
        equal = sum(other.partition(" (")[0] == name for other in found)
        found.append(f"{name} ({equal + 1})" if equal else name)
    return found
