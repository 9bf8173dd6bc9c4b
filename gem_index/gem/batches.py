"""Turn texts into word ids: each distinct word of a batch is looked up once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise

import numpy as np
import numpy.typing as npt

from gem_index.errors import InputError
from gem_index.errors.quoting import quoted
from gem_index.text.tokens import Tokenizer, WeightedText, token_weights, tokenize

__all__ = ["TokenBatch", "blocks_of_texts", "ranges_by_length"]


_TABLE = 1 << 18
"""Initial size of the hash table, in entries of 4 bytes; a table for all possible words would not stay in the cache."""


@dataclass(frozen=True)
class TokenBatch:
    """The words of some sentences.

    Attributes
    ----------
    words : list of str
        u distinct words in order of first appearance.
    ids : int32 array (tokens,)
        The sentences' words, one sentence after the other, as indexes into ``words``.
    offsets : int64 array (sentences + 1,)
        Where each sentence begins in ``ids``.
    counts : float64 array (tokens,), optional
        The weight of each word, if some words count more (:class:`gem_index.text.tokens.WeightedText`).
    """

    words: list[str]
    ids: npt.NDArray[np.int32]
    offsets: npt.NDArray[np.int64]
    counts: npt.NDArray[np.float64] | None = None

    @classmethod
    def of_texts(cls, texts: Sequence[str], tokenizer: Tokenizer = "wordpunct") -> TokenBatch:
        """Return texts as a batch; :func:`gem_index.text.tokens.tokenize` defines the words.

        ``wordpunct`` splits ASCII texts in a kernel, all other texts are split by the tokenizer itself.
        """
        if tokenizer == "wordpunct":
            batch = cls._of_texts(texts)
        else:
            batch = cls.of_tokens(tokenize(text, tokenizer) for text in texts)
        if not any(issubclass(kind, WeightedText) for kind in set(map(type, texts))):
            return batch
        weighted = [(i, t) for i, t in enumerate(texts) if isinstance(t, WeightedText)]
        counts = np.ones(batch.offsets[-1])
        for i, text in weighted:
            counts[batch.offsets[i] : batch.offsets[i + 1]] = token_weights(text, tokenizer)
        return replace(batch, counts=counts)

    @classmethod
    def _of_texts(cls, texts: Sequence[str]) -> TokenBatch:
        from gem_index.kernels.words import number_words

        # map instead of comprehensions, which took half of the time that threads cannot share
        split = ~np.fromiter(map(str.isascii, texts), dtype=np.bool_, count=len(texts))
        others = np.flatnonzero(split).tolist()
        texts = list(texts)
        for i in others:
            texts[i] = "\n".join(tokenize(texts[i]))
        lengths = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
        lengths[others] = [len(texts[i].encode()) for i in others]
        # lower() of bytes changes only ASCII letters; the other letters are lower-case already
        joined = "".join(texts).encode().lower()
        text = np.frombuffer(joined, dtype=np.uint8)
        starts = np.zeros(len(texts) + 1, dtype=np.int64)
        np.cumsum(lengths, out=starts[1:])
        most = (
            len(text) + len(texts)
        ) // 2 + 1  # a token takes at least one byte, and all but the last one a separator
        ids = np.empty(most, dtype=np.int32)
        offsets = np.empty(len(texts) + 1, dtype=np.int64)
        words = np.empty((most, 2), dtype=np.int64)
        count, size = -1, min(_TABLE, 1 << (2 * most).bit_length())
        while count < 0:
            table = np.full(size, -1, dtype=np.int32)
            count = number_words(text, starts, split, table, ids, offsets, words)
            size *= 16
        # two flat lists, because one list per word made the garbage collector scan the whole process
        begins, ends = words[:count, 0].tolist(), words[:count, 1].tolist()
        found = [joined[begin:end].decode() for begin, end in zip(begins, ends, strict=True)]
        return cls(found, ids[: offsets[-1]], offsets)

    @classmethod
    def of_tokens(cls, sentences: Iterable[Sequence[str]]) -> TokenBatch:
        """Return tokenized sentences as a batch."""
        numbers: dict[str, int] = {}
        ids: list[int] = []
        offsets = [0]
        for tokens in sentences:
            ids.extend(numbers.setdefault(token, len(numbers)) for token in tokens)
            offsets.append(len(ids))
        return cls(list(numbers), np.array(ids, dtype=np.int32), np.array(offsets, dtype=np.int64))

    @property
    def filled(self) -> int:
        """The number of sentences with words."""
        return int(np.count_nonzero(np.diff(self.offsets)))


def blocks_of_texts(texts: Iterable[str], most: int, characters: int) -> Iterator[list[str]]:
    """Divide texts into lists of at most ``most`` texts and ``characters`` characters; a longer text is a separate list.

    Raises
    ------
    InputError
        If one of them is not a string.
    """
    iterator = iter(texts)
    done = 0
    while chunk := list(islice(iterator, most)):
        if not all(issubclass(kind, str) for kind in set(map(type, chunk))):
            i, text = next((i, t) for i, t in enumerate(chunk) if not isinstance(t, str))
            raise InputError(
                f"text {done + i} is {quoted(text, 40)} ({type(text).__name__}); expected a string"
            )
        done += len(chunk)
        begin = length = 0
        if sum(map(len, chunk)) > characters:
            for i, text in enumerate(chunk):
                if i > begin and length + len(text) > characters:
                    yield chunk[begin:i]
                    begin, length = i, 0
                length += len(text)
        yield chunk[begin:]


def ranges_by_length(texts: Sequence[str], parts: int) -> list[tuple[int, int]]:
    """Divide texts into at most ``parts`` consecutive ranges (begin, end) with about equal numbers of characters."""
    if parts == 1:
        return [(0, len(texts))] if texts else []
    ends = np.cumsum([len(text) for text in texts] or [0])
    cuts = np.searchsorted(ends, np.linspace(0, ends[-1], parts + 1)[1:-1])
    edges = [0, *(int(cut) for cut in cuts), len(texts)]
    return [(a, b) for a, b in pairwise(edges) if a < b]
