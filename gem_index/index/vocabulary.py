"""The words of a collection, for the correction of mistyped words."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import cache
from heapq import merge
from io import BytesIO, TextIOWrapper
from itertools import groupby
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from gem_index.text.analyzer import Analyzer, is_unspaced
from gem_index.text.languages import NONE
from gem_index.text.tokens import frequent_english

__all__ = [
    "VOCABULARY",
    "StoredVocabulary",
    "Vocabulary",
    "WordsToStore",
    "may_be_mistyped",
    "words_to_keep",
]

VOCABULARY = "vocabulary.txt"
"""The name of the file of words, one per line, in the folder of the word index."""

_LEAST = 5  # letters of the shortest word that may have one error
_LONG = 9  # letters of the shortest word that may have two errors
_LONGEST = 40  # letters of the longest word that is corrected
_RUN = 1 << 14
"""Different tokens of a sorted run; no other thread runs while they are sorted (6 ms)."""


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


def _errors_allowed(word: str) -> int:
    return 1 if len(word) < _LONG else 2


def _near(word: str, others: Sequence[str]) -> dict[str, int]:
    """Return the words among others that differ from a word by few errors, each with its number of errors.

    One error is allowed, or two if ``word`` has nine letters or more. An error is a missing, added or wrong letter, or two
    letters that changed places (optimal string alignment).
    """
    from rapidfuzz import process
    from rapidfuzz.distance import OSA

    found = process.extract(
        word, others, scorer=OSA.distance, score_cutoff=_errors_allowed(word), limit=None
    )
    return {near: int(errors) for near, errors, _ in found}


class _ManyWords:
    """Many words in a file, and which letters each has, so that most words need not be compared with a mistyped one.

    Python's own strings would take four times the memory, and no other thread would run while they are compared.

    Parameters
    ----------
    lines : memoryview
        The words in UTF-8, each with a line break after it.
    """

    def __init__(self, lines: memoryview) -> None:
        self._lines = lines
        self._ends = np.flatnonzero(np.frombuffer(lines, np.uint8) == ord("\n"))
        characters = _characters(str(lines, "utf-8"))
        begins = np.flatnonzero(characters == ord("\n"))[:-1] + 1
        self._letters = np.bitwise_or.reduceat(_bits(characters), np.append(0, begins))

    def near(self, word: str) -> dict[str, int]:
        """Return the near words; see :func:`_near`."""
        asked = np.bitwise_or.reduce(_bits(_characters(f"{word}\n")))
        # an error takes away at most one letter and adds at most one
        others = np.bitwise_count(self._letters ^ asked) <= 2 * _errors_allowed(word)
        return _near(word, [self._word(place) for place in np.flatnonzero(others).tolist()])

    def _word(self, place: int) -> str:
        begin = self._ends[place - 1] + 1 if place else 0
        return str(self._lines[begin : self._ends[place]], "utf-8")


def _characters(text: str) -> npt.NDArray[np.uint32]:
    return np.frombuffer(text.encode("utf-32-le"), np.uint32)


def _bits(characters: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint64]:
    """Return one of 64 bits for each character; different characters may have the same bit."""
    bits: npt.NDArray[np.uint64] = np.uint64(1) << (characters.astype(np.uint64) & np.uint64(63))
    return bits


class Vocabulary:
    """Distinct words; words can be added while other threads search.

    Parameters
    ----------
    words : iterable of str
    """

    def __init__(self, words: Iterable[str] = ()) -> None:
        # by first letter, because no other thread runs while a set grows
        self._known: defaultdict[str, set[str]] = defaultdict(set)
        # words are only appended to these lists, because another thread may be searching in them
        self._by_letter: defaultdict[str, list[str]] = defaultdict(list)
        self.add(words)

    def add(self, words: Iterable[str]) -> None:
        """Add words; only one thread may do this at a time."""
        for word in words:
            letter = word[0]
            if word not in self._known[letter]:
                self._known[letter].add(word)
                self._by_letter[letter].append(word)

    def near(self, word: str) -> dict[str, int]:
        """Return the words with the same first letter that differ by few errors, with their numbers of errors."""
        return _near(word, self._by_letter.get(word[0], []))


class WordsToStore:
    """The words of texts that will be in a file of words.

    They are kept as sorted runs of bytes: a set of two million words would take 200 MB, and no other thread would run while
    it grows, is sorted, or is visited by the collection of garbage.
    """

    def __init__(self) -> None:
        self._tokens: set[str] = set()
        self._runs: list[bytes] = []

    def add(self, tokens: Iterable[str]) -> None:
        """Add the tokens of a text; those that cannot be corrections of mistyped words are left out."""
        self._tokens.update(tokens)
        if len(self._tokens) >= _RUN:
            self._end_run()

    def write(self, folder: Path, others: Sequence[Path] = ()) -> None:
        """Write the words, and those in the files of other folders, into a folder: sorted, one per line.

        Other folders without such a file have no words.
        """
        self._end_run()
        paths = [other / VOCABULARY for other in others]
        with ExitStack() as files:
            old = [
                files.enter_context(_reading(path.open("rb"))) for path in paths if path.exists()
            ]
            runs = [_reading(BytesIO(run)) for run in self._runs]
            file = files.enter_context(
                (folder / VOCABULARY).open("w", encoding="utf-8", newline="\n")
            )
            file.writelines(line for line, _ in groupby(merge(*old, *runs)))

    def _end_run(self) -> None:
        lines = (f"{word}\n" for word in sorted(words_to_keep(self._tokens)))
        self._runs.append("".join(lines).encode())
        self._tokens = set()


def _reading(file: BinaryIO) -> TextIOWrapper:
    return TextIOWrapper(file, encoding="utf-8", newline="\n")


class StoredVocabulary:
    """The words that :meth:`WordsToStore.write` wrote into a folder; the words of a letter are read when they are asked for.

    There are no words if an earlier version of gem-index wrote the folder. The file stays open, so it may be removed.
    """

    def __init__(self, folder: Path) -> None:
        path = folder / VOCABULARY
        self._data: mmap | bytes = b""
        if path.exists() and path.stat().st_size:
            with path.open("rb") as file:
                self._data = mmap(file.fileno(), 0, access=ACCESS_READ)
        self._by_letter: dict[str, _ManyWords | None] = {}  # those that were asked for

    def near(self, word: str) -> dict[str, int]:
        """Return the near words; see :meth:`Vocabulary.near`."""
        letter = word[0]
        if letter not in self._by_letter:
            lines = self._lines(letter.encode())
            self._by_letter[letter] = _ManyWords(lines) if lines else None
        words = self._by_letter[letter]
        return words.near(word) if words else {}

    def _lines(self, first: bytes) -> memoryview:
        """Return the words that begin with a letter, sorted, one per line."""
        after = first + b"\xff"  # no character has this byte
        begin, end = self._place_of(first), self._place_of(after)
        end = self._data.rfind(b"\n", begin, end) + 1  # a file that was cut ends within a word
        return memoryview(self._data)[begin:end]

    def _place_of(self, prefix: bytes) -> int:
        """Return the position of the first line that is not less than some bytes: lines ascend by their bytes."""
        low, high = 0, len(self._data)
        while low < high:
            middle = (low + high) // 2
            begin = max(low, self._data.rfind(b"\n", low, middle) + 1)
            end = self._data.find(b"\n", middle) + 1 or high
            if self._data[begin:end] < prefix:
                low = end
            else:
                high = begin
        return low
