"""The known languages, and the detection of a collection's language."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import regex

from gem_index.errors import ConfigError
from gem_index.errors.quoting import quoted

__all__ = [
    "AUTO",
    "LANGUAGES",
    "MANY",
    "NONE",
    "SAMPLED",
    "STEMMERS",
    "DetectedLanguage",
    "check_language",
    "detect_language",
]

AUTO = "auto"
"""Detect the language from the first documents that are stored."""

MANY = "mul"
"""Several languages (ISO 639-2)."""

NONE = "none"
"""No language: words are matched as they are written."""

STEMMERS = {
    "ar": "arabic",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "es": "spanish",
    "fi": "finnish",
    "fr": "french",
    "hu": "hungarian",
    "it": "italian",
    "nb": "norwegian",
    "nl": "dutch",
    "nn": "norwegian",
    "no": "norwegian",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
}
"""The Snowball stemmer of each language (ISO 639-1) that has one."""

_WITHOUT_STEMMER = (
    "af am an as az be bg bn br bs ca cs cy dz eo et eu fa fo ga gl gu he hi hr ht hy id is ja jv ka kk km kn ko ku ky la "
    "lb lo lt lv mg mk ml mn mr ms mt my ne oc or pa pl ps qu rw se si sk sl sq sr sw te th tl ug uk ur vi vo wa xh zh zu"
)
LANGUAGES = tuple(sorted((*STEMMERS, *_WITHOUT_STEMMER.split(), MANY, NONE)))
"""The values of a collection's language; the detector knows the codes of two letters."""

SAMPLED = 300
"""Texts that are enough to detect a language."""

_CHARACTERS = 300  # characters that are read of each text of a sample
_LONG = 100  # characters of a text that is classified by itself
_BLOCK = 300  # characters of shorter texts that are classified together: with fewer, the result is a guess
_LEAST_LETTERS = 300  # least Latin letters of a sample in which most letters are Latin: with fewer, the result is a guess
_SHARE = (
    0.7  # least share of the sample for one language; with less, the texts are in several languages
)
_LATIN = regex.compile(r"\p{Latin}")
_LETTER = regex.compile(r"\p{L}")


@dataclass(frozen=True)
class DetectedLanguage:
    """The language of some texts.

    Attributes
    ----------
    language : str
        One of :data:`LANGUAGES`.
    share : float
        The share of the sample, from 0 to 1, that is in the most frequent language; 0 if the texts are too short to tell.
    """

    language: str
    share: float


def check_language(language: object) -> str:
    """Return a requested language after checking it.

    Raises
    ------
    ConfigError
        If it is neither ``auto`` nor one of :data:`LANGUAGES`.
    """
    if language == AUTO or language in LANGUAGES:
        return str(language)
    near = difflib.get_close_matches(str(language).lower(), LANGUAGES, 3, 0.5)
    hint = f"; near ones: {', '.join(near)}" if near else ""
    raise ConfigError(
        f"the language is {quoted(language)}; expected auto, none, mul, or a code of ISO 639-1 such as en, de or zh{hint}"
    )


def detect_language(texts: Iterable[str]) -> DetectedLanguage:
    """Return the language of the first 300 texts; English if they hold too few letters to tell.

    py3langid classifies each text of at least 100 characters, and shorter texts together. If no language has 70 % of the
    characters, the texts are in several languages.
    """
    votes: Counter[str] = Counter()
    letters = latin = 0
    for block in _blocks(texts):
        letters += len(_LETTER.findall(block))
        latin += len(_LATIN.findall(block))
        votes[_classified(block)] += len(block)
    if not letters or (2 * latin > letters and letters < _LEAST_LETTERS):
        return DetectedLanguage("en", 0.0)
    language, held = votes.most_common(1)[0]
    share = held / votes.total()
    return DetectedLanguage(language if share >= _SHARE else MANY, share)


def _blocks(texts: Iterable[str]) -> Iterator[str]:
    block = ""
    for _, text in zip(range(SAMPLED), texts, strict=False):
        if len(text) >= _LONG:
            yield text[:_CHARACTERS]
            continue
        block += f"{text}\n"
        if len(block) >= _BLOCK:
            yield block
            block = ""
    if block.strip():
        yield block


def _classified(block: str) -> str:
    import py3langid  # type: ignore[import-untyped, unused-ignore] # loads its model: only where a language is detected

    language, _ = py3langid.classify(block)
    return language if language in LANGUAGES else MANY
