"""Words that say nothing about the subject of a text."""

from __future__ import annotations

from functools import cache
from typing import Any

import regex

from gem_index.text.languages import AUTO, MANY, NONE, STEMMERS
from gem_index.text.tokens import frequent_english

__all__ = ["StopWords", "stop_words"]

_FREQUENT = 150  # most frequent English words that are stop words
_LISTS = (
    "da", "de", "en", "es", "fi", "fr", "hu", "it", "nl", "no", "pt", "ru", "sv",
)  # fmt: skip
"""The languages of which tantivy has a list (from Snowball)."""

_ALIASES = {"nb": "no", "nn": "no"}
_ENGLISH = frozenset(frequent_english()[:_FREQUENT])

# Words of questions and some forms that the lists lack; none of them names a subject in another of these languages.
_QUESTION_WORDS = """
    why without ever
    wer wen wem wessen wann wo wohin woher warum wieso weshalb viele viel heißt heißen nennt lautet dass wird wurde wurden
    comment pourquoi quand où combien quoi quel quelle quels quelles est peut doit faire puis
    cómo qué cuándo dónde cuánto cuántos cuál cuáles quién quiénes
    come perché quando dove quanto quanti quale quali cosa
    quanto quantos qual quais quem onde
    waar wanneer waarom hoe welke wie wat
    как что кто где когда почему сколько какой какая какие
    ما من متى أين كيف لماذا كم هل الذي التي في على إلى عن هو هي كان كانت أي ماذا
"""
_QUESTIONS = frozenset(_QUESTION_WORDS.split())
_SIGNS = regex.compile(
    r".*[的是了在有什么哪些多少个何谁怎吗吧呢和与为被][\p{Han}]*|\p{Hiragana}+"  # function signs of Chinese, and of Japanese
)


class StopWords:
    """The stop words of some languages. Only membership can be tested, because tantivy does not publish its lists.

    Parameters
    ----------
    languages : tuple of str
    """

    def __init__(self, *languages: str) -> None:
        self._english = "en" in languages
        self._filters = [_filter(STEMMERS[each]) for each in languages]

    def __contains__(self, word: str) -> bool:
        if word in _QUESTIONS or _SIGNS.fullmatch(word):
            return True
        if self._english and word in _ENGLISH:
            return True
        return any(not each.analyze(word) for each in self._filters)


@cache
def stop_words(language: str) -> StopWords:
    """Return the stop words of a language; of all languages for ``mul`` and ``none``; only question words without a list.

    Parameters
    ----------
    language : str
        One of :data:`~gem_index.text.languages.LANGUAGES`, or ``auto``, which counts as English.
    """
    if language in (MANY, NONE):
        return StopWords(*_LISTS)
    code = "en" if language == AUTO else _ALIASES.get(language, language)
    return StopWords(*((code,) if code in _LISTS else ()))


def _filter(language: str) -> Any:
    import tantivy

    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace())
    return builder.filter(tantivy.Filter.stopword(language)).build()
