"""Summaries of the fields of records: types, samples, the share of filled values, languages, HTML."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gem_index.errors.quoting import quoted
from gem_index.readers.cleaning import is_html
from gem_index.readers.column_types import type_of_texts
from gem_index.text.languages import SAMPLED, detect_language

__all__ = ["FieldSummaries", "FieldSummary"]

_SAMPLES = 3
_SAMPLE_CHARACTERS = 1000  # characters of a text that are used to decide its type and language
_TYPED = 1000  # values that decide a type
_LEAST_WORDS = 2.0  # words on average of texts whose language is detected


@dataclass(frozen=True)
class FieldSummary:
    """One field of some records.

    Attributes
    ----------
    name : str
    type : str
        ``text``, ``number``, ``boolean``, ``date``, ``list`` or ``object``; several are joined by commas, ``empty`` is none.
    filled : float
        Share of the records in which it is neither missing, null nor an empty text, from 0 to 1.
    repeated : int
        How many of its values an earlier record has.
    words : float
        Words of a text on average; 0 for other types.
    samples : list of str
        The first different values, shortened.
    language : str or None
        Of its texts, if they have enough words to tell, and languages were detected.
    html : int
        Number of texts that are clearly HTML.
    """

    name: str
    type: str
    filled: float
    repeated: int
    words: float
    samples: list[str]
    language: str | None
    html: int

    @property
    def identifies(self) -> bool:
        """Whether each record has a value of its own."""
        return self.filled == 1 and not self.repeated


@dataclass
class _FieldCounts:
    """The counts of one field."""

    filled: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    texts: list[str] = field(default_factory=list)
    samples: dict[str, None] = field(default_factory=dict)
    hashes: set[int] = field(default_factory=set)
    words: int = 0
    html: int = 0

    def add(self, value: object) -> None:
        if value is None or value == "":
            return
        self.filled += 1
        self.hashes.add(hash(value if isinstance(value, str | int | float) else repr(value)))
        if len(self.samples) < _SAMPLES:
            self.samples[quoted(value)] = None
        if not isinstance(value, str):
            self.kinds[_kind(value)] += 1
            return
        self.kinds["text"] += 1
        self.words += len(value.split())
        self.html += is_html(value)
        if len(self.texts) < _TYPED:
            self.texts.append(value[:_SAMPLE_CHARACTERS])

    def summary(self, name: str, records: int, languages: bool) -> FieldSummary:
        kinds = [kind for kind, _ in self.kinds.most_common()]
        if kinds == ["text"]:
            kinds = [type_of_texts(self.texts)]
        texts = self.kinds["text"]
        words = self.words / texts if texts and "text" in kinds else 0.0
        told = languages and words >= _LEAST_WORDS
        detected = detect_language(self.texts[:SAMPLED]) if told else None
        return FieldSummary(
            name=name,
            type=", ".join(kinds) or "empty",
            filled=self.filled / records,
            repeated=self.filled - len(self.hashes),
            words=words,
            samples=list(self.samples),
            language=detected.language if detected is not None and detected.share else None,
            html=self.html,
        )


def _kind(value: object) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    return "list" if isinstance(value, list) else "object"


class FieldSummaries:
    """The summaries of the fields of records that are added one after the other."""

    def __init__(self, records: Iterable[Mapping[str, Any]] = ()) -> None:
        self._fields: dict[str, _FieldCounts] = {}
        self.records = 0
        for each in records:
            self.add(each)

    def add(self, record: Mapping[str, Any]) -> None:
        """Count a record."""
        self.records += 1
        for name, value in record.items():
            self._fields.setdefault(name, _FieldCounts()).add(value)

    def summaries(self, *, languages: bool) -> list[FieldSummary]:
        """Return the fields in the order in which they came first; with their languages, which take half a second."""
        return [
            found.summary(name, self.records, languages) for name, found in self._fields.items()
        ]
