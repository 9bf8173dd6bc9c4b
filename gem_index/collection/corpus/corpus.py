"""The distinct texts and vectors of a collection, for duplicates and topics."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np

from gem_index.collection.state.access import CollectionAccess
from gem_index.collection.state.view import HeldTexts, View
from gem_index.collection.state.view_cache import StaleStateError
from gem_index.common.arrays import F32, I32
from gem_index.index.hits import Ids
from gem_index.progress import Progress
from gem_index.store.documents import DocumentRepository
from gem_index.text.tokens import WeightedText

__all__ = ["Corpus", "read_corpus"]

_BLOCK = 4096
_HASH_BYTES = 16  # among a billion texts, two texts have the same hash with a probability of 1e-21


@dataclass(frozen=True)
class Corpus:
    """The documents of a collection at one moment; some may be deleted later.

    Attributes
    ----------
    seqs : int64 array (n,)
        The documents, ascending.
    texts : int32 array (n,)
        For each document, the number of its text; equal texts have the same number.
    vectors : float32 array (t, d)
        The vectors of the distinct texts, in the order of their first documents. The vectors are mapped from a
        temporary file, so the system can reclaim their memory.
    """

    seqs: Ids
    texts: I32
    vectors: F32


def read_corpus(
    access: CollectionAccess,
    where: Mapping[str, Any] | None,
    show: Progress | None,
    collect: Callable[[Sequence[str]], None] | None = None,
) -> Corpus:
    """Read the documents that a filter accepts, or all documents if there is no filter.

    ``collect`` is called with the distinct texts, block by block, in the order of their numbers.

    Raises
    ------
    FilterError
        If the filter is not of the documented form.
    """
    while True:
        with access.reading() as rows:
            try:
                view = access.views.at(rows.connection, rows.record)
            except StaleStateError:
                continue  # another thread has seen a newer state: try again
            documents = rows.documents
            seqs = documents.seqs() if where is None or where == {} else documents.accepted(where)
            return _read(documents, view, seqs, show, collect)


def _read(
    documents: DocumentRepository,
    view: View,
    seqs: Ids,
    show: Progress | None,
    collect: Callable[[Sequence[str]], None] | None,
) -> Corpus:
    numbers: dict[bytes, int] = {}
    texts = np.empty(len(seqs), np.int32)
    with tempfile.TemporaryFile() as file:
        for begin in range(0, len(seqs), _BLOCK):
            block = seqs[begin : begin + _BLOCK]
            fresh = HeldTexts()
            for place, text in enumerate(documents.texts(block.tolist())):
                count = len(numbers)
                texts[begin + place] = numbers.setdefault(_digest(text), count)
                if len(numbers) > count:
                    fresh[int(block[place])] = text
            if collect is not None:
                collect(list(fresh.values()))
            new = np.array(list(fresh), dtype=np.int64)
            vectors = view.vectors(new, fresh)
            file.write(vectors.tobytes())
            if show is not None:
                show("read", begin + len(block), len(seqs))
        file.flush()
        shape = (len(numbers), view.encoder.dimension)
        if not numbers:
            return Corpus(seqs, texts, np.zeros(shape, np.float32))
        return Corpus(seqs, texts, np.memmap(file, np.float32, "r", shape=shape))


def _digest(text: str) -> bytes:
    parts = repr(text.weights) if isinstance(text, WeightedText) else ""
    return blake2b(f"{parts}\n{text}".encode(), digest_size=_HASH_BYTES).digest()
