"""Divide long texts into pieces at headings, paragraphs and sentences."""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

from gem_index.common.checks import check_whole_number
from gem_index.common.forking import cached_property
from gem_index.errors import ConfigError
from gem_index.errors.quoting import quoted
from gem_index.text.sections import Section, blocks, common_path, holds_only_headings, sections_of
from gem_index.text.units import begin_of_last_units, blank_words, units, units_up_to

__all__ = ["AUTO", "Chunking", "Piece"]

AUTO = "auto"
"""Divide long texts into pieces of the size that was the best in measurements (docs/evaluation.md)."""

_LONG = 250  # words; auto divides longer texts
_SIZE = 150  # words of a piece with auto
_LEAST = 10  # words; the smallest size of pieces that a user can choose
_MOST = 100_000  # words; the largest size of pieces that a user can choose
_BY_SECTIONS = 2  # from this version on, pieces follow sections
# from this version on, texts in scripts without blanks are measured in characters
_BY_SIGNS = 3
_BLOCK = 20_000
"""The characters of a block. A block is divided in one step. In a text without sentences, the time of this step grows with
the square of this number."""

_BLOCK_PER_WORD = 140
"""A block has at least this number of characters for each word of a piece: to divide a block into large pieces takes less
time."""
_PAGE_BREAK = re.compile("\f")
_HEADING = re.compile(r"^(#{1,6})[ \t]+(\S.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Piece:
    """A part of a text, with its own vector.

    Attributes
    ----------
    start, end : int
        The place of the piece in the text, in characters.
    heading : str
        The headings above the piece, the outermost first, joined by `` > ``; empty without headings.
    page : int, optional
        The page on which the piece begins, if form feeds divide the text into pages; the first page is 1.
    """

    start: int
    end: int
    heading: str = ""
    page: int | None = None


@dataclass(frozen=True)
class Chunking:
    """The rules that divide long texts into pieces.

    Parameters
    ----------
    chunk : int, "auto" or None
        The number of words of a piece (in Chinese and Japanese, the number of characters); None if texts are not divided.
    overlap : int
        The number of words that a piece shares with the piece before it.
    headings : bool
        Whether the text that is embedded for a piece begins with the headings above the piece.
    version : int
        3 for new collections; older collections may have 1 or 2. In version 1, a piece may contain the end of one section
        and the beginning of the next section. In versions 1 and 2, a word is what stands between two blanks, so a
        Chinese text is a single word.

    Raises
    ------
    ConfigError
        If a number is out of range.
    """

    chunk: int | str | None = None
    overlap: int = 0
    headings: bool = False
    version: int = _BY_SIGNS

    def __post_init__(self) -> None:
        if self.chunk not in (None, AUTO):
            sizes = f"auto, none, or a whole number from {_LEAST} to {_MOST}"
            check_whole_number(
                self.chunk, "the number of words of a piece", _LEAST, _MOST, expected=sizes
            )
        if self.version not in (1, _BY_SECTIONS, _BY_SIGNS):
            raise ConfigError(
                f"the chunking has version {quoted(self.version)}; expected at most {_BY_SIGNS}: "
                "upgrade gem-index"
            )
        overlap = check_whole_number(self.overlap, "the overlap", 0, expected="a number of words")
        if self.chunk is None and (overlap or self.headings):
            raise ConfigError(
                "found an overlap or headings, but texts are not divided; expected a size of the pieces"
            )
        if self.chunk is not None and overlap * 2 > self._size:
            raise ConfigError(
                f"the overlap is {overlap} words, and pieces have {self._size}; expected at most half of that"
            )

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> Chunking:
        """Return the chunking with the given :attr:`fields`."""
        return cls(**{"version": 1, **fields}) if fields else cls()

    @property
    def fields(self) -> dict[str, Any]:
        """The fields to store: settings that differ from the defaults, and the version if it is not 1."""
        version = {"version": self.version} if self.chunk is not None and self.version > 1 else {}
        return {**self.choices, **version}

    @property
    def choices(self) -> dict[str, Any]:
        """The settings that differ from the defaults, as JSON values."""
        given = {"chunk": self.chunk, "overlap": self.overlap, "headings": self.headings}
        return {name: value for name, value in given.items() if value}

    @property
    def _size(self) -> int:
        return _SIZE if self.chunk == AUTO else int(self.chunk or 0)

    @property
    def _longest(self) -> int:
        """The number of words up to which a text is not divided."""
        return _LONG if self.chunk == AUTO else self._size

    @property
    def _count(self) -> Callable[[str], int]:
        """The function that counts the words of a text."""
        return units if self.version >= _BY_SIGNS else blank_words

    def _up_to(self, most: int, text: str) -> int:
        return units_up_to(most, text, self._count)

    @cached_property
    def shortest(self) -> int:
        """The number of characters up to which no text is divided: so few characters cannot have too many words."""
        return sys.maxsize if self.chunk is None else self._longest

    def pieces(self, text: str) -> list[Piece]:
        """Return the pieces of a text in order; a short text is a single piece."""
        if len(text) < self.shortest or self._up_to(self._longest, text) <= self._longest:
            return [Piece(0, len(text))]
        turns = [found.start() for found in _PAGE_BREAK.finditer(text)]
        if self.version >= _BY_SECTIONS:
            return [
                Piece(start, end, " > ".join(path), _page(turns, start))
                for start, end, path in self._by_sections(text)
            ]
        headings = list(_headings(text))
        splitter = _splitter(self._size, self.overlap, bool(headings), self._count)
        pieces: list[Piece] = []
        begin: int | None = None
        for place, part in splitter.chunk_indices(text):
            start = place if begin is None else begin
            # a heading without text becomes part of the piece after it
            begin = start if headings and _HEADING.fullmatch(part) else None
            if begin is None:
                end = place + len(part)
                pieces.append(Piece(start, end, _above(headings, start), _page(turns, start)))
        if begin is not None:
            end = len(text.rstrip())
            pieces.append(Piece(begin, end, _above(headings, begin), _page(turns, begin)))
        return pieces or [Piece(0, len(text))]

    def _by_sections(self, text: str) -> Iterator[tuple[int, int, tuple[str, ...]]]:
        """Iterate over pieces: a piece is some short sections with their common headings, or a part of a long section."""
        group: list[Section] = []
        words = 0
        markdown = False
        for section in sections_of(text, partial(self._up_to, self._size)):
            markdown |= bool(section.path)
            fits = words + section.words <= self._size and common_path([*group[-1:], section])
            if group and not fits:
                yield group[0].start, group[-1].end, common_path(group)
                group, words = [], 0
            if section.words <= self._size:
                group.append(section)
                words += section.words
                continue
            for start, end in self._parts(text, section, markdown):
                yield start, end, section.path
        if group:
            yield group[0].start, group[-1].end, common_path(group)

    def _parts(self, text: str, section: Section, markdown: bool) -> Iterator[tuple[int, int]]:
        """Iterate over the places of the parts of a long section."""
        # this method makes the overlap, because the overlap of the splitter takes seconds for a page without blanks
        splitter = _splitter(self._size - self.overlap, 0, markdown, self._count)
        begin: int | None = None  # a part with only headings becomes part of the next part
        before = section.start
        size = max(_BLOCK, _BLOCK_PER_WORD * self._size)
        for first, limit in blocks(text, section.start, section.end, size):
            for place, part in splitter.chunk_indices(text[first:limit]):
                start = first + place if begin is None else begin
                begin = start if markdown and holds_only_headings(part) else None
                if begin is None:
                    yield start - self._shared(text[before:start]), first + place + len(part)
                    before = start
        if begin is not None:
            yield begin, section.end

    def _shared(self, before: str) -> int:
        """Return how many characters at the end of a part are repeated by the next part; 0 if the part is too short."""
        if not self.overlap:
            return 0
        if self.version >= _BY_SIGNS:
            return len(before) - begin_of_last_units(before, self.overlap)
        words = before.rsplit(None, self.overlap)
        return len(before[len(words[0]) :].lstrip()) if len(words) > self.overlap else 0

    def embedded(self, text: str, piece: Piece) -> str:
        """Return the text that is embedded for a piece."""
        part = text[piece.start : piece.end]
        return f"{piece.heading}\n\n{part}" if self.headings and piece.heading else part


@lru_cache(maxsize=8)
def _splitter(size: int, overlap: int, markdown: bool, count: Callable[[str], int]) -> Any:
    # imported here, because only collections with pieces need it
    from semantic_text_splitter import MarkdownSplitter, TextSplitter

    kind = MarkdownSplitter if markdown else TextSplitter
    return kind.from_callback(count, size, overlap, trim=True)


def _above(headings: Sequence[tuple[int, str]], start: int) -> str:
    before = bisect_right(headings, start, key=lambda heading: heading[0])
    return headings[before - 1][1] if before else ""


def _page(turns: Sequence[int], start: int) -> int | None:
    return bisect_right(turns, start) + 1 if turns else None


def _headings(text: str) -> Iterator[tuple[int, str]]:
    """Iterate over the headings of a text: the position of each heading, and its path, such as ``chapter > section``."""
    path: list[tuple[int, str]] = []
    for found in _HEADING.finditer(text):
        level = len(found[1])
        path = [*(each for each in path if each[0] < level), (level, found[2].strip())]
        yield found.start(), " > ".join(name for _, name in path)
