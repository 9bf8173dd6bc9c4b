"""Search by words in memory: BM25 over documents that are not in the index files yet."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from gem_index.common.arrays import I64, Mask
from gem_index.index.counted_texts import CountedTexts
from gem_index.index.hits import Hits, Ids, among
from gem_index.index.lexical import LexicalIndex
from gem_index.index.terms import K1, B, inverse_frequency
from gem_index.index.vocabulary import Vocabulary, words_to_keep
from gem_index.text.analyzer import Analyzer

__all__ = ["LexicalTail"]


class LexicalTail:
    """A BM25 index in memory, of documents that are not in the files yet; texts can be added while other threads search.

    The scores are comparable with the scores of the files: the constants are the same, and if there are files, their
    word statistics are used.

    Parameters
    ----------
    analyzer : Analyzer

    Attributes
    ----------
    vocabulary : Vocabulary
        The words of all added texts.
    """

    def __init__(self, analyzer: Analyzer) -> None:
        self._analyzer = analyzer
        self.vocabulary = Vocabulary()
        # for each term, the ascending positions of the texts that contain it, and its count in each of these texts
        self._postings: dict[str, tuple[list[int], list[int]]] = {}
        # for each position, the id and the length of the text
        self._rows = np.zeros(0, np.int64), np.zeros(0, np.float64)

    @classmethod
    def of(
        cls, analyzer: Analyzer, parts: Sequence[CountedTexts], terms: Iterable[str]
    ) -> LexicalTail:
        """Return an index of counted texts with only the given terms; the id of a text is its position."""
        tail = cls(analyzer)
        for part in parts:
            begin = len(tail)
            for term in terms:
                found, times = part.of(term)
                places, counts = tail._postings.setdefault(term, ([], []))
                places += (found + begin).tolist()
                counts += times.tolist()
            lengths = np.append(tail._rows[1], part.lengths)
            tail._rows = np.arange(len(lengths)), lengths
        return tail

    def __len__(self) -> int:
        """Return the number of texts."""
        return len(self._rows[0])

    def add(self, ids: Ids, texts: Sequence[str]) -> None:
        """Add texts; only one thread may do this at a time.

        Parameters
        ----------
        ids : int64 array (n,)
            Ascending, and above all ids in the index; an id occurs once for each piece of its document.
        texts : sequence of str
        """
        before, lengths = self._rows
        analysed = []
        for text in texts:
            tokens = self._analyzer.tokens(text)
            self.vocabulary.add(words_to_keep(tokens))
            analysed.append(self._analyzer.stemmed(tokens))
        for place, terms in enumerate(analysed, len(before)):
            for term, times in Counter(terms).items():
                places, counts = self._postings.setdefault(term, ([], []))
                # first add the count, because another thread reads it as soon as the list of positions has the text
                counts.append(times)
                places.append(place)
        added = np.array([len(terms) for terms in analysed], np.float64)
        self._rows = np.append(before, ids), np.append(lengths, added)

    def frequencies(self, terms: Iterable[str], alive: Ids) -> dict[str, int]:
        """Return, for each term, the number of texts that contain it; only texts with ids in ``alive`` (ascending) count."""
        there = among(self._rows[0], alive)
        return {term: int(np.count_nonzero(there[self._of(term, there)[0]])) for term in terms}

    def match(
        self,
        terms: Mapping[str, float],
        k: int,
        alive: Ids,
        accepted: Ids | None,
        files: LexicalIndex | None,
        mean_length: float,
    ) -> Hits:
        """Return the k best (id, score), best first; see :meth:`LexicalIndex.match`.

        Parameters
        ----------
        alive : int64 array
            The ids of the texts to search, ascending. Other texts are no hits, and are not in the statistics.
        """
        ids, lengths = self._rows
        there = among(ids, alive)
        scores = np.zeros(len(ids))
        if files is None or not len(files):
            files, total = None, int(np.count_nonzero(there))
            mean_length = float(lengths[there].mean()) if total else 1.0
        else:
            total = files.documents
        in_files = {} if files is None else files.frequencies(terms)
        for term, counts in terms.items():
            places, times = self._of(term, there)
            living = there[places]
            places, times = places[living], times[living]
            if not len(places):
                continue
            frequency = len(places) if files is None else in_files[term]
            weight = counts * inverse_frequency(frequency, total)
            norm = K1 * (1 - B + B * lengths[places] / max(mean_length, 1e-9))
            scores[places] += weight * (1 + K1) * times / (times + norm)
        found = scores > 0
        if accepted is not None:
            found &= among(ids, accepted)
        places = np.flatnonzero(found)
        best: dict[int, float] = {}
        for place in places[np.argsort(-scores[places], kind="stable")].tolist():
            best.setdefault(int(ids[place]), float(scores[place]))
            if len(best) == k:
                break
        return list(best.items())

    def _of(self, term: str, there: Mask) -> tuple[I64, I64]:
        """Return the positions and counts of a term, without texts that were added after the mask ``there`` was made."""
        places, times = self._postings.get(term, ([], []))
        count = bisect_left(places, len(there))
        return np.array(places[:count], np.int64), np.array(times[:count], np.int64)
