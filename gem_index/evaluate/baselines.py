"""Dense baselines for comparison with GEM, over the same word vectors and tokens; and all baselines by name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import Any, Literal, Protocol, Self

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from gem_index.common.arrays import F64
from gem_index.common.checks import check_choice
from gem_index.errors import InputError, MissingExtraError
from gem_index.evaluate.lexical_baselines import Bm25, TfIdf, check_pairs, corpus_blocks
from gem_index.gem.batches import TokenBatch
from gem_index.gem.components import Components, CorpusStatistics
from gem_index.vectors.base import FloatArray, VectorSource

__all__ = [
    "BASELINES",
    "DenseEncoder",
    "MeanEncoder",
    "PowerMeanEncoder",
    "Scorer",
    "SifEncoder",
    "UsifEncoder",
    "cosines",
]


_NOTHING = 1e-6  # a remainder below this share of the vector counts as zero: it is rounding noise


class Scorer(Protocol):
    """The interface of every baseline: learn from a corpus, then score pairs of texts."""

    def fit(self, corpus: Iterable[str]) -> Self:
        """Learn from the texts of a corpus."""
        ...

    def score(self, first: Sequence[str], second: Sequence[str]) -> F64:
        """Return the similarity of each pair.

        Parameters
        ----------
        first, second : sequence of str
            n texts each; for baselines that distinguish them, ``first`` are queries and ``second`` documents.

        Returns
        -------
        float64 array (n,)
        """
        ...


def cosines(
    encode: Callable[[Sequence[str]], FloatArray], first: Sequence[str], second: Sequence[str]
) -> F64:
    """Return the cosine similarity of each pair of texts (n,); ``encode`` returns unit vectors."""
    check_pairs(first, second)
    both = encode([*first, *second]).astype(np.float64)
    found: F64 = np.einsum("nd,nd->n", both[: len(first)], both[len(first) :])
    return found


class DenseEncoder(ABC):
    """A baseline that turns a text into a vector; the score of a pair is the cosine similarity of its vectors.

    Parameters
    ----------
    vectors : VectorSource
        Word vectors of d dimensions. An unknown word has the row that the source returns for it, as in GEM.
    """

    def __init__(self, vectors: VectorSource) -> None:
        self.vectors = vectors

    @property
    def dimension(self) -> int:
        """Length of a sentence vector."""
        return self.vectors.dimension

    def fit(self, corpus: Iterable[str]) -> Self:  # noqa: ARG002 -- subclasses use it
        """Return the encoder unchanged: it does not learn from a corpus."""
        return self

    def encode(self, texts: Iterable[str]) -> FloatArray:
        """Encode texts.

        Parameters
        ----------
        texts : iterable of str
            n texts; a single string is refused.

        Returns
        -------
        float32 array (n, dimension)
            Rows of unit length; a text without words gives a row of zeros.
        """
        blocks = [np.zeros((0, self.dimension), dtype=np.float32)]
        for block in corpus_blocks(texts):
            batch = TokenBatch.of_texts(block)
            found = self._compose(batch, self.vectors.lookup(batch.words)[0])
            norms = np.linalg.norm(found, axis=1, keepdims=True)
            blocks.append((found / np.where(norms > 0, norms, 1.0)).astype(np.float32))
        return np.concatenate(blocks)

    def score(self, first: Sequence[str], second: Sequence[str]) -> F64:
        """Return the cosine similarity of each pair of texts (n,); 0 if one of the two has no words."""
        return cosines(self.encode, first, second)

    @abstractmethod
    def _compose(self, batch: TokenBatch, rows: FloatArray) -> F64:
        """Return sentence vectors (sentences, dimension) of any length, made of the words' rows (u, d)."""


class MeanEncoder(DenseEncoder):
    """The plain average of a sentence's word vectors."""

    def _compose(self, batch: TokenBatch, rows: FloatArray) -> F64:
        return _averages(batch, np.ones(len(rows)), rows)


class PowerMeanEncoder(DenseEncoder):
    """The concatenated power means of a sentence's word vectors with p = 1, +infinity and -infinity.

    These are each dimension's average, maximum and minimum over the words: the three that Rücklé, Eger, Peyrard and
    Gurevych, "Concatenated Power Mean Word Embeddings as Universal Cross-Lingual Sentence Representations" (arXiv
    1803.01400, 2018), use for one language. Their 3,600 dimensions come from four sets of word vectors with 300 dimensions:
    open several sources joined by ``+`` for the same.
    """

    @property
    def dimension(self) -> int:
        """Length of a sentence vector, 3 d."""
        return 3 * self.vectors.dimension

    def _compose(self, batch: TokenBatch, rows: FloatArray) -> F64:
        width = self.vectors.dimension
        means = np.zeros((len(batch.offsets) - 1, 3 * width))
        means[:, :width] = _averages(batch, np.ones(len(rows)), rows)
        # for an empty sentence reduceat would return the next sentence's first word: use only sentences with words
        filled = np.flatnonzero(np.diff(batch.offsets))
        if len(filled):
            words, starts = rows[batch.ids], batch.offsets[filled]
            means[filled, width : 2 * width] = np.maximum.reduceat(words, starts, axis=0)
            means[filled, 2 * width :] = np.minimum.reduceat(words, starts, axis=0)
        return means


class _WeightedEncoder(DenseEncoder):
    """A weighted average of word vectors from which directions common to the corpus are removed.

    Attributes
    ----------
    components : int
        Maximum number of directions.
    """

    components: int
    _name: str
    _common: Components | None = None

    def fit(self, corpus: Iterable[str]) -> Self:
        """Find the directions of a corpus, read once in constant memory.

        They are the first right singular vectors of its sentence vectors, which are not centred.

        Raises
        ------
        InputError
            If no text has a word.
        MissingExtraError
            If wordfreq is not installed.
        """
        statistics = CorpusStatistics(self.dimension)
        for block in corpus_blocks(corpus):
            batch = TokenBatch.of_texts(block)
            statistics.add(self._average(batch, self.vectors.lookup(batch.words)[0]), batch.filled)
        if not statistics.sentences:
            raise InputError("found no text with a word to fit on; expected at least one")
        self._common = statistics.components(self.components)
        return self

    def _compose(self, batch: TokenBatch, rows: FloatArray) -> F64:
        if self._common is None:
            raise InputError(
                f"{self._name} was not fitted on a corpus; expected a call of fit first"
            )
        whole = self._average(batch, rows)
        directions = self._common.directions
        shares = self._shares(self._common.singular_values)
        left = whole - (whole @ directions.T * shares) @ directions
        norms = np.linalg.norm(left, axis=1), np.linalg.norm(whole, axis=1)
        left[norms[0] <= _NOTHING * norms[1]] = 0.0
        return left

    @abstractmethod
    def _average(self, batch: TokenBatch, rows: FloatArray) -> F64:
        """Return the weighted averages (sentences, d) of the words' rows (u, d)."""

    @abstractmethod
    def _shares(self, sigma: F64) -> F64:
        """Return the share (m,) of the projection on each direction to remove, for their singular values (m,)."""


class SifEncoder(_WeightedEncoder):
    """Smooth inverse frequency (SIF): the more frequent a word is in English, the less it weighs.

    Arora, Liang and Ma, "A Simple but Tough-to-Beat Baseline for Sentence Embeddings" (ICLR 2017), Algorithm 1: a word
    weighs a / (a + p(w)), and the projection on the first singular vector of the corpus is removed. p(w) is wordfreq's
    English frequency, 0 for a word that it does not know, which then weighs 1.

    Parameters
    ----------
    vectors : VectorSource
        Word vectors of d dimensions.
    a : float
        The paper's 1e-3.
    components : int
        The paper's 1.
    """

    _name = "SIF"

    def __init__(self, vectors: VectorSource, *, a: float = 1e-3, components: int = 1) -> None:
        super().__init__(vectors)
        self.a = a
        self.components = components

    def _average(self, batch: TokenBatch, rows: FloatArray) -> F64:
        return _averages(batch, self.a / (self.a + _frequencies(batch.words)), rows)

    def _shares(self, sigma: F64) -> F64:
        return np.ones(len(sigma))


class UsifEncoder(_WeightedEncoder):
    """Unsupervised SIF (uSIF): without parameters to tune, with several directions partly removed.

    Ethayarajh, "Unsupervised Random Walk Sentence Embeddings: A Strong but Simple Baseline" (RepL4NLP 2018), Algorithm
    1: a word weighs a / (a/2 + p(w)), where a follows from the vocabulary V and the expected length n of a sentence:
    alpha is the share of words with p(w) > 1 - (1 - 1/|V|)^n, Z = |V|/2 and a = (1 - alpha) / (alpha Z). Of the
    projection on the i-th of m singular vectors of the corpus, lambda_i = sigma_i^2 / sum_j sigma_j^2 is removed. V and
    p(w) are those of wordfreq's English list.

    Parameters
    ----------
    vectors : VectorSource
        Word vectors of d dimensions.
    length : int
        n; the paper's 11.
    components : int
        m; the paper's 5.
    normalised : {"dimensions", "words"}
        What is normalised to unit length before the words of a sentence are weighed: each dimension over the sentence's
        words, as in the author's published code (github.com/kawine/usif divides by the norms along axis 0 of a matrix
        with one word per row), or each word's vector.
    """

    _name = "uSIF"
    _a: float | None = None

    def __init__(
        self,
        vectors: VectorSource,
        *,
        length: int = 11,
        components: int = 5,
        normalised: Literal["dimensions", "words"] = "dimensions",
    ) -> None:
        super().__init__(vectors)
        check_choice(normalised, "normalised", ("dimensions", "words"))
        self.length = length
        self.components = components
        self.normalised = normalised

    @property
    def a(self) -> float:
        """The smoothing constant a, from wordfreq's English list."""
        if self._a is None:
            known = np.fromiter(_wordfreq().get_frequency_dict("en").values(), dtype=np.float64)
            alpha = np.mean(known > 1 - (1 - 1 / len(known)) ** self.length)
            self._a = float((1 - alpha) / (alpha * len(known) / 2))
        return self._a

    def _average(self, batch: TokenBatch, rows: FloatArray) -> F64:
        weights = self.a / (self.a / 2 + _frequencies(batch.words))
        if self.normalised == "words":
            norms = np.linalg.norm(rows.astype(np.float64), axis=1)
            return _averages(batch, weights / np.where(norms > 0, norms, 1.0), rows)
        # The length of a dimension is one number per sentence, so the sum can be divided by it instead of each term.
        squares = _averages(batch, np.ones(len(rows)), rows.astype(np.float64) ** 2)
        lengths = np.sqrt(squares * np.diff(batch.offsets)[:, None])
        return _averages(batch, weights, rows) / np.where(lengths > 0, lengths, 1.0)

    def _shares(self, sigma: F64) -> F64:
        shares: F64 = sigma**2 / np.sum(sigma**2)
        return shares


def _averages(batch: TokenBatch, weights: F64, rows: npt.NDArray[Any]) -> F64:
    """Return sum_i w_i v_i / n over the n words of each sentence (sentences, d); 0 if n is 0.

    Weights (u,) and rows (u, d) belong to the distinct words. Each sentence is summed word by word, so that its bytes do
    not depend on the other sentences.
    """
    count = np.diff(batch.offsets)
    words = csr_array(
        (weights[batch.ids], batch.ids, batch.offsets), shape=(len(count), len(weights))
    )
    sums = np.asarray(words @ rows.astype(np.float64), dtype=np.float64)
    return sums / np.maximum(count, 1)[:, None]


def _wordfreq() -> Any:
    try:
        return import_module("wordfreq")
    except ImportError as error:
        raise MissingExtraError("each of SIF and uSIF", "eval") from error


def _frequencies(words: Sequence[str]) -> F64:
    """Return p(w) (u,), the relative frequency of each word in English."""
    frequency = _wordfreq().word_frequency
    return np.array([frequency(word, "en") for word in words], dtype=np.float64)


BASELINES: dict[str, Callable[[VectorSource], Scorer]] = {
    "mean": MeanEncoder,
    "SIF": SifEncoder,
    "uSIF": UsifEncoder,
    "p-mean": PowerMeanEncoder,
    "TF-IDF": lambda _: TfIdf(),
    "BM25": lambda _: Bm25(),
}
