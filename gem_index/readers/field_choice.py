"""Choose the fields of the id and the text of records, if they are clear."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gem_index.readers.field_summaries import FieldSummary
from gem_index.readers.fields import LINE, FieldNames

__all__ = ["FieldChoice", "choose_fields"]

_PAIRS = (
    ("question", "answer"), ("q", "a"), ("subject", "body"), ("subject", "message"), ("subject", "description"),
    ("title", "body"), ("title", "description"), ("title", "text"), ("title", "content"), ("title", "abstract"),
    ("headline", "description"), ("headline", "article"), ("name", "description"), ("summary", "description"),
    ("prompt", "response"), ("instruction", "output"), ("key", "value"),
)  # fmt: skip
_TEXTS = (
    "text", "body", "content", "question", "description", "message", "sentence", "review", "comment", "abstract", "passage",
    "document", "value", "title",
)  # fmt: skip
_IDS = re.compile(r"(?i:_?id|uuid|guid|key|number|nr|.*[_ .-]id)|[A-Za-z]*[a-z](?:Id|ID)")
_LANGUAGE = re.compile(r"(.+?)[_.-]([a-z]{2})", re.IGNORECASE)
_FEWEST_WORDS = 1.5  # words on average of a text that is not an id or a label
_MANY_WORDS = 4.0  # words on average of a field that is a text whatever its name
_PLAINLY = 3.0  # times as many words as the next field


@dataclass(frozen=True)
class FieldChoice:
    """The fields of the id and the text of some records.

    Attributes
    ----------
    id : str or None
        None if no field is clearly an id.
    text : tuple of str
        Empty if no field is clearly the text; the first of two counts twice (``title*2``).
    """

    id: str | None
    text: tuple[str, ...]

    @property
    def names(self) -> list[str]:
        """The names of the text's fields, without weights."""
        return [name for name, _ in FieldNames(text=self.text).weighted]


def choose_fields(
    fields: Sequence[FieldSummary], id: str | None = None, text: Sequence[str] = (LINE,)
) -> FieldChoice:
    """Return the fields of the id and the text: the given ones if they exist, else the ones that are clear.

    Parameters
    ----------
    fields : sequence of FieldSummary
        Of the records.
    id : str, optional
        By default ``id``.
    text : sequence of str
        Several may have weights (``title*2``).
    """
    names = {each.name for each in fields}
    given = FieldChoice(id or "id", tuple(text))
    texts = given.text if not names.isdisjoint(given.names) else _text_fields(fields)
    used = FieldChoice(None, texts).names
    ids = [
        each.name
        for each in fields
        if each.identifies and each.name not in used and _IDS.fullmatch(each.name.strip())
    ]
    return FieldChoice(given.id if given.id in names else next(iter(ids), None), texts)


def _text_fields(fields: Sequence[FieldSummary]) -> tuple[str, ...]:
    """Return the fields that are clearly the text."""
    texts = [each for each in fields if each.type == "text"]
    named: dict[tuple[str, str], FieldSummary] = {}  # by name and language, in their order
    for each in texts:
        named.setdefault(_name_and_language(each.name), each)
    for language in dict.fromkeys(language for _, language in named):
        for first, second in _PAIRS:
            pair = _pair(named, (first, language), (second, language))
            if pair:
                return pair
    for name in _TEXTS:
        for (found, _), each in named.items():
            if found == name and each.words >= _FEWEST_WORDS:
                return (each.name,)
    longest = sorted(texts, key=lambda each: each.words, reverse=True)[:2]
    if not longest or longest[0].words < _MANY_WORDS:
        return ()
    if len(longest) == 1 or longest[0].words >= _PLAINLY * longest[1].words:
        return (longest[0].name,)
    return ()


def _pair(
    named: Mapping[tuple[str, str], FieldSummary], first: tuple[str, str], second: tuple[str, str]
) -> tuple[str, ...]:
    """Return the two fields of a pair if both are texts of words."""
    pair = [named.get(first), named.get(second)]
    found = [each.name for each in pair if each is not None and each.words >= _FEWEST_WORDS]
    return (f"{found[0]}*2", found[1]) if len(found) == 2 else ()


def _name_and_language(name: str) -> tuple[str, str]:
    folded = name.strip().casefold()
    match = _LANGUAGE.fullmatch(folded)
    return (match[1], match[2]) if match is not None else (folded, "")
