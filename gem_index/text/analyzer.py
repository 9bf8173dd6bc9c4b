"""Divide texts into terms for word search, by their scripts and by the language of their collection."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import regex

from gem_index.errors import ConfigError
from gem_index.errors.quoting import quoted
from gem_index.text.languages import AUTO, MANY, NONE, STEMMERS, check_language
from gem_index.text.tokens import has_symbols, search_tokens

__all__ = ["ENGLISH", "FIRST", "Analyzer", "is_unspaced"]

_NEWEST = 2
_LONGEST_TERM = 200  # bytes; longer terms are not indexed
_GRAM = 4  # characters of a 4-gram
# languages without 4-grams: in English, 4-grams made the default search worse (docs/evaluation.md)
_WHOLE_WORDS = ("en", NONE)
_BY_SIGNS = ("ja", "ko", "zh")
# no forms without accents here: in Vietnamese, such a form is another word
_KEEPS_MARKS = ("vi", NONE)
_REMEMBERED = 200_000  # words in the cache of an analyzer

_SCRIPTS = regex.compile(
    r"(?P<signs>[\p{Han}\p{Hiragana}\p{Katakana}\u30fc]+)"
    r"|(?P<unspaced>[\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}]+)"
    r"|(?P<word>[^\p{Han}\p{Hiragana}\p{Katakana}\u30fc\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}]+)"
)
_HANGUL = regex.compile(r"\p{Hangul}{2,}")
# marks that are removed: those of Latin and Greek letters, and of the Russian letter U+0451, but not those of U+0439
_MARKED = regex.compile(r"([\p{Latin}\p{Greek}]|\u0435(?=\u0308))\p{Mn}+")
_UNMARKED = str.maketrans(
    {"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "\u0131": "i"}
)
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"})


@dataclass(frozen=True)
class Analyzer:
    """Turns texts into terms for word search; a collection stores the analyzer with which it was built.

    - The Snowball stemmer of the language stems the words.
    - In all languages except English, Chinese, Japanese and Korean, the 4-grams of each word without digits are terms
      too, so two words with different stems can share terms.
    - In scripts without blanks between words, the text is divided: Chinese and Japanese into characters and pairs of
      characters; Thai, Lao, Khmer, Burmese and Tibetan into 4-grams.
    - The pairs of syllables of a Korean word are terms too.
    - A word with accents also gives a term without accents.

    docs/evaluation.md has the measurements.

    Parameters
    ----------
    language : str
        One of :data:`gem_index.text.languages.LANGUAGES`, or ``auto`` before the language is detected. ``auto`` works
        like ``en``.
    version : int
        2; or 1 for collections of early versions of gem-index, which used the English stemmer for all texts.

    Raises
    ------
    ConfigError
        If the language is unknown, or the version is above 2.
    """

    language: str = "en"
    version: int = _NEWEST

    def __post_init__(self) -> None:
        check_language(self.language)
        if self.version not in (1, _NEWEST):
            raise ConfigError(
                f"the analyzer has version {quoted(self.version)}; expected at most {_NEWEST}: "
                "upgrade gem-index"
            )

    @classmethod
    def of(cls, stored: str) -> Analyzer:
        """Return the analyzer from the text in :attr:`stored`; ``{}`` means version 1."""
        return cls(**{"version": 1, **json.loads(stored)})

    @property
    def stored(self) -> str:
        """The fields as JSON; ``{}`` for version 1."""
        fields = {"language": self.language, "version": self.version}
        return json.dumps(fields, sort_keys=True) if self.version > 1 else "{}"

    @property
    def detects(self) -> bool:
        """Whether the language is not known yet."""
        return self.language == AUTO

    @property
    def _code(self) -> str:
        return "en" if self.detects else self.language

    @property
    def knows_english(self) -> bool:
        """Whether texts of this language contain the frequent English words."""
        return self._code in ("en", MANY, NONE)

    @property
    def terms_per_word(self) -> int:
        """The estimated number of terms per word: a stem and 4-grams, or characters and pairs of characters."""
        if self._code in _WHOLE_WORDS:
            return 1
        return 3 if self._code in _BY_SIGNS else 6

    @property
    def tantivy(self) -> Any:
        """The stemming analyzer of tantivy; give it the :meth:`tokens` of a text, joined by blanks."""
        return _tantivy_analyzer(STEMMERS.get(self._code, ""))

    def tokens(self, text: str) -> list[str]:
        """Return the tokens of a text before stemming: the tokens of :func:`search_tokens`, and the added ones."""
        found = search_tokens(text)
        grams = self._code not in (*_WHOLE_WORDS, *_BY_SIGNS)
        if self.version == 1 or (text.isascii() and not grams):
            return found
        expanded = _expanding(self._code, grams)
        return [each for token in found for each in expanded(token)]

    def terms(self, text: str) -> list[str]:
        """Return the terms of a text, in order: its stemmed tokens."""
        return self.stemmed(self.tokens(text))

    def stemmed(self, tokens: Iterable[str]) -> list[str]:
        """Return the stems of tokens that :meth:`tokens` returned."""
        terms: list[str] = self.tantivy.analyze(" ".join(tokens))
        return terms

    def words(self, text: str) -> list[str]:
        """Return the terms of a text that people read as words, without parts of words and single characters."""
        return [term for term in self.terms(text) if not _is_part(term)]


def is_unspaced(token: str) -> bool:
    """Tell whether a token contains letters of a script that has no blanks between words."""
    return any(not found["word"] for found in _SCRIPTS.finditer(token))


ENGLISH = Analyzer()
"""The analyzer of English texts."""

FIRST = Analyzer(version=1)
"""The analyzer of collections that were built before gem-index knew languages."""


@cache
def _tantivy_analyzer(stemmer: str) -> Any:
    import tantivy

    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace())
    builder = builder.filter(tantivy.Filter.remove_long(_LONGEST_TERM))
    if stemmer:
        builder = builder.filter(tantivy.Filter.stemmer(stemmer))
    return builder.build()


@cache
def _expanding(language: str, grams: bool) -> Any:
    """Return a function that returns a token and the tokens that are added to it; the function caches recent results."""

    @lru_cache(_REMEMBERED)
    def expanded(token: str) -> tuple[str, ...]:
        return tuple(_expand(token, language, grams))

    return expanded


def _expand(token: str, language: str, grams: bool) -> Iterator[str]:
    if has_symbols(token):
        yield token
        return
    for found in _SCRIPTS.finditer(token):
        run = found[0]
        if found["signs"]:
            yield from run
            yield from (run[place : place + 2] for place in range(len(run) - 1))
        elif found["unspaced"]:
            yield from _grams(run)
        else:
            yield from _different([run, *_folded(run, language)], language)
            for syllables in _HANGUL.findall(run):
                yield from (_part(syllables[i : i + 2]) for i in range(len(syllables) - 1))
            if grams and not any(map(str.isdigit, run)):
                yield from map(_part, _grams(f"_{run}_"))


def _grams(run: str) -> Iterator[str]:
    if len(run) <= _GRAM:
        yield run
    else:
        yield from (run[place : place + _GRAM] for place in range(len(run) - _GRAM + 1))


def _different(forms: list[str], language: str) -> Iterable[str]:
    """Return forms of a word, only one form for each stem."""
    if len(forms) == 1:
        return forms
    stem = _tantivy_analyzer(STEMMERS.get(language, "")).analyze
    return {tuple(stem(form)): form for form in reversed(forms)}.values()


def _folded(word: str, language: str) -> Iterator[str]:
    """Iterate over the ways to write a word without accents."""
    if word.isascii() or language in _KEEPS_MARKS:
        return
    if language == "de":
        yield _unmarked(word.translate(_UMLAUTS))
    yield _unmarked(word)


def _unmarked(word: str) -> str:
    letters = unicodedata.normalize("NFD", word.translate(_UNMARKED))
    return unicodedata.normalize("NFC", _MARKED.sub(r"\1", letters))


def _part(gram: str) -> str:
    """Mark a part of a word, so that the part differs from every word, and no stemmer changes the part."""
    return f"#{gram}#"


def _is_part(term: str) -> bool:
    signs = _SCRIPTS.fullmatch(term)
    return term.startswith("#") or (len(term) == 1 and signs is not None and bool(signs["signs"]))
