"""The GEM encoder: it is fitted on a corpus, encodes texts, and explains the weights of their words."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Self, TypeVar

import numpy as np
import numpy.typing as npt

from gem_index.errors import ConfigError, InputError
from gem_index.gem.background import (
    RECIPE,
    background_components,
    background_statistics,
)
from gem_index.gem.batches import TokenBatch, blocks_of_texts, ranges_by_length
from gem_index.gem.components import Components, CorpusStatistics
from gem_index.gem.config import GemConfig
from gem_index.gem.explanation import Explanation, WordWeight
from gem_index.gem.matches import MatchExplanation, explain_match
from gem_index.gem.model_file import MAGIC, StoredEncoder, read_model, write_model
from gem_index.gem.sentences import WeighedSentences
from gem_index.gem.summaries import summarise_batch
from gem_index.progress import ProgressOption, counted, reporting
from gem_index.text.tokens import Tokenizer, check_text, check_texts
from gem_index.vectors.base import FloatArray, VectorSource

__all__ = ["GemEncoder", "blocks_for_fit", "stored_encoder"]

_BLOCK = 32_768  # texts per block, which the threads divide
_BLOCK_CHARACTERS = 1_000_000  # characters per block
_BATCH_CHARACTERS = (
    150_000  # characters whose words are looked up at once; only a single text may have more
)
_PARALLEL_CHARACTERS = 20_000  # characters; for fewer, threads cost more time than they save
Result = TypeVar("Result")


class GemEncoder:
    """Turns texts into unit vectors by the algorithm of Yang, Zhu and Chen (EMNLP 2019).

    Without a fit, the encoder works too: it uses components of generated English sentences (the background). :meth:`fit`
    adapts the encoder to a corpus.

    Parameters
    ----------
    vectors : VectorSource
        Word vectors of d dimensions.
    config : GemConfig, optional
        The configuration. Default: the paper's settings for semantic similarity.
    components : Components, optional
        The principal directions of a corpus, from an earlier fit.
    threads : int, optional
        The number of threads for fitting and encoding; by default the number in the settings.

    Examples
    --------
    >>> encoder = GemEncoder(open_vectors("wordllama")).fit(corpus)  # doctest: +SKIP
    >>> encoder.encode(["a man plays guitar"]).shape  # doctest: +SKIP
    (1, 256)
    """

    def __init__(
        self,
        vectors: VectorSource,
        config: GemConfig | None = None,
        *,
        components: Components | None = None,
        threads: int | None = None,
    ) -> None:
        self.vectors = vectors
        self.config = config or GemConfig()
        if components is not None and components.directions.shape[1] != vectors.dimension:
            raise ConfigError(
                f"found components of {components.directions.shape[1]} dimensions and vectors of {vectors.dimension}; "
                "expected the same"
            )
        self._components = components
        self._statistics: CorpusStatistics | None = None
        self.threads = threads

    def __repr__(self) -> str:
        fit = f"fitted on {self.components.sentences:,} texts" if self.fitted else "background"
        return f"GemEncoder({self.vectors!r}, preset {self.config.preset_name}, {fit})"

    @property
    def dimension(self) -> int:
        """Length of a sentence vector."""
        return self.vectors.dimension

    @property
    def encoders(self) -> tuple[Self, ...]:
        """A tuple with only this encoder; a :class:`~gem_index.gem.combined.CombinedEncoder` has several."""
        return (self,)

    @property
    def fitted(self) -> bool:
        """Whether the components come from a corpus; False if they come from the background."""
        return not self.recipe

    @property
    def recipe(self) -> str:
        """The name and version of the background that is used; empty for a fitted encoder."""
        # Do not use self.components here: it would compute the background.
        return RECIPE if self._components is None else self._components.recipe

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer that splits texts into words."""
        return self.config.tokenizer

    @property
    def components(self) -> Components:
        """The principal directions in use; before a fit, the directions of the background."""
        if self._components is None:
            self._components = background_components(
                self.vectors, self.config.power, self.config.n_components
            )
        return self._components

    @property
    def fingerprint(self) -> str:
        """SHA-256 over the vectors' fingerprint, the configuration and the components."""
        state = hashlib.sha256(f"{MAGIC} {self.vectors.fingerprint} ".encode())
        state.update(self.config.to_json().encode())
        recipe = self.recipe
        state.update(recipe.encode() if recipe else self.components.identity())
        return state.hexdigest()

    # ----------------------------------------------------------------- fitting

    def corpus_statistics(self, corpus: Iterable[str]) -> CorpusStatistics:
        """Return the statistics of a corpus; the corpus is read once, in constant memory.

        Parameters
        ----------
        corpus : iterable of str
            The texts; a text without words is not counted.

        Returns
        -------
        CorpusStatistics
            The statistics. The statistics of several parts of a corpus can be merged into the statistics of the whole
            corpus.
        """
        statistics = CorpusStatistics(self.dimension)
        for block in blocks_for_fit(corpus):
            self.add_to(statistics, block)
        return statistics

    def add_to(self, statistics: CorpusStatistics, block: list[str]) -> None:
        """Add a block of texts, from :func:`blocks_for_fit`, to the statistics of a corpus."""
        for part in self._in_parts(block, lambda begin, end: self._summary(block[begin:end])):
            statistics.merge(part)

    def _summary(self, texts: list[str]) -> CorpusStatistics:
        config, statistics = self.config, CorpusStatistics(self.dimension)
        for _, _, batch in self._batches(texts, 0, len(texts)):
            statistics.merge(summarise_batch(self.vectors, batch, config.power, config.fit_words))
        return statistics

    def unfitted(self) -> Self:
        """Return an unfitted encoder with the same vectors and configuration."""
        return type(self)(self.vectors, self.config, threads=self.threads)

    def with_components(self, components: Sequence[Components]) -> Self:
        """Return an encoder with the same vectors and configuration, and other components, given as a sequence of one."""
        (found,) = components
        return type(self)(self.vectors, self.config, components=found, threads=self.threads)

    def fit(self, corpus: Iterable[str], *, progress: ProgressOption = None) -> Self:
        """Replace the components by the principal directions of a corpus.

        Parameters
        ----------
        corpus : iterable of str
            The texts, which are read once.
        progress : bool or callable, optional
            As for :meth:`encode`.

        Raises
        ------
        InputError
            If no text of the corpus has a word and the prior is 0.
        """
        check_texts(corpus)
        with reporting(progress, "fit") as report:
            return self.fit_statistics(self.corpus_statistics(counted(corpus, "fit", report)))

    def partial_fit(self, corpus: Iterable[str]) -> Self:
        """Add texts to the corpus of earlier calls, and compute the components of the whole corpus again.

        Raises
        ------
        ConfigError
            If the present components were given or loaded, because the statistics of their corpus are not known.
        """
        if self._statistics is None and self.fitted:
            raise ConfigError(
                "these components were loaded without the statistics of their corpus; expected an encoder "
                "fitted in this process: fit it on all texts"
            )
        statistics = self.corpus_statistics(corpus)
        return self.fit_statistics(
            statistics.merge(self._statistics) if self._statistics else statistics
        )

    def fit_statistics(self, statistics: CorpusStatistics) -> Self:
        """Compute the components from statistics, for example from the merged statistics of many workers."""
        prior = self.config.prior
        if statistics.sentences == 0 and prior == 0:
            raise InputError("found no text with a word to fit on; expected at least one")
        background = self._background() if prior > 0 else None
        self._components = statistics.components(self.config.n_components, background, prior)
        self._statistics = statistics
        return self

    def _background(self) -> CorpusStatistics:
        return background_statistics(self.vectors, self.config.power)

    # ---------------------------------------------------------------- encoding

    def encode(self, texts: Iterable[str], *, progress: ProgressOption = None) -> FloatArray:
        """Encode texts.

        Parameters
        ----------
        texts : iterable of str
            n texts. A single string, a mapping or a table is an error.
        progress : bool or callable, optional
            True shows a bar on standard error. A function is called with stage, done and total.

        Returns
        -------
        float32 array (n, dimension)
            Rows of unit length: their inner products are cosines. A text without words gives a row of zeros.
        """
        check_texts(texts)
        if not isinstance(texts, Sequence):
            texts = list(texts)
        out = np.empty((len(texts), self.dimension), dtype=np.float32)
        begin = 0
        with reporting(progress, "encode") as report:
            for block in _blocks(texts, _BLOCK if report else 4 * _BLOCK):
                self._encode_block(block, out[begin : begin + len(block)])
                begin += len(block)
                if report is not None:
                    report("encode", begin, len(texts))
        return out

    def _encode_block(self, texts: list[str], out: FloatArray) -> None:
        def encode(begin: int, end: int) -> None:
            for first, last, batch in self._batches(texts, begin, end):
                self.encode_tokens(batch, out[first:last])

        self._in_parts(texts, encode)

    def encode_tokens(self, batch: TokenBatch, out: FloatArray) -> None:
        """Encode tokenized sentences into out (sentences, dimension), in this thread."""
        self._weigh(batch).compose(self.components, self.config, out)

    def similarity(self, a: str, b: str) -> float:
        """Return the cosine of two texts, from -1 to 1; 0 if a text has no words."""
        texts = [check_text(a, "first text"), check_text(b, "second text")]
        first, second = self.encode(texts).astype(np.float64)
        return float(np.clip(first @ second, -1.0, 1.0))

    def explain(self, text: str) -> Explanation:
        """Return the share of each word in the text's vector, and its weights.

        The explanation has three scores of each word: novelty, significance and uniqueness. ``alpha`` is the sum of the
        scores that the configuration uses. In a :class:`~gem_index.WeightedText`, ``alpha`` is multiplied by the weight
        of the part that has the word.
        """
        batch = self._batch([check_text(text, "text")])
        weighed = self._weigh(batch)
        _, unknown = self.vectors.lookup(batch.words)
        added = weighed.word_vectors(self.components, self.config)
        rows = zip(
            batch.ids,
            weighed.weights,
            weighed.alpha(self.config),
            added @ added.sum(axis=0),
            strict=True,
        )
        words = tuple(
            WordWeight(
                batch.words[i],
                not unknown[i],
                float(n),
                float(s),
                float(u),
                float(alpha),
                float(share),
            )
            for i, (n, s, u), alpha, share in rows
        )
        return Explanation(text, self.fingerprint, words)

    def word_vectors(self, text: str) -> npt.NDArray[np.float64]:
        """Return the contribution of each word to the text's unit vector.

        Returns
        -------
        float64 array (n, dimension)
            For each word, its vector times its weight, without the part along the removed directions. All rows are then
            divided by the length of their sum, so their sum is the unit vector of the text.
        """
        weighed = self._weigh(self._batch([check_text(text, "text")]))
        return weighed.word_vectors(self.components, self.config)

    def explain_match(self, first: str, second: str) -> MatchExplanation:
        """Explain why two texts are similar, by the share of each word and each word pair in their cosine."""
        return explain_match(self, first, second)

    def _batches(
        self, texts: list[str], begin: int, end: int
    ) -> Iterator[tuple[int, int, TokenBatch]]:
        """Divide texts[begin:end] into batches, each with its range.

        A batch needs the vectors of its distinct words in memory. And while Python makes these words, no other thread runs.
        """
        part = texts[begin:end]
        count = 1 + sum(map(len, part)) // _BATCH_CHARACTERS
        for first, last in ranges_by_length(part, count):
            yield begin + first, begin + last, self._batch(part[first:last])

    def _batch(self, texts: list[str]) -> TokenBatch:
        return TokenBatch.of_texts(texts, self.config.tokenizer)

    def _weigh(self, batch: TokenBatch) -> WeighedSentences:
        rows, _ = self.vectors.lookup(batch.words)
        return WeighedSentences.of(
            batch.ids, batch.offsets, rows, self.components, self.config, batch.counts
        )

    def _in_parts(self, texts: list[str], work: Callable[[int, int], Result]) -> list[Result]:
        """Return the results of work(begin, end) for consecutive parts of the texts; use threads for many characters."""
        threads = self.threads
        if threads is None:
            from gem_index.common.settings import load_settings

            threads = self.threads = load_settings().threads
        if sum(map(len, texts)) < _PARALLEL_CHARACTERS:
            threads = 1

        parts = ranges_by_length(texts, threads)
        if len(parts) <= 1:
            return [work(0, len(texts))]
        with ThreadPoolExecutor(len(parts)) as pool:
            return list(pool.map(work, *zip(*parts, strict=True)))

    # ----------------------------------------------------------------- storing

    def save(self, path: str | Path) -> None:
        """Write configuration and components to a safetensors file; the file does not have the word vectors.

        Raises
        ------
        InputError
            If the file cannot be written.
        """
        write_model(path, [stored_encoder(self)])

    @classmethod
    def load(cls, path: str | Path, vectors: VectorSource, *, threads: int | None = None) -> Self:
        """Return the encoder in a file that :meth:`save` wrote.

        Raises
        ------
        FingerprintMismatchError
            If the encoder was fitted with other vectors.
        CorruptionError
            If the file is not a model, or the file is damaged.
        """
        found = read_model(path)
        if found[0].weight is not None:
            raise ConfigError(
                f"{path} has {len(found)} encoders; expected one: open it with CombinedEncoder.load"
            )
        (stored,) = found
        stored.check_vectors(path, vectors.fingerprint)
        encoder = cls(vectors, stored.config, components=stored.components, threads=threads)
        stored.check_fingerprint(path, encoder.fingerprint)
        return encoder

    def reloaded(self, path: str | Path) -> Self:
        """Return the encoder that :meth:`save` wrote, with the word vectors of this encoder."""
        return self.load(path, self.vectors, threads=self.threads)


def stored_encoder(encoder: GemEncoder, weight: float | None = None) -> StoredEncoder:
    """Return the entry of an encoder in a model file; ``weight`` is the encoder's weight in a combined encoder."""
    return StoredEncoder(
        encoder.config, encoder.components, encoder.vectors.fingerprint, encoder.fingerprint, weight
    )


def blocks_for_fit(corpus: Iterable[str]) -> Iterator[list[str]]:
    """Divide a corpus into blocks, which a fit reads one after the other."""
    return _blocks(corpus, _BLOCK)


def _blocks(texts: Iterable[str], most: int) -> Iterator[list[str]]:
    check_texts(texts)
    return blocks_of_texts(texts, most, _BLOCK_CHARACTERS)
