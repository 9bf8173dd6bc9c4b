"""Take in documents whose vectors were made elsewhere, by an encoder that was fitted on them there."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from gem_index.arrays import F32, I64
from gem_index.collection.access import CollectionAccess
from gem_index.collection.building import as_not_indexed, keep_reading
from gem_index.collection.models import record_of
from gem_index.collection.pieces import PieceEncoder
from gem_index.collection.publish import publish
from gem_index.collection.results import IngestReport
from gem_index.collection.writing import upsert
from gem_index.documents import Document
from gem_index.errors import ConfigError, InputError
from gem_index.gem.combined import Encoder
from gem_index.progress import Progress, counted

__all__ = ["GivenVectors", "adopt"]


def adopt(
    access: CollectionAccess,
    encoder: Encoder,
    documents: Iterable[Document],
    vectors: Iterable[tuple[str, F32]],
    reading: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> IngestReport:
    """Store documents in an empty collection, and publish their index and the fitted encoder without encoding them again.

    Parameters
    ----------
    access : CollectionAccess
    encoder : Encoder
        Fitted on these documents; otherwise that of the collection.
    documents : iterable of Document
        Stored in one transaction.
    vectors : iterable of (str, float32 array (p, d))
        The texts of the documents in their order, and the vectors of their pieces; may be iterated again.
    reading : mapping, optional
        How files are read that are added later.
    progress : callable, optional

    Raises
    ------
    InputError
        If the collection holds documents.
    ConfigError
        If the encoder has other word vectors or another configuration than that of the collection.
    NotIndexedError
        If the documents are stored, but indexing them failed.
    """
    started = time.monotonic()
    with access.workspace.write_lock():
        with access.reading() as rows:
            model, cutting, held = rows.model(), rows.record.cuts, rows.counts().documents
        if held:
            raise InputError(
                f"the collection {access.name} holds {held} documents; expected an empty one"
            )
        own = access.encoder()
        if own.unfitted().fingerprint != encoder.unfitted().fingerprint:
            raise ConfigError(
                f"the encoder has other word vectors or another configuration than the collection {access.name}; "
                "expected a fit of the collection's own"
            )
        watched = partial(counted, stage="store", progress=progress)
        report = upsert(access, [documents], "refuse", watched=watched)
        record = record_of(encoder, [part.vectors for part in model.encoders])
        with as_not_indexed(access.name, report.documents, f"gem-index refit {access.name}"):
            keep_reading(access, reading or {})
            given = GivenVectors(PieceEncoder(encoder, cutting), vectors)
            publish(access, encoder, record, progress, given=given.rows)
    return replace(report, fingerprint=encoder.fingerprint, seconds=time.monotonic() - started)


class GivenVectors:
    """Vectors that were made before, for texts that are asked for in the same order; what differs is encoded here.

    Parameters
    ----------
    pieces : PieceEncoder
    vectors : iterable
        As for :func:`adopt`.

    Attributes
    ----------
    encoded : int
        Texts that had to be encoded.
    """

    def __init__(self, pieces: PieceEncoder, vectors: Iterable[tuple[str, F32]]) -> None:
        self._pieces = pieces
        self._rest: Iterator[tuple[str, F32]] = iter(vectors)
        self.encoded = 0

    def rows(self, texts: Sequence[str]) -> tuple[F32, I64]:
        """Return the vectors of all pieces (p, d), and how many each text has, int64 (n,)."""
        found = [self._of(text) for text in texts]
        counts = np.array([len(each) for each in found], dtype=np.int64)
        if not found:
            return np.zeros((0, self._pieces.encoder.dimension), np.float32), counts
        return np.concatenate(found), counts

    def _of(self, text: str) -> F32:
        given = next(self._rest, None)
        if given is not None and _same(given[0], text):
            return given[1]
        self.encoded += 1
        return self._pieces.rows([text])[0]


def _same(one: str, other: str) -> bool:
    return one == other and getattr(one, "weights", None) == getattr(other, "weights", None)
