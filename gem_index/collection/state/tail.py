"""The tail of a collection: documents newer than the snapshot, which stay in memory until the next snapshot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import compress

import numpy as np

from gem_index.collection.state.piece_encoder import PieceEncoder
from gem_index.common.arrays import F32, I64, Mask
from gem_index.common.forking import ForkSafeLock, cached_property
from gem_index.index.hits import Ids, among, members
from gem_index.index.lexical_tail import LexicalTail

__all__ = ["Tail"]

_FORGOTTEN = 1000
"""The word index keeps deleted documents. If the tail has n documents, and the index more than 1000 + 2 n, it is rebuilt."""


@dataclass(frozen=True)
class Tail:
    """The documents after a snapshot in one state of a collection.

    Attributes
    ----------
    pieces : PieceEncoder
    ids : int64 array (t,)
        The documents, by ascending ``seq``.
    vectors : float32 array (p, d)
        The vectors of all pieces of the documents.
    counts : int64 array (t,)
        The number of pieces of each document.
    texts : tuple of str
    words : TailWords
        The word index of these documents. Several tails share this index, so it may have documents of other states too.
    """

    pieces: PieceEncoder
    ids: Ids
    vectors: F32
    counts: I64
    texts: tuple[str, ...]
    words: TailWords

    @classmethod
    def empty(cls, pieces: PieceEncoder) -> Tail:
        """Return a tail without documents: the state directly after a snapshot."""
        vectors = np.zeros((0, pieces.encoder.dimension), np.float32)
        none = np.zeros(0, np.int64)
        return cls(pieces, none, vectors, none, (), TailWords(pieces))

    def __len__(self) -> int:
        return len(self.ids)

    def changed(self, deleted: Ids, seqs: Ids, texts: Sequence[str]) -> Tail:
        """Return a new tail: remove deleted documents, encode later documents, and add these.

        Parameters
        ----------
        deleted : int64 array
            Deleted documents; documents that are not in the tail are ignored.
        seqs : int64 array (n,)
            The later documents, ascending; each is above all seqs in the tail.
        texts : sequence of str (n,)
        """
        found = self._without(deleted) if len(deleted) else self
        found = found._with(seqs, texts) if len(seqs) else found
        if len(found.words) > 2 * len(found) + _FORGOTTEN:
            words = TailWords(self.pieces)
            words.add(found.ids, found.texts)
            found = replace(found, words=words)
        return found

    def _without(self, deleted: Ids) -> Tail:
        kept = ~members(self.ids, deleted)
        return replace(
            self,
            ids=self.ids[kept],
            vectors=self.vectors[np.repeat(kept, self.counts)],
            counts=self.counts[kept],
            texts=tuple(compress(self.texts, kept)),
        )

    def _with(self, seqs: Ids, texts: Sequence[str]) -> Tail:
        vectors, counts = self.pieces.rows(texts)
        self.words.add(seqs, texts)
        return replace(
            self,
            ids=np.append(self.ids, seqs),
            vectors=np.concatenate([self.vectors, vectors]),
            counts=np.concatenate([self.counts, counts]),
            texts=(*self.texts, *texts),
        )

    def best(self, query: F32) -> F32:
        """Return, for each document, the highest cosine of a piece with a query, float32 (t,)."""
        if not len(self.vectors):
            return np.zeros(0, np.float32)
        return np.maximum.reduceat(self.vectors @ query, self._starts)

    def holds(self, seqs: Ids) -> Mask:
        """Return a mask (n,) of the documents that are in the tail; ``seqs`` ascend."""
        return among(seqs, self.ids)

    def places(self, seqs: Ids) -> I64:
        """Return the positions of documents of the tail."""
        return np.searchsorted(self.ids, seqs)

    def rows(self, place: int) -> F32:
        """Return the vectors (p, d) of the pieces of the document at a position."""
        begin = int(self._starts[place])
        return self.vectors[begin : begin + int(self.counts[place])]

    def take(self, places: I64) -> F32:
        """Return the vectors (n, d) of the documents at some positions; each of these documents must have only one piece."""
        rows: F32 = self.vectors[self._starts[places]]
        return rows

    @cached_property
    def _starts(self) -> I64:
        starts: I64 = np.concatenate([[0], np.cumsum(self.counts)[:-1]]).astype(np.int64)
        return starts


class TailWords:
    """A word index of all documents since the snapshot; later views share the index, and each text is analysed once.

    Parameters
    ----------
    pieces : PieceEncoder
    """

    def __init__(self, pieces: PieceEncoder) -> None:
        self._pieces = pieces
        self._tail = LexicalTail(pieces.analyzer)
        self._waiting: list[tuple[Ids, Sequence[str]]] = []
        self._noted = 0
        self._lock = ForkSafeLock()

    def __len__(self) -> int:
        """Return the number of documents, including deleted ones."""
        return self._noted

    def add(self, seqs: Ids, texts: Sequence[str]) -> None:
        """Add documents; their seqs ascend, and are above the seqs of all earlier documents."""
        with self._lock:
            self._waiting.append((seqs, texts))
            self._noted += len(seqs)

    def up_to_date(self) -> LexicalTail:
        """Return the word index of all added documents."""
        with self._lock:
            while self._waiting:
                seqs, texts = self._waiting[0]
                parts, counts = self._pieces.parts(texts)
                self._tail.add(np.repeat(seqs, counts), parts)
                del self._waiting[0]
            return self._tail
