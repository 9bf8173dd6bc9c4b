"""Synonyms and abbreviations from a user: groups of forms that mean the same."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from gem_index.errors import InputError
from gem_index.errors.quoting import quoted
from gem_index.text.analyzer import Analyzer, is_unspaced
from gem_index.text.tokens import WeightedText, tokenize

__all__ = ["NO_SYNONYMS", "Synonyms"]

_MOST_GROUPS = 10_000
_MOST_FORMS = 50  # forms of a group; the limit exists because a search looks for all of them
_LONGEST_FORM = 100  # characters
_BETWEEN = ","
_COMMENT = "#"


@dataclass(frozen=True)
class Synonyms:
    """Groups of forms that mean the same; a form is a word, an abbreviation or several words.

    A query that contains one form of a group also searches for the other forms.

    Parameters
    ----------
    groups : tuple of tuples of str
        Each group has at least two forms; a form can be in only one group.

    Raises
    ------
    InputError
        If a group is not a list of at least two forms, or a form is in two groups; the message has the number of the
        group.

    Examples
    --------
    >>> from gem_index.text.analyzer import ENGLISH
    >>> synonyms = Synonyms.of_groups([["VPN", "virtual private network"]])
    >>> synonyms.found_in("the vpn is slow", ENGLISH)
    {'VPN': ('virtual private network',)}
    """

    groups: tuple[tuple[str, ...], ...] = ()

    @classmethod
    def of_groups(cls, groups: Iterable[Iterable[str]]) -> Synonyms:
        """Return the synonyms of groups that are given as lists of forms.

        Raises
        ------
        InputError
            As when the class is called.
        """
        if isinstance(groups, str | Mapping) or not isinstance(groups, Iterable):
            raise InputError(
                f"the synonyms are {quoted(groups)}; expected a list of lists of texts"
            )
        places: dict[tuple[str, ...], str] = {}
        return _checked(
            (_group(group, f"group {number}", places) for number, group in enumerate(groups, 1))
        )

    @classmethod
    def of_lines(cls, lines: Iterable[str], name: str) -> Synonyms:
        """Return the synonyms in the lines of a file. Each line is a group; commas separate the forms of the group.

        Empty lines and lines that begin with ``#`` are ignored. ``name`` is the name of the file in messages.

        Raises
        ------
        InputError
            If a line is not a group; the message has the number of the line.
        """
        places: dict[tuple[str, ...], str] = {}
        return _checked(
            _group(line.split(_BETWEEN), f"{name} line {number}", places)
            for number, line in enumerate(lines, 1)
            if line.strip() and not line.lstrip().startswith(_COMMENT)
        )

    @classmethod
    def of(cls, stored: str) -> Synonyms:
        """Return the synonyms from the text in :attr:`stored`.

        Raises
        ------
        InputError
            If the text is damaged.
        """
        return _of_stored(stored)

    @property
    def stored(self) -> str:
        """The groups as JSON; if there is no group, an empty text."""
        return json.dumps(self.groups, ensure_ascii=False) if self.groups else ""

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the groups in hexadecimal; if there is no group, an empty text."""
        return hashlib.sha256(self.stored.encode()).hexdigest() if self.groups else ""

    def __bool__(self) -> bool:
        """Whether there is a group."""
        return bool(self.groups)

    def found_in(self, query: str, analyzer: Analyzer) -> dict[str, tuple[str, ...]]:
        """Return the forms that a query contains, each with the other forms of its group.

        A query contains a form if the words of the form follow one another in the query. Words are compared by their
        stems, in lower case. In scripts without blanks between words, the characters must follow one another. In a text
        with weights, no form is found.
        """
        return {form.text: self._others(form) for form, _, _ in self._places(query, analyzer)}

    def rewritten(
        self, query: str, analyzer: Analyzer, held: Callable[[Sequence[str]], Sequence[int]]
    ) -> str:
        """Return the query; each form that no document contains is replaced by another form of the form's group.

        Parameters
        ----------
        query : str
        analyzer : Analyzer
        held : callable
            Returns, for each given form, the approximate number of documents that contain the form.

        Returns
        -------
        str
            The query itself if nothing is replaced, else the tokens of the new query. A form is replaced by the form of its
            group that is in the most documents.
        """
        tokens = tokenize(query)
        replaced = False
        for form, begin, end in reversed(self._places(query, analyzer)):
            forms = (form.text, *self._others(form))
            counts = held(forms)
            best = forms[max(range(len(forms)), key=lambda place: counts[place])]
            if counts[0] == 0 and max(counts) > 0:
                replaced = True
                text = " ".join(tokens[begin:end])
                other = " ".join(tokenize(best))
                tokens[begin:end] = [
                    text.replace(form.tokens_text, other) if form.unspaced else other
                ]
        return " ".join(tokens) if replaced else query

    def _others(self, form: _Form) -> tuple[str, ...]:
        return tuple(other for other in self.groups[form.group] if other != form.text)

    def _places(self, query: str, analyzer: Analyzer) -> list[tuple[_Form, int, int]]:
        """Return the forms in a query, in order, each with its range of tokens; if forms overlap, only the longest form."""
        if not self.groups or isinstance(query, WeightedText):
            return []
        forms = _forms(self, analyzer)
        tokens = tokenize(query)
        stems = _stems(tokens, analyzer)
        found: list[tuple[_Form, int, int]] = []
        place = 0
        while place < len(tokens):
            longest = max(
                (
                    form
                    for form in forms.by_stem.get(stems[place], ())
                    if stems[place : place + len(form.stems)] == form.stems
                ),
                key=lambda form: len(form.stems),
                default=None,
            )
            if longest is not None:
                found.append((longest, place, place + len(longest.stems)))
                place += len(longest.stems)
                continue
            token = tokens[place]
            inside = {
                form
                for start, sign in enumerate(token)
                for form in forms.by_sign.get(sign, ())
                if token.startswith(form.tokens_text, start)
            }
            found += sorted(
                ((form, place, place + 1) for form in inside), key=lambda each: each[0].tokens_text
            )
            place += 1
        return found


NO_SYNONYMS = Synonyms()
"""No groups."""


@dataclass(frozen=True)
class _Form:
    text: str
    group: int
    tokens_text: str  # the tokens, joined by blanks
    stems: tuple[str, ...]
    unspaced: bool


@dataclass(frozen=True)
class _Forms:
    """The forms of synonyms by their first stem; forms in scripts without blanks, by their first character."""

    by_stem: Mapping[str, Sequence[_Form]]
    by_sign: Mapping[str, Sequence[_Form]]


@lru_cache(64)
def _forms(synonyms: Synonyms, analyzer: Analyzer) -> _Forms:
    by_stem: dict[str, list[_Form]] = defaultdict(list)
    by_sign: dict[str, list[_Form]] = defaultdict(list)
    for number, group in enumerate(synonyms.groups):
        for text in group:
            tokens = tokenize(text)
            unspaced = len(tokens) == 1 and is_unspaced(tokens[0])
            form = _Form(text, number, " ".join(tokens), _stems(tokens, analyzer), unspaced)
            if unspaced:
                by_sign[form.tokens_text[0]].append(form)
            else:
                by_stem[form.stems[0]].append(form)
    return _Forms(by_stem, by_sign)


@lru_cache(64)
def _of_stored(stored: str) -> Synonyms:
    if not stored:
        return NO_SYNONYMS
    try:
        return Synonyms.of_groups(json.loads(stored))
    except ValueError as error:
        raise InputError(
            f"the synonyms are {quoted(stored, 80)}; expected groups as JSON"
        ) from error


def _stems(tokens: Sequence[str], analyzer: Analyzer) -> tuple[str, ...]:
    """Return the stem of each token."""
    return tuple(" ".join(analyzer.stemmed([token])) or token for token in tokens)


def _checked(groups: Iterator[tuple[str, ...]]) -> Synonyms:
    found = tuple(groups)
    if len(found) > _MOST_GROUPS:
        raise InputError(
            f"found {len(found):,} groups of synonyms; expected at most {_MOST_GROUPS:,}"
        )
    return Synonyms(found)


def _group(forms: Iterable[str], place: str, places: dict[tuple[str, ...], str]) -> tuple[str, ...]:
    """Return the checked forms of a group; ``places`` has, for messages, the group number or line of each earlier form."""
    if isinstance(forms, str) or not isinstance(forms, Iterable):
        raise InputError(f"{place} of the synonyms is {quoted(forms)}; expected a list of texts")
    group = []
    for form in forms:
        if not isinstance(form, str):
            raise InputError(f"a form in {place} is {quoted(form)}; expected a text")
        text = " ".join(form.split())
        tokens = tuple(tokenize(text))
        if not tokens or len(text) > _LONGEST_FORM or not text.isprintable():
            raise InputError(
                f"a form in {place} is {quoted(form)}; expected a word or several, of at most {_LONGEST_FORM} characters"
            )
        if "=>" in text:
            raise InputError(
                f"found {quoted(text)} in {place}; expected forms separated by commas, each of which stands for the others"
            )
        if tokens in places:
            raise InputError(
                f"the form {quoted(text)} in {place} came before in {places[tokens]}; expected each form once"
            )
        places[tokens] = place
        group.append(text)
    if not 2 <= len(group) <= _MOST_FORMS:
        raise InputError(
            f"the number of forms in {place} is {len(group)}; expected 2 to {_MOST_FORMS}, separated by commas"
        )
    return tuple(group)
