"""Divide a text into sections, which begin at its headings, and sections into blocks of bounded length."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

__all__ = ["Section", "blocks", "common_path", "holds_only_headings", "sections_of"]

_MARK = re.compile(r"^(?:(#{1,6})[ \t]+(\S.*)|[ ]{0,3}(```|~~~).*)$", re.MULTILINE)
_LONGEST = 200  # characters of a heading that are shown: each section below it repeats them
_BREAKS = ("\n\n", "\n", ". ", " ")  # best first


@dataclass(frozen=True)
class Section:
    """A heading with the text up to the next heading, or the text before the first heading.

    Attributes
    ----------
    start, end : int
        The place of the section in characters, without blanks around it.
    path : tuple of str
        The headings above the section, from the outermost, and the heading of the section.
    words : int
        The number of words, as the caller counts them.
    """

    start: int
    end: int
    path: tuple[str, ...]
    words: int


def sections_of(text: str, units: Callable[[str], int]) -> Iterator[Section]:
    """Iterate over the sections of a text that contain words. A heading without text belongs to the section below it.

    A line of a fenced block of code is not a heading. ``units`` counts the words of a section.
    """
    waiting: Section | None = None  # a heading alone
    for section in _divided(text, units):
        if waiting is not None:
            if len(section.path) > len(waiting.path):
                words = waiting.words + section.words
                section = replace(section, start=waiting.start, words=words)
            else:
                yield waiting
            waiting = None
        if section.path and holds_only_headings(text[section.start : section.end]):
            waiting = section
        else:
            yield section
    if waiting is not None:
        yield waiting


def _divided(text: str, units: Callable[[str], int]) -> Iterator[Section]:
    begin = 0
    path: tuple[str, ...] = ()
    levels: list[tuple[int, str]] = []
    for place, level, name in _headings(text):
        yield from _section(text, begin, place, path, units)
        levels = [*(each for each in levels if each[0] < level), (level, name[:_LONGEST])]
        begin, path = place, tuple(name for _, name in levels)
    yield from _section(text, begin, len(text), path, units)


def _headings(text: str) -> Iterator[tuple[int, int, str]]:
    """Iterate over the place, level and name of each heading."""
    fence = ""
    for found in _MARK.finditer(text):
        marks, name, mark = found.groups()
        if mark is not None:
            fence = "" if fence == mark else fence or mark
        elif not fence:
            yield found.start(), len(marks), name.strip()


def _section(
    text: str, start: int, end: int, path: tuple[str, ...], units: Callable[[str], int]
) -> Iterator[Section]:
    part = text[start:end]
    start += len(part) - len(part.lstrip())
    end = start + len(part.strip())
    if start < end:
        yield Section(start, end, path, units(part))


def holds_only_headings(part: str) -> bool:
    """Tell whether each line of a text is a heading or blank."""
    return all(_MARK.fullmatch(line) for line in part.splitlines() if line.strip())


def common_path(sections: Sequence[Section]) -> tuple[str, ...]:
    """Return the headings that all sections stand under."""
    shared: list[str] = []
    for names in zip(*(section.path for section in sections), strict=False):
        if len(set(names)) > 1:
            break
        shared.append(names[0])
    return tuple(shared)


def blocks(text: str, start: int, end: int, size: int) -> Iterator[tuple[int, int]]:
    """Divide a part of a text into blocks of bounded length.

    Parameters
    ----------
    text : str
    start, end : int
        The part, in characters.
    size : int
        Largest number of characters of a block. A block ends at the last break of a paragraph in its second half, else at
        the last break of a line, a sentence or a word there.
    """
    while end - start > size:
        half, limit = start + size // 2, start + size
        found = ((text.rfind(mark, half, limit), len(mark)) for mark in _BREAKS)
        border = next((place + length for place, length in found if place >= 0), limit)
        yield start, border
        start = border
    yield start, end
