"""Repair the text of a PDF whose fonts have no map to Unicode."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable

__all__ = ["hyphenated_words", "repaired"]

_LIGATURES = {"\x1b": "ff", "\x1c": "fi", "\x1d": "fl", "\x1e": "ffi", "\x1f": "ffl"}
"""Ligatures by their codes in the T1 encoding of TeX."""
_LIGATURE = re.compile(r"(?<=[^\W\d_])[\x1b-\x1f]|[\x1b-\x1f](?=[^\W\d_])")

_PRIVATE = {0xF730 + digit: str(digit) for digit in range(10)} | {
    0xF761 + letter: chr(ord("A") + letter) for letter in range(26)
}
"""Old-style digits and small capitals by their codes in the Adobe Glyph List."""

_ACCENTS = {
    "\N{DIAERESIS}": "\N{COMBINING DIAERESIS}",
    "\N{ACUTE ACCENT}": "\N{COMBINING ACUTE ACCENT}",
    "\N{MODIFIER LETTER CIRCUMFLEX ACCENT}": "\N{COMBINING CIRCUMFLEX ACCENT}",
    "\N{CARON}": "\N{COMBINING CARON}",
    "\N{RING ABOVE}": "\N{COMBINING RING ABOVE}",
}
_ACCENTED = re.compile(rf"([{''.join(_ACCENTS)}])([^\W\d_])")
_LEADERS = re.compile(r"(?:[ \t]?\.){4,}[ \t]*")
_DIVIDED = re.compile(r"(?<!\w)(?<!\w-)(\w++(?:-\w++)*+)[\x02\ufffe]((\w++)(?:-\w++)*+)")
"""A word divided at the end of a line, with pdfium's mark of the hyphen: its rest, and its rest up to the next hyphen."""
_HYPHENATED = re.compile(r"(?<!\w)(?<!\w-)\w++(?:-\w++)++")
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe]")


def hyphenated_words(texts: Iterable[str]) -> set[str]:
    """Return, in lower case, the words with a hyphen that pages have within a line."""
    return {word.lower() for text in texts for word in _HYPHENATED.findall(_with_ligatures(text))}


def repaired(text: str, hyphenated: Collection[str] = ()) -> str:
    r"""Return the text of a page with whole words.

    Words that are divided at the end of a line are joined (pdfium marks the hyphen with U+0002 or U+FFFE), ligatures and
    digits of TeX's fonts are letters and digits, an accent that stands before its letter is put on it, and the dots that
    lead to page numbers are left out. A divided word keeps its hyphen if the same word has it within a line, if the part
    before has another one, or if the part after begins with a capital letter or a digit.

    Parameters
    ----------
    text : str
    hyphenated : collection of str
        Those of the document, by :func:`hyphenated_words`.

    Examples
    --------
    >>> repaired("A win\x02dow with \x1cve panes . . . . . . . 12")
    'A window with five panes 12'
    >>> repaired("by e\x02mail", {"e-mail"})
    'by e-mail'
    """
    text = _with_ligatures(text.replace("\r\n", "\n"))

    def whole(found: re.Match[str]) -> str:
        before, after, beginning = found.groups()
        keeps = (
            "-" in before
            or after[0].isupper()
            or after[0].isdigit()
            or f"{before}-{after}".lower() in hyphenated
            or f"{before}-{beginning}".lower() in hyphenated
        )
        return f"{before}-{after}" if keeps else before + after

    text = _DIVIDED.sub(whole, text)
    text = _CONTROLS.sub("", text)
    text = _ACCENTED.sub(_composed, text)
    return _LEADERS.sub(" ", text)


def _with_ligatures(text: str) -> str:
    return _LIGATURE.sub(lambda found: _LIGATURES[found[0]], text.translate(_PRIVATE))


def _composed(found: re.Match[str]) -> str:
    letter = "i" if found[2] == "\N{LATIN SMALL LETTER DOTLESS I}" else found[2]
    whole = unicodedata.normalize("NFC", letter + _ACCENTS[found[1]])
    return whole if len(whole) == 1 else found[0]
