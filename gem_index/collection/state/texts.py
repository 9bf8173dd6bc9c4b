"""The texts of a collection in one transaction: the input of a fit and of a snapshot."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import numpy as np

from gem_index.index.dense import spread
from gem_index.index.hits import Ids
from gem_index.progress import Progress, counted
from gem_index.store.documents import DocumentRepository
from gem_index.store.records import StoredDocument

__all__ = ["CollectionTexts"]

_BLOCK = 4096


class CollectionTexts:
    """A collection's texts by ascending seq, read from the database on demand.

    Parameters
    ----------
    documents : DocumentRepository
        The documents in a transaction, which must stay open while the texts are read.

    Attributes
    ----------
    seqs : int64 array (n,)
        The documents, ascending.
    """

    def __init__(self, documents: DocumentRepository) -> None:
        self._documents = documents
        self.seqs: Ids = documents.seqs()

    def __len__(self) -> int:
        return len(self.seqs)

    @property
    def last_seq(self) -> int:
        """The seq of the newest document; 0 without documents."""
        return int(self.seqs[-1]) if len(self.seqs) else 0

    def position(self, seq: int) -> int:
        """Return the number of documents up to a seq."""
        return int(np.searchsorted(self.seqs, seq, "right"))

    def all(self, progress: Progress | None = None) -> Iterable[str]:
        """Return all texts for a fit; ``progress`` reports the number of texts that were read."""
        texts = (text for _, text in self._documents.texts_after(0))
        return counted(texts, "fit", progress, len(self))

    def blocks(self, after: int) -> Iterator[tuple[Ids, Sequence[str]]]:
        """Iterate over blocks of documents whose seq is above ``after``: the seqs and the texts."""
        return _blocks(self._documents.texts_after(after))

    def metadata(self, after: int) -> Iterator[tuple[Ids, Sequence[str]]]:
        """Iterate over blocks of documents whose seq is above ``after``: the seqs, and the metadata as JSON."""
        return _blocks(self._documents.metadata_after(after))

    def sample(self, count: int) -> list[str]:
        """Return at most ``count`` texts, taken at even intervals."""
        return [stored.text for stored in self.sampled(count)]

    def sampled(self, count: int) -> list[StoredDocument]:
        """Return at most ``count`` documents, taken at even intervals."""
        found = self._documents.by_seq(spread(self.seqs, count).tolist())
        return [found[seq] for seq in sorted(found)]


def _blocks(rows: Iterator[tuple[int, str]]) -> Iterator[tuple[Ids, Sequence[str]]]:
    while block := list(islice(rows, _BLOCK)):
        yield np.array([seq for seq, _ in block], dtype=np.int64), [text for _, text in block]
