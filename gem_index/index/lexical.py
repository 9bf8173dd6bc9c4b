"""Search by words: BM25 over stemmed tokens with tantivy, and the same scores for the few documents not in its files."""

from __future__ import annotations

import json
import math
import os
import shutil
import tempfile
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from gem_index.arrays import I64, Mask
from gem_index.errors import CorruptionError, DiskError
from gem_index.index.hits import Hits, Ids, among
from gem_index.quoting import quoted_error
from gem_index.text import frequent_english, has_symbols, search_tokens

__all__ = ["LexicalIndex", "LexicalTail", "counts_in_match", "match_weights", "terms_of"]

_ANALYSER = "gem_index"
_TEXT, _ID = "text", "id"
_META, _FILES = "meta.json", ".managed.json"  # tantivy's: the segments, and the names of all files
_WRITER_BYTES = 64_000_000
_LONGEST_TERM = 200  # bytes
_K1, _B = 1.2, 0.75  # tantivy's
_NUMBER = 3.0  # weight factor of a term with a digit in a match
_BACKGROUND, _BACKGROUND_WORDS = (
    500,
    30,
)  # English texts, and words of each, beside the collection's own
_FEW_IDS = 300  # up to this many, one query per id is faster than a set query
_NAMED_IDS = 20_000  # up to this many accepted ids become part of the query


@cache
def _analyser() -> Any:
    import tantivy

    return (
        tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace())
        .filter(tantivy.Filter.remove_long(_LONGEST_TERM))
        .filter(tantivy.Filter.stemmer("english"))
        .build()
    )


@cache
def _schema() -> Any:
    import tantivy

    builder = tantivy.SchemaBuilder()
    builder.add_text_field(_TEXT, stored=False, tokenizer_name=_ANALYSER, index_option="freq")
    builder.add_unsigned_field(_ID, stored=False, indexed=True, fast=True)
    return builder.build()


def _id_query(ids: list[int]) -> Any:
    """Return a query for the documents with these ids."""
    import tantivy

    if len(ids) > _FEW_IDS:
        return tantivy.Query.term_set_query(_schema(), _ID, ids)
    each = [(tantivy.Occur.Should, tantivy.Query.term_query(_schema(), _ID, one)) for one in ids]
    return tantivy.Query.boolean_query(each)


def terms_of(text: str) -> list[str]:
    """Return the stemmed words of a text, in order."""
    terms: list[str] = _analyser().analyze(" ".join(search_tokens(text)))
    return terms


def match_weights(frequencies: Mapping[str, int], documents: int) -> dict[str, float]:
    """Return the weight of each term's BM25 score in a match.

    A match is the weighted share of a query's terms that a document holds, from 0 to 1: sum_t w_t f_t / sum_t w_t. f_t, from
    0 to 1, is BM25's term frequency over its upper bound k1 + 1, so it depends on the term's count and the document's
    length. w_t = idf_t^2 is squared so that the one rare word of a question outweighs its common phrases. A term of at
    least two characters with a digit counts three times: people identify things by numbers, and word vectors hold almost no
    information about them. Terms that no document holds count in the total, so that "is" alone carries no match. Since a
    small collection cannot tell common words from rare ones, idf is that of its documents together with 500 texts of 30
    English words drawn by Zipf's law (docs/evaluation.md lists the alternatives tried).

    Parameters
    ----------
    frequencies : mapping of str to int
        How many documents hold each term; the caller omits terms that :func:`counts_in_match` excludes.
    documents : int
        Number of documents, including deleted ones if the frequencies count them.
    """
    common = _background()
    weights = {}
    for term, held in frequencies.items():
        idf = _idf(held + common.get(term, 0.0), documents + _BACKGROUND)
        weights[term] = idf * idf * (_NUMBER if _is_numeric(term) else 1.0)
    total = sum(weights.values())
    return {
        term: weight / (_idf(frequencies[term], documents) * (_K1 + 1) * total)
        for term, weight in weights.items()
    }


def counts_in_match(term: str, held: int) -> bool:
    """Tell whether a term of a query counts in a match; a word with symbols, which repeats others, only if it is held."""
    return held > 0 or not has_symbols(term)


@cache
def _background() -> dict[str, float]:
    """Return how many texts of the background hold each frequent English term, on average."""
    shares: dict[str, float] = defaultdict(float)
    for rank, word in enumerate(frequent_english(), 1):
        for term in terms_of(word):
            shares[term] += 0.1 / (rank + 2.7)  # Zipf's law, as in docs/algorithm.md, section 7
    return {
        term: _BACKGROUND * (1 - (1 - share) ** _BACKGROUND_WORDS) for term, share in shares.items()
    }


def _is_numeric(term: str) -> bool:
    return len(term) > 1 and any(map(str.isdigit, term))


def _idf(held: float, documents: float) -> float:
    return math.log1p((documents - held + 0.5) / (held + 0.5))


@contextmanager
def _report_damage(folder: Path) -> Iterator[None]:
    """Convert tantivy's errors on damaged files, including Rust panics, to CorruptionError."""
    try:
        yield
    except BaseException as error:
        damaged = isinstance(error, ValueError | LookupError | TypeError | OSError)
        if not damaged and type(error).__name__ != "PanicException":
            raise
        raise CorruptionError(
            f"{folder} cannot be read: {quoted_error(error)}; rebuild it: verify and fix the collection"
        ) from error


class LexicalIndex:
    """A BM25 index over the words of documents, or of their pieces, in immutable files.

    Parameters
    ----------
    index : tantivy.Index
    folder : Path
        The folder of its files.

    Attributes
    ----------
    documents : int
        Number of documents in its statistics; deleted documents and their terms are still counted.
    """

    def __init__(self, index: Any, folder: Path) -> None:
        self._folder = folder
        meta = json.loads((folder / _META).read_text())
        self.documents = sum(segment["max_doc"] for segment in meta["segments"])
        index.register_tokenizer(_ANALYSER, _analyser())
        index.config_reader(reload_policy="manual")
        self._searcher = index.searcher()

    def __len__(self) -> int:
        return int(self._searcher.num_docs)

    @staticmethod
    def write(
        folder: Path,
        blocks: Iterable[tuple[Ids, Sequence[str]]],
        old: Path | None = None,
        dead: Ids | None = None,
    ) -> tuple[int, int]:
        """Index blocks of ids and texts in a new folder.

        Parameters
        ----------
        folder : Path
        blocks : iterable of (ids, texts)
            An id may come several times, once for each piece of its document.
        old : Path, optional
            An existing index folder whose documents are reused: its files are immutable and are hard-linked.
        dead : int64 array, optional
            Ids in the old folder to delete.

        Returns
        -------
        tuple of int
            How many texts were added, and how many words they hold.

        Raises
        ------
        DiskError
            If the files cannot be written.
        """
        try:
            return LexicalIndex._write(folder, blocks, old, dead)
        except ValueError as error:
            raise DiskError(
                f"cannot write the index of words: {quoted_error(error)}; make room on the disk and try again"
            ) from error

    @staticmethod
    def _write(
        folder: Path,
        blocks: Iterable[tuple[Ids, Sequence[str]]],
        old: Path | None,
        dead: Ids | None,
    ) -> tuple[int, int]:
        import tantivy

        folder.mkdir(mode=0o700)
        if old is not None:
            for path in old.iterdir():
                if path.name.endswith(".json"):  # the list of files is replaced, not linked
                    shutil.copyfile(path, folder / path.name)
                elif path.suffix != ".lock":
                    (folder / path.name).hardlink_to(path)
            index = tantivy.Index.open(str(folder))
        else:
            index = tantivy.Index(_schema(), path=str(folder))
        index.register_tokenizer(_ANALYSER, _analyser())
        writer = index.writer(_WRITER_BYTES, 1)
        if dead is not None and len(dead):
            writer.delete_documents_by_query(
                tantivy.Query.term_set_query(_schema(), _ID, dead.tolist())
            )
        documents = terms = 0
        for ids, texts in blocks:
            for identifier, text in zip(ids.tolist(), texts, strict=True):
                tokens = search_tokens(text)
                terms += len(tokens)
                document = tantivy.Document()
                document.add_text(_TEXT, " ".join(tokens))
                document.add_unsigned(_ID, identifier)
                writer.add_document(document)
            documents += len(ids)
        writer.commit()
        writer.wait_merging_threads()
        return documents, terms

    @staticmethod
    def join(folder: Path, parts: Sequence[Path]) -> None:
        """Make an index of the documents of several folders that :meth:`write` wrote, in a new one.

        tantivy's segments are immutable files with names of their own: they are linked, and the lists of them concatenated.
        """
        folder.mkdir(mode=0o700)
        metas = [json.loads((part / _META).read_text()) for part in parts]
        files = [name for part in parts for name in json.loads((part / _FILES).read_text())]
        for part in parts:
            for path in part.iterdir():
                if path.suffix not in (".json", ".lock"):
                    (folder / path.name).hardlink_to(path)
        whole = metas[0] | {
            "segments": [segment for meta in metas for segment in meta["segments"]],
            "opstamp": max(meta["opstamp"] for meta in metas),
        }
        (folder / _META).write_text(json.dumps(whole))
        (folder / _FILES).write_text(json.dumps(sorted(set(files))))

    @classmethod
    def open(cls, folder: Path) -> LexicalIndex:
        """Open the files that :meth:`write` wrote.

        Raises
        ------
        CorruptionError
            If they cannot be read.
        """
        import tantivy

        with _report_damage(folder):
            if os.access(folder, os.W_OK):
                return cls(tantivy.Index.open(str(folder)), folder)
            # tantivy creates a lock file in every folder that it reads
            with tempfile.TemporaryDirectory(prefix="gem-index-") as links:
                for path in folder.iterdir():
                    if path.suffix == ".lock":
                        continue
                    (Path(links) / path.name).symlink_to(path.absolute())
                return cls(tantivy.Index.open(links), folder)

    def frequencies(self, terms: Iterable[str]) -> dict[str, int]:
        """Return how many documents hold each term."""
        with _report_damage(self._folder):
            return {term: int(self._searcher.doc_freq(_TEXT, term)) for term in terms}

    def match(self, terms: Mapping[str, float], k: int, wanted: Ids) -> Hits:
        """Return the k best (id, score), best first; of several texts of an id the best counts.

        Equal scores come in the order of the files, which is that of ids but for segments that tantivy has merged: fewer
        hits are always the beginning of more.

        Parameters
        ----------
        terms : mapping of str to float
            Terms from :func:`terms_of`, with the weight of each one's BM25 score.
        k : int
        wanted : int64 array
            Ids to accept, ascending, all of them in the files.
        """
        import tantivy

        query_of, should, schema = tantivy.Query, tantivy.Occur.Should, _schema()
        each = []
        for term, weight in terms.items():
            one = query_of.term_query(schema, _TEXT, term, "freq")
            each.append((should, one if weight == 1 else query_of.boost_query(one, weight)))
        query = query_of.boolean_query(each)
        if len(wanted) <= min(_NAMED_IDS, len(self) // 2):
            named = _id_query(wanted.tolist())
            must = tantivy.Occur.Must
            query = query_of.boolean_query(
                [(must, query), (must, query_of.const_score_query(named, 0.0))]
            )
        asked = k
        while True:
            with _report_damage(self._folder):
                most = min(asked, max(len(self), 1))
                hits = self._searcher.search(query, most, count=False).hits
                ids = self._searcher.fast_field_values(_ID, [address for _, address in hits])
            alive = among(np.array(ids, dtype=np.int64), wanted)
            found: dict[int, float] = {}
            for identifier, (score, _), ok in zip(ids, hits, alive, strict=True):
                if ok:
                    found.setdefault(int(identifier), float(score))
            if len(found) >= k or len(hits) < asked:
                return list(found.items())[:k]
            asked *= 4


class LexicalTail:
    """BM25 in memory, over documents that are not in the files yet; more can be added while others search.

    Scores are those that the documents would have in the files: the same constants, and the files' statistics if there are
    files.

    Parameters
    ----------
    only : container of str, optional
        The terms that will be asked for; all by default.
    """

    def __init__(self, only: Container[str] | None = None) -> None:
        self._only = only
        self._postings: dict[str, tuple[list[int], list[int]]] = {}  # places, ascending, and times
        self._rows = np.zeros(0, np.int64), np.zeros(0, np.float64)  # ids and lengths of the places

    def __len__(self) -> int:
        """Return the number of texts."""
        return len(self._rows[0])

    def add(self, ids: Ids, texts: Sequence[str]) -> None:
        """Add texts; one thread at a time.

        Parameters
        ----------
        ids : int64 array (n,)
            Ascending, after those that are there; an id may come several times, once for each piece of its document.
        texts : sequence of str
        """
        before, lengths = self._rows
        analysed = [terms_of(text) for text in texts]
        for place, terms in enumerate(analysed, len(before)):
            counted = Counter(t for t in terms if self._only is None or t in self._only)
            for term, times in counted.items():
                places, counts = self._postings.setdefault(term, ([], []))
                counts.append(times)  # before its place, by which others find it
                places.append(place)
        added = np.array([len(terms) for terms in analysed], np.float64)
        self._rows = np.append(before, ids), np.append(lengths, added)

    def frequencies(self, terms: Iterable[str], alive: Ids) -> dict[str, int]:
        """Return how many of the texts with some ids, ascending, hold each term."""
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
            The ids, ascending, whose texts are there; what others hold counts nowhere.
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
            weight = counts * _idf(frequency, total)
            norm = _K1 * (1 - _B + _B * lengths[places] / max(mean_length, 1e-9))
            scores[places] += weight * (1 + _K1) * times / (times + norm)
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
        """Return the places and times of a term, of the texts that were there when ``there`` was made."""
        places, times = self._postings.get(term, ([], []))
        count = bisect_left(places, len(there))
        return np.array(places[:count], np.int64), np.array(times[:count], np.int64)
