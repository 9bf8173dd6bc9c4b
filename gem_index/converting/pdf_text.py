"""Repair of what fonts without a map to Unicode leave in the text of a PDF."""

from __future__ import annotations

import re
import unicodedata

__all__ = ["repaired"]

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
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe]")


def repaired(text: str) -> str:
    r"""Return the text of a page with whole words.

    Words that are divided at the end of a line are joined (pdfium marks the hyphen with U+0002 or U+FFFE), ligatures and
    digits of TeX's fonts are letters and digits, an accent that stands before its letter is put on it, and the dots that
    lead to page numbers are left out.

    Examples
    --------
    >>> repaired("A win\x02dow with \x1cve panes . . . . . . . 12")
    'A window with five panes 12'
    """
    text = text.replace("\r\n", "\n").translate(_PRIVATE)
    text = _LIGATURE.sub(lambda found: _LIGATURES[found[0]], text)
    text = _CONTROLS.sub("", text)
    text = _ACCENTED.sub(_composed, text)
    return _LEADERS.sub(" ", text)


def _composed(found: re.Match[str]) -> str:
    letter = "i" if found[2] == "\N{LATIN SMALL LETTER DOTLESS I}" else found[2]
    whole = unicodedata.normalize("NFC", letter + _ACCENTS[found[1]])
    return whole if len(whole) == 1 else found[0]
