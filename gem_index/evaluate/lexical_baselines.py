"""Lexical baselines for comparison with GEM, over the same tokens: TF-IDF and BM25."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from itertools import chain
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array

from gem_index.common.arrays import F64
from gem_index.errors import InputError, MissingExtraError
from gem_index.gem.batches import TokenBatch, blocks_of_texts
from gem_index.text.tokens import tokenize

__all__ = ["Bm25", "TfIdf", "check_pairs", "corpus_blocks"]


# A block bounds memory; a data set of some thousand sentences is one block, so its words are looked up once.
_BLOCK = 8192
_BLOCK_CHARACTERS = 500_000


def corpus_blocks(texts: Iterable[str]) -> Iterator[list[str]]:
    """Divide texts into blocks whose word vectors fit into memory.

    Raises
    ------
    InputError
        If ``texts`` is a single string.
    """
    if isinstance(texts, str):
        raise InputError(
            f"found one string {texts[:40]!r}; expected a list or another iterable of texts"
        )
    return blocks_of_texts(texts, _BLOCK, _BLOCK_CHARACTERS)


def check_pairs(first: Sequence[str], second: Sequence[str]) -> None:
    """Check that two lists are pairs of texts.

    Raises
    ------
    InputError
        If one list is a string, or their lengths differ.
    """
    for side in (first, second):
        if isinstance(side, str):
            raise InputError(f"found one string {side[:40]!r}; expected a list of texts")
    if len(first) != len(second):
        raise InputError(
            f"found {len(first)} first and {len(second)} second texts; expected equal numbers"
        )


class TfIdf:
    """Cosine similarity of TF-IDF vectors: scikit-learn's ``TfidfVectorizer`` with our tokenizer and its other defaults.

    A word weighs its count times ln((1 + N) / (1 + n)) + 1, where n of the corpus' N texts hold it; words that the
    corpus does not hold are ignored.
    """

    def __init__(self) -> None:
        self._vectorizer: Any = None

    def fit(self, corpus: Iterable[str]) -> Self:
        """Count in how many texts of a corpus each word occurs.

        Raises
        ------
        InputError
            If no text has a word.
        MissingExtraError
            If scikit-learn is not installed.
        """
        try:
            extraction = import_module("sklearn.feature_extraction.text")
        except ImportError as error:
            raise MissingExtraError("TF-IDF", "eval") from error
        texts = list(chain.from_iterable(corpus_blocks(corpus)))
        if not any(map(tokenize, texts)):
            raise InputError("found no text with a word to fit on; expected at least one")
        self._vectorizer = extraction.TfidfVectorizer(analyzer=tokenize).fit(texts)
        return self

    def score(self, first: Sequence[str], second: Sequence[str]) -> F64:
        """Return the cosine similarity of each pair of texts (n,), 0 to 1; 0 if one of the two has no known word."""
        check_pairs(first, second)
        if self._vectorizer is None:
            raise InputError("TF-IDF was not fitted on a corpus; expected a call of fit first")
        if not first:  # scikit-learn refuses to transform an empty list
            return np.zeros(0)
        products = self._vectorizer.transform(first).multiply(self._vectorizer.transform(second))
        return np.asarray(products.sum(axis=1), dtype=np.float64).ravel()


class Bm25:
    """Okapi BM25 of a document for a query.

    Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), section 3: the sum over the
    query's words, repeated ones included, of idf (k1 + 1) tf / (tf + k1 (1 - b + b length / average length)). idf is
    Lucene's ln(1 + (N - n + 0.5) / (n + 0.5)), which is positive even for a word in most documents. Texts without words
    count neither for N nor for the average length, as in Lucene.

    Parameters
    ----------
    k1 : float
        Saturation of repeated words: the larger, the more further occurrences count.
    b : float
        Influence of the document's length, 0 to 1.
    """

    def __init__(self, *, k1: float = 1.2, b: float = 0.75) -> None:
        self.k1 = k1
        self.b = b
        self._documents = self._length = 0
        self._frequency: Counter[str] = Counter()

    def fit(self, corpus: Iterable[str]) -> Self:
        """Compute the statistics of a corpus of documents, which is read once.

        Raises
        ------
        InputError
            If no text has a word.
        """
        documents = length = 0
        frequency: Counter[str] = Counter()
        for block in corpus_blocks(corpus):
            batch = TokenBatch.of_texts(block)
            documents += batch.filled
            length += len(batch.ids)
            # a word has one entry in the counts for each document that holds it
            held = np.bincount(_counts(batch).indices, minlength=len(batch.words))
            frequency.update(dict(zip(batch.words, held.tolist(), strict=True)))
        if not documents:
            raise InputError("found no text with a word to fit on; expected at least one")
        self._documents, self._length, self._frequency = documents, length, frequency
        return self

    def score(self, first: Sequence[str], second: Sequence[str]) -> F64:
        """Return the BM25 score (n,), 0 or more, of each document in second for its query in first."""
        check_pairs(first, second)
        if not self._documents:
            raise InputError("BM25 was not fitted on a corpus; expected a call of fit first")
        batch = TokenBatch.of_texts([*first, *second])
        counts = _counts(batch)
        queries, documents = counts[: len(first)], counts[len(first) :]
        held = np.array([self._frequency[word] for word in batch.words], dtype=np.float64)
        idf = np.log1p((self._documents - held + 0.5) / (held + 0.5))
        # all arrays below have one element per entry of the documents' counts, in the order of their data
        lengths: F64 = np.repeat(documents.sum(axis=1), np.diff(documents.indptr))
        norms = self.k1 * (1 - self.b + self.b * lengths * self._documents / self._length)
        tf = documents.data
        documents.data = idf[documents.indices] * (self.k1 + 1) * tf / (tf + norms)
        return np.asarray(queries.multiply(documents).sum(axis=1), dtype=np.float64)


def _counts(batch: TokenBatch) -> csr_array[np.float64, tuple[int, int]]:
    """Return the count of each word in each sentence (sentences, u), one entry per word and sentence."""
    counts = csr_array(
        (np.ones(len(batch.ids)), batch.ids, batch.offsets),
        shape=(len(batch.offsets) - 1, len(batch.words)),
        copy=True,  # sum_duplicates works in place
    )
    counts.sum_duplicates()
    return counts
