"""Sparse vectors of words by the word statistics of a corpus."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from gem_index.common.arrays import SparseVector
from gem_index.common.checks import check_number, check_whole_number
from gem_index.common.json_input import read_json_file
from gem_index.errors import ConfigError, InputError
from gem_index.errors.quoting import quoted, quoted_error, quoted_path
from gem_index.files.inputs import user_path
from gem_index.files.publishing import publish_file
from gem_index.index.counted_texts import CountedTexts
from gem_index.index.fusion import MATCH_WEIGHT
from gem_index.index.terms import (
    BACKGROUND_WORDS,
    K1,
    B,
    QueryTerms,
    counts_in_match,
    inverse_frequency,
    match_weights,
)
from gem_index.index.word_statistics import WordStatistics
from gem_index.text.analyzer import Analyzer
from gem_index.text.languages import detect_language
from gem_index.text.synonyms import NO_SYNONYMS, Synonyms
from gem_index.text.tokens import check_text, check_texts

__all__ = ["Analyzer", "SparseEncoder", "SparseVector"]

_FORMAT = "gem-index sparse encoder"
_VERSION = 1
_BLOCK = 2000  # number of texts whose vectors are computed together
_NOTHING = np.zeros(0, np.float32)


class SparseEncoder:
    """Makes sparse vectors of words, by the word statistics of a corpus.

    :meth:`gem_index.Collection.sparse_encoder` returns the encoder of a collection. Texts that are added later change the
    statistics: compare only vectors of encoders with the same fingerprint.

    Parameters
    ----------
    analyzer : Analyzer
        It divides texts into terms.
    texts : int
        Number of texts in the statistics.
    mean_terms : float
        Mean number of terms of a text.
    frequencies : mapping of str to int, or None
        How many of the texts have each term. None if this is not known: each term then counts as if one text has it.
    synonyms : Synonyms
        Of the words of queries.

    Examples
    --------
    >>> from gem_index.text.analyzer import ENGLISH
    >>> encoder = SparseEncoder.fit(["renew a passport", "open a bank account"], ENGLISH)
    >>> query = encoder.embed_query("passports")
    >>> [round(query.dot(text), 2) for text in encoder.embed_documents(["renew a passport", "a bank"])]
    [1.09, 0.0]
    """

    def __init__(
        self,
        analyzer: Analyzer,
        texts: int,
        mean_terms: float,
        frequencies: Mapping[str, int] | None,
        synonyms: Synonyms = NO_SYNONYMS,
    ) -> None:
        self.analyzer = analyzer
        self.texts = check_whole_number(texts, "the number of texts", 0)
        self.mean_terms = check_number(mean_terms, "the mean number of terms", 0)
        self.frequencies = frequencies
        self.synonyms = synonyms

    @classmethod
    def fit(cls, texts: Iterable[str], analyzer: Analyzer | None = None) -> SparseEncoder:
        """Return an encoder with the statistics of some texts, which are read once.

        Without an analyzer, the analyzer for the language of the first texts is used.

        Raises
        ------
        InputError
            If ``texts`` is one string or not iterable, or one of them is not a string.
        """
        check_texts(texts)
        if analyzer is None:
            texts = [check_text(text, "text") for text in texts]
            analyzer = Analyzer(detect_language(texts).language)
        found = WordStatistics()
        for text in texts:
            found.count(analyzer.terms(check_text(text, "text")))
        return cls(analyzer, found.texts, found.mean_terms, found.frequencies)

    def with_synonyms(self, synonyms: Synonyms) -> SparseEncoder:
        """Return the same encoder with other synonyms; the vectors of documents stay the same."""
        return SparseEncoder(self.analyzer, self.texts, self.mean_terms, self.frequencies, synonyms)

    @classmethod
    def background(cls, language: str = "en") -> SparseEncoder:
        """Return an encoder without statistics of texts, for texts that are in no collection.

        The weight of a term in a query then comes from the background of a match, 500 English texts of 30 words
        (:func:`gem_index.index.terms.match_weights`). So in English, and in the languages ``mul`` and ``none``, frequent
        words count less. In another language all words count the same, and those with digits more. A text of more than 30
        words counts as long.

        Raises
        ------
        ConfigError
            If the language is unknown.
        """
        analyzer = Analyzer(language)
        return cls(analyzer, 1, BACKGROUND_WORDS * analyzer.terms_per_word, None)

    def embed_documents(self, texts: Iterable[str]) -> list[SparseVector]:
        """Return the vector of each text; of texts in pieces, give the pieces.

        Raises
        ------
        InputError
            If ``texts`` is one string or not iterable, or one of them is not a string.
        """
        check_texts(texts)
        rest = (check_text(text, "text") for text in texts)
        found: list[SparseVector] = []
        while block := list(islice(rest, _BLOCK)):
            found += self._documents(CountedTexts(self.analyzer, block))
        return found

    def _documents(self, texts: CountedTexts) -> list[SparseVector]:
        """Return the vector of each text of a block."""
        norms = K1 * (1 - B + B * texts.lengths / max(self.mean_terms, 1e-9))
        values = texts.times / (texts.times + norms[texts.places])
        of_terms = np.array([_index(term) for term in texts.terms], np.int64)
        indices = np.repeat(of_terms, np.diff(texts.begins))
        order = np.lexsort((indices, texts.places))
        places, indices, values = texts.places[order], indices[order], values[order]
        new = np.ones(len(order), bool)  # other terms of a text with the same index are added
        new[1:] = (np.diff(places) != 0) | (np.diff(indices) != 0)
        first = np.flatnonzero(new)
        sums = np.add.reduceat(values, first).astype(np.float32) if len(first) else _NOTHING
        indices, places = indices[first], places[first]
        ends = np.searchsorted(places, np.arange(len(texts.lengths) + 1))
        return [
            SparseVector(indices[begin:end], sums[begin:end])
            for begin, end in pairwise(ends.tolist())
        ]

    def embed_query(self, text: str) -> SparseVector:
        """Return the vector of a query; it is empty if no text of the statistics has one of its terms.

        Raises
        ------
        InputError
            If the text is not a string.
        """
        text = self.rewritten(check_text(text, "query"))
        synonyms = self.synonyms.found_in(text, self.analyzer)
        terms = QueryTerms.of(text, self.analyzer, synonyms)
        held = {term: self._frequency(term) for term in terms.every}
        counted = {term: count for term, count in held.items() if counts_in_match(term, count)}
        weights = match_weights(terms, counted, self.texts, self.analyzer)  # of BM25 scores
        of_bm25 = {
            term: (K1 + 1) * inverse_frequency(counted[term], self.texts) for term in weights
        }
        return _vector({t: MATCH_WEIGHT * w * of_bm25[t] for t, w in weights.items() if counted[t]})

    def rewritten(self, query: str) -> str:
        """Return a query with synonyms in the place of forms that no text contains, as its dense vector is made of it."""

        def held(forms: Sequence[str]) -> list[int]:
            return [
                min(map(self._frequency, self.analyzer.words(form)), default=0) for form in forms
            ]

        return self.synonyms.rewritten(query, self.analyzer, held)

    def _frequency(self, term: str) -> int:
        return 1 if self.frequencies is None else self.frequencies.get(term, 0)

    @property
    def rule(self) -> str:
        """The rule of the vectors of documents, as JSON: the analyzer and the mean number of terms of a text."""
        fields = {
            "version": _VERSION,
            "analyzer": self.analyzer.stored,
            "mean_terms": self.mean_terms,
        }
        return json.dumps(fields, sort_keys=True)

    @classmethod
    def of_rule(cls, rule: str) -> SparseEncoder:
        """Return an encoder that makes the vectors of documents by a :attr:`rule`; it has no frequencies for queries.

        Raises
        ------
        ConfigError
            If a later version made the rule, or it is damaged.
        """
        try:
            fields = json.loads(rule)
            version, mean = fields["version"], float(fields["mean_terms"])
            analyzer = Analyzer.of(fields["analyzer"])
        except (ValueError, LookupError, TypeError) as error:
            raise ConfigError(
                f"found the rule {quoted(rule, 80)} of sparse vectors; expected an analyzer and mean_terms; "
                "push in full again"
            ) from error
        if version != _VERSION:
            raise ConfigError(
                f"found sparse vectors of version {quoted(version)}; expected {_VERSION}; upgrade gem-index"
            )
        return cls(analyzer, 0, mean, {})

    @property
    def fingerprint(self) -> str:
        """SHA-256 in hexadecimal of everything that determines the vectors."""
        return hashlib.sha256(json.dumps(self._fields, sort_keys=True).encode()).hexdigest()

    @property
    def _fields(self) -> dict[str, Any]:
        fields = {
            "format": _FORMAT,
            "version": _VERSION,
            "analyzer": self.analyzer.stored,
            "texts": self.texts,
            "mean_terms": self.mean_terms,
            "frequencies": None if self.frequencies is None else dict(self.frequencies),
        }
        return fields | {"synonyms": self.synonyms.stored} if self.synonyms else fields

    def to_json(self) -> str:
        """Return everything that determines the vectors, as JSON."""
        return json.dumps(self._fields, sort_keys=True, ensure_ascii=False)

    def save(self, path: str | Path) -> None:
        """Write the encoder to a JSON file. Atomic: complete on return, absent on error."""
        with publish_file(user_path(path)) as file:
            file.write(self.to_json().encode())

    @classmethod
    def load(cls, path: str | Path) -> SparseEncoder:
        """Return the encoder that :meth:`save` wrote.

        Raises
        ------
        InputError
            If the file cannot be read or is not such a file.
        ConfigError
            If a later version wrote it.
        """
        try:
            fields = read_json_file(user_path(path))
        except OSError as error:
            raise InputError(
                f"cannot read {quoted_path(path)}: {quoted_error(error)}; expected a file that SparseEncoder.save wrote"
            ) from error
        return cls.of_fields(fields, quoted_path(path))

    @classmethod
    def of_fields(cls, fields: Any, name: str) -> SparseEncoder:
        """Return the encoder of parsed JSON of :meth:`to_json`; ``name`` names its place in messages, as in :meth:`load`."""
        if not isinstance(fields, dict) or fields.get("format") != _FORMAT:
            raise InputError(
                f"{name} is not a sparse encoder; expected a file that SparseEncoder.save wrote"
            )
        if fields.get("version") != _VERSION:
            raise ConfigError(
                f"{name} has version {quoted(fields.get('version'))}; expected {_VERSION}: "
                "upgrade gem-index"
            )
        try:
            frequencies = fields["frequencies"]
            if frequencies is not None:
                frequencies = {str(term): int(count) for term, count in frequencies.items()}
            analyzer = Analyzer.of(fields["analyzer"])
            synonyms = Synonyms.of(fields.get("synonyms", ""))
            return cls(analyzer, fields["texts"], fields["mean_terms"], frequencies, synonyms)
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise InputError(
                f"{name} is damaged; expected a file that SparseEncoder.save wrote"
            ) from error


def _vector(values: Mapping[str, float]) -> SparseVector:
    return SparseVector.summed([_index(term) for term in values], list(values.values()))


@lru_cache(200_000)
def _index(term: str) -> int:
    return int.from_bytes(hashlib.sha256(term.encode()).digest()[:4], "big") & 0x7FFF_FFFF
