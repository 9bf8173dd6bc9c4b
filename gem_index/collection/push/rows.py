"""Prepare documents of a collection for a target: read the documents, divide them into rows, and add vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np

from gem_index.collection.piece_rows import PieceRows, piece_rows, taken_id
from gem_index.collection.push.notes import SentDocuments
from gem_index.collection.push.sending import PushOptions, batch_of, storable
from gem_index.collection.state.access import CollectionAccess
from gem_index.collection.state.view import HeldTexts, View
from gem_index.common.arrays import F32
from gem_index.common.forking import cached_property
from gem_index.gem.combined import Encoder
from gem_index.sparse import SparseEncoder
from gem_index.targets.batch import TargetBatch
from gem_index.targets.metadata import JsonObjects
from gem_index.targets.protocol import Target

__all__ = ["PushedRows"]


@dataclass(frozen=True)
class PushedRows:
    """The documents of a collection as a target stores them.

    Attributes
    ----------
    access : CollectionAccess
    encoder : Encoder
        The encoder of the whole push, even if the collection is refitted meanwhile.
    target : Target
    options : PushOptions
    words : SparseEncoder, optional
        The encoder of the rows' sparse vectors, if the table has sparse vectors.
    """

    access: CollectionAccess
    encoder: Encoder
    target: Target
    options: PushOptions
    words: SparseEncoder | None = None

    def seqs(self, limit: int | None = None) -> list[int]:
        """Return the seqs of the collection's documents, ascending; with a limit, only the first seqs."""
        with self.access.reading() as rows:
            seqs: list[int] = rows.documents.seqs(limit).tolist()
        return seqs

    def check_storable(self, seqs: list[int]) -> None:
        """Raise ConfigError if the target cannot store the metadata of some documents."""
        with self.access.reading() as rows:
            _, ids, _, as_json = rows.documents.columns(seqs)
        storable(self.target, ids, JsonObjects(as_json), self.options.drop_unsupported)

    def batch(self, seqs: list[int], *, new: bool) -> tuple[SentDocuments, TargetBatch]:
        """Read and encode documents; documents that were deleted meanwhile are left out.

        Raises
        ------
        ConfigError
            If metadata cannot be stored, or a document has the id of another document's piece.
        """
        with self.access.reading() as rows:
            found, ids, texts, as_json = rows.documents.columns(seqs)
            chunking = rows.record.chunking
        cut = piece_rows(chunking, ids, texts, JsonObjects(as_json))
        if len(cut.ids) > len(ids):
            self._check_piece_ids(cut)
        words = None if self.words is None else self.words.embed_documents(cut.embedded)
        vectors = self._vectors_of(found, cut)
        batch = batch_of(self.target, cut, vectors, self.options, words, new=new)
        return SentDocuments(ids, found, cut.counts), batch

    def _check_piece_ids(self, cut: PieceRows) -> None:
        """Raise ConfigError if a document has the id of a piece."""
        with self.access.reading() as rows:
            taken = rows.documents.seqs_of(cut.of_pieces)
        if taken:
            raise taken_id(next(iter(taken)), "build the collection without pieces")

    def _vectors_of(self, seqs: list[int], cut: PieceRows) -> F32:
        """Return the vectors of rows: stored vectors for undivided documents, computed vectors for pieces."""
        if len(cut.ids) == len(seqs):
            return self._vectors(seqs, cut.embedded)
        whole = np.array(cut.counts) == 1
        of_whole = np.repeat(whole, cut.counts)
        vectors = np.empty((len(cut.ids), self.encoder.dimension), np.float32)
        vectors[of_whole] = self._vectors(
            list(compress(seqs, whole)), list(compress(cut.embedded, of_whole))
        )
        vectors[~of_whole] = self.encoder.encode(list(compress(cut.embedded, ~of_whole)))
        return vectors

    def _vectors(self, seqs: Sequence[int], texts: Sequence[str]) -> F32:
        """Return the vectors of documents: the stored vectors if they are exact, else computed vectors."""
        view: View = self._view
        if view.encoder.fingerprint != self.encoder.fingerprint:
            return self.encoder.encode(texts)  # the collection was refitted meanwhile
        held = HeldTexts(zip(seqs, texts, strict=True))
        return view.vectors(np.array(seqs, np.int64), held)

    @cached_property
    def _view(self) -> View:
        return self.access.view()
