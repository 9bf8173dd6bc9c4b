"""The wordings of distinct texts: their trigrams, and their contrasts (numbers, negations, opposites, order)."""

from __future__ import annotations

import tempfile
from array import array
from collections.abc import Mapping, Sequence

import numpy as np

from gem_index.common.arrays import I32, I64
from gem_index.text.contrasts import TextFacts, contrast_of, text_facts
from gem_index.text.tokens import tokenize
from gem_index.text.trigrams import trigrams
from gem_index.text.wrappings import unwrap

__all__ = ["Wordings"]

_BLOCK = 1 << 22  # trigrams that are sorted at once


class Wordings:
    """Collects the wordings of texts, block by block. Texts have numbers, in the order in which they are added.

    The trigrams are mapped from a temporary file, so the system can reclaim their memory. Use a ``with``
    statement: when the block ends, the file is removed.
    """

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed by close
        self._sizes = array("i")
        self._numbers: dict[int, int] = {}  # the number of each trigram
        self._labels: dict[tuple[bool, tuple[str, ...]], int] = {}
        # for each label, whether its texts are negated, and the numbers in its texts
        self._keys: list[tuple[bool, tuple[str, ...]]] = []
        self._label_of = array("i")
        self._words = array("q")
        self._order = array("q")
        # for the number of a text, its opposites: its side of each pair of opposites
        self._signs: dict[int, Mapping[str, int]] = {}

    def __enter__(self) -> Wordings:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, texts: Sequence[str]) -> None:
        """Add texts."""
        for text in texts:
            bare = unwrap(text)
            tokens = tokenize(bare)
            facts = text_facts(bare, tokens)
            if facts.signs:
                self._signs[len(self._order)] = facts.signs
            key = (facts.negated, facts.numbers)
            label = self._labels.setdefault(key, len(self._labels))
            if label == len(self._keys):
                self._keys.append(key)
            self._label_of.append(label)
            self._words.append(facts.words)
            self._order.append(facts.order)
            numbers = self._numbers
            found = [numbers.setdefault(g, len(numbers)) for g in trigrams(tokens).tolist()]
            self._sizes.append(len(found))
            self._file.write(np.array(found, np.int32).tobytes())

    @property
    def labels(self) -> I32:
        """The label of each text (n,). Texts with different labels differ by a number or a negation."""
        return np.array(self._label_of, np.int32)

    def sets(self) -> tuple[I32, I64]:
        """Return the trigrams (m,) of all texts, and the position (n + 1,) at which each text's trigrams begin.

        The trigrams of a text ascend, and rare trigrams have small numbers. The array of trigrams is mapped from the
        file.
        """
        begins = np.concatenate([[0], np.cumsum(self._sizes, dtype=np.int64)])
        if not begins[-1]:
            return np.zeros(0, np.int32), begins
        self._file.flush()
        members = np.memmap(self._file, np.int32, "r+", shape=(int(begins[-1]),))
        counts = np.zeros(len(self._numbers), np.int64)
        for first in range(0, len(members), _BLOCK):
            counts += np.bincount(members[first : first + _BLOCK], minlength=len(counts))
        ranks = np.empty(len(counts), np.int64)
        ranks[np.argsort(counts, kind="stable")] = np.arange(len(counts))
        first = 0
        while first < len(begins) - 1:
            last = max(first + 1, int(np.searchsorted(begins, begins[first] + _BLOCK, "right")) - 1)
            part = slice(int(begins[first]), int(begins[last]))
            texts = np.repeat(np.arange(last - first), np.diff(begins[first : last + 1]))
            members[part] = np.sort((texts << 32) | ranks[members[part]]) & 0xFFFFFFFF
            first = last
        return members, begins

    def divide(self, texts: Sequence[int]) -> I32:
        """Return a number for each text; texts that differ by the order of words or by opposites have different numbers."""
        # for each set of words, a number for each order of the words
        orders: dict[int, dict[int, int]] = {}
        known: list[dict[str, int]] = []  # for each side, the opposites of all its texts
        numbers: dict[tuple[int, int], int] = {}
        found = np.empty(len(texts), np.int32)
        for place, text in enumerate(texts):
            of_words = orders.setdefault(self._words[text], {})
            order = of_words.setdefault(self._order[text], len(of_words))
            signs = self._signs.get(text, {})
            side = next(
                (i for i, each in enumerate(known) if _agree(each, signs)),
                len(known),
            )
            if side == len(known):
                known.append({})
            known[side].update(signs)
            found[place] = numbers.setdefault((order, side), len(numbers))
        return found

    def contrasts(self, first: int, others: Sequence[int]) -> tuple[str | None, ...]:
        """Return the contrast of each text in ``others`` with the first text; see :func:`contrast_of`."""

        def facts(text: int) -> TextFacts:
            key = self._keys[self._label_of[text]]
            signs = self._signs.get(text, {})
            return TextFacts(*key, self._words[text], self._order[text], signs)

        return tuple(contrast_of(facts(first), facts(other)) for other in others)


def _agree(one: Mapping[str, int], other: Mapping[str, int]) -> bool:
    return all(one.get(name, sign) == sign for name, sign in other.items())
