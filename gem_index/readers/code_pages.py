"""Detect the Windows code page of a text in a European language, by its language and its letters."""

from __future__ import annotations

import regex

__all__ = ["code_page_of"]

_LETTERS = {
    "cp1252": {
        "da": "æøåéü", "de": "äöüßé", "en": "éèêëïñöü", "es": "áéíóúñüç", "fi": "äöåšž", "fr": "àâæçéèêëîïôœùûüÿ",
        "it": "àèéìíîòóùú", "nb": "æøåéèêóòôü", "nl": "éëèêïóöüáí", "no": "æøåéèêóòôü", "pt": "áâãàçéêíóôõúü",
        "sv": "åäöéàü",
    },
    "cp1250": {
        "cs": "áčďéěíňóřšťúůýž", "hr": "čćđšž", "hu": "áéíóöőúüű", "pl": "ąćęłńóśźż", "ro": "ăâîşţ",
        "sk": "áäčďéíĺľňóôŕšťúýž", "sl": "čšž",
    },
    "cp1257": {"et": "äõöüšž", "lt": "ąčęėįšųūž", "lv": "āčēģīķļņšūž"},
}  # fmt: skip
"""For each code page, the languages that are written in it, and their letters beyond ASCII."""

_SHARE = 0.95  # least share, of the letters beyond ASCII, that belong to the language; names have other letters
_MOST = 0.3  # largest share of letters beyond ASCII in texts of these languages
_SAMPLED = 1 << 14  # bytes, enough to detect a language
_LETTER = regex.compile(r"\p{L}")
_FEWEST = 20  # letters from which a language can be told
# A sign within a word, or a symbol before one, is a letter of another encoding: œ of ISO 8859-15 is ½ in cp1252.
_FOREIGN = regex.compile(
    r"(?<=[a-z])[^\x00-\x7f\p{L}\u2018\u2019](?=[a-z])|[^\x00-\x7f\p{L}\p{P}](?=[a-z])"
)


def code_page_of(sample: bytes) -> str | None:
    """Return the code page in which a sample is text of one of its languages; None if it is in none, or differs in several.

    A code page counts if the detected language of the text is one of its languages, and the letters beyond ASCII are those
    of the language.
    """
    if len(sample) > _SAMPLED:
        sample = sample[: sample.rfind(b"\n", 0, _SAMPLED) + 1] or sample[:_SAMPLED]
    found: dict[str, str] = {}  # the code pages by the text that each gives
    for code_page, languages in _LETTERS.items():
        try:
            text = sample.decode(code_page)
        except UnicodeDecodeError:
            continue
        if _is_written_in(text, languages):
            found.setdefault(text, code_page)
    return next(iter(found.values())) if len(found) == 1 else None


def _is_written_in(text: str, languages: dict[str, str]) -> bool:
    import py3langid  # type: ignore[import-untyped, unused-ignore] # loads its model: only where it is needed

    letters = _LETTER.findall(text)
    beyond = [letter.lower() for letter in letters if letter > "\x7f"]
    if not beyond or len(letters) < _FEWEST or len(beyond) > _MOST * len(letters):
        return False
    if _FOREIGN.search(text.lower()):
        return False
    language, _ = py3langid.classify(text)
    alphabet = languages.get(language, "")
    return sum(letter in alphabet for letter in beyond) >= _SHARE * len(beyond)
