"""The word statistics of a collection's texts, for sparse vectors."""

from __future__ import annotations

from gem_index.collection.state.access import CollectionAccess
from gem_index.collection.state.piece_encoder import PieceEncoder
from gem_index.collection.state.texts import CollectionTexts
from gem_index.progress import Progress
from gem_index.sparse import SparseEncoder

__all__ = ["fit_sparse_encoder"]


def fit_sparse_encoder(access: CollectionAccess, progress: Progress | None = None) -> SparseEncoder:
    """Return a sparse encoder, fitted on the present texts; see :meth:`gem_index.Collection.sparse_encoder`."""
    with access.reading() as rows:
        record = rows.record
        pieces = PieceEncoder(access.encoder(rows), record.chunking, record.analyzer)
        texts = CollectionTexts(rows.documents).all(progress)
        found = SparseEncoder.fit(pieces.of_all(texts), record.analyzer)
        return found.with_synonyms(record.synonyms_of_words)
