"""Count the words of documents that are embedded without a collection, before these documents are embedded."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain, islice
from typing import Protocol

from gem_index.collection.state.piece_encoder import embedded_pieces
from gem_index.documents import Document
from gem_index.index.word_statistics import WordStatistics
from gem_index.progress import Progress
from gem_index.sparse import SparseEncoder
from gem_index.text.analyzer import Analyzer
from gem_index.text.chunking import Chunking
from gem_index.text.languages import AUTO, SAMPLED, detect_language

__all__ = ["CountedInputs", "WordCounting", "count_words"]

_TOLD = 1000  # texts between two reports of the progress


class WordCounting(Protocol):
    """Counts the words of the documents that are embedded."""

    def __call__(self, chunking: Chunking, analyzer: Analyzer | None) -> SparseEncoder:
        """Return the sparse encoder with the statistics of the pieces; without an analyzer, choose an analyzer."""
        ...


@dataclass(frozen=True)
class CountedInputs:
    """Counts the words of documents that this process reads; a :class:`WordCounting`.

    Attributes
    ----------
    documents : iterable of Document
        The documents that are embedded. An iterator is not possible, because the documents are read twice: here, and
        again for embedding.
    language : str
        A language code, or ``auto`` to detect the language.
    progress : callable, optional
    """

    documents: Iterable[Document]
    language: str = AUTO
    progress: Progress | None = None

    def __call__(self, chunking: Chunking, analyzer: Analyzer | None) -> SparseEncoder:
        """Return the sparse encoder."""
        analyzer = analyzer or Analyzer(self.language)
        texts = (document.text for document in self.documents)
        sample: list[str] = []
        if analyzer.detects:
            sample = list(islice(texts, SAMPLED))
            analyzer = Analyzer(detect_language(sample).language)
        found = count_words(chain(sample, texts), chunking, analyzer, self.progress)
        return SparseEncoder(analyzer, found.texts, found.mean_terms, found.frequencies)


def count_words(
    texts: Iterable[str], chunking: Chunking, analyzer: Analyzer, progress: Progress | None = None
) -> WordStatistics:
    """Return the word statistics of the pieces of some texts; the texts are read once."""
    found = WordStatistics()
    for number, text in enumerate(texts, 1):
        for part in embedded_pieces([text], chunking)[0]:
            found.count(analyzer.terms(part))
        if progress is not None and number % _TOLD == 0:
            progress("count words", number, 0)
    return found
