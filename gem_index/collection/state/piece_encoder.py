"""Compute the vectors of documents: one vector for each piece of a document."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from gem_index.collection.state.texts import CollectionTexts
from gem_index.common.arrays import F32, I64
from gem_index.gem.combined import Encoder
from gem_index.text.analyzer import ENGLISH, FIRST, Analyzer
from gem_index.text.chunking import Chunking, Piece

__all__ = ["PieceEncoder", "embedded_pieces", "expected_pieces", "index_fingerprint"]

_SAMPLE = 1000  # texts whose pieces are counted


def index_fingerprint(encoder: str, chunking: Chunking, analyzer: Analyzer) -> str:
    """Return the index fingerprint: the encoder's fingerprint, followed by the chunking and the analyzer."""
    parts = [encoder]
    if chunking.chunk is not None:
        parts.append(json.dumps(chunking.fields, sort_keys=True))
    if analyzer != FIRST:
        parts.append(analyzer.stored)
    return " ".join(parts)


def embedded_pieces(texts: Sequence[str], chunking: Chunking) -> tuple[Sequence[str], I64]:
    """Return the text to embed of each piece, in order, and the number of pieces of each text, int64 (n,)."""
    if chunking.chunk is None:
        return texts, np.ones(len(texts), np.int64)
    parts = [_embedded(text, chunking.pieces(text), chunking) for text in texts]
    counts = np.array([len(part) for part in parts], dtype=np.int64)
    return [piece for part in parts for piece in part], counts


def _embedded(text: str, pieces: Sequence[Piece], chunking: Chunking) -> list[str]:
    return [text] if len(pieces) == 1 else [chunking.embedded(text, piece) for piece in pieces]


def expected_pieces(texts: CollectionTexts, chunking: Chunking) -> int:
    """Estimate the number of pieces of a collection from a sample; without chunking, return the number of texts."""
    if chunking.chunk is None or not len(texts):
        return len(texts)
    sample = texts.sample(_SAMPLE)
    return round(len(texts) * sum(len(chunking.pieces(text)) for text in sample) / len(sample))


@dataclass(frozen=True)
class PieceEncoder:
    """Encodes documents piece by piece.

    Parameters
    ----------
    encoder : Encoder
    chunking : Chunking
    analyzer : Analyzer
        Turns the words of the documents into terms, for word search.
    """

    encoder: Encoder
    chunking: Chunking
    analyzer: Analyzer = ENGLISH

    @property
    def fingerprint(self) -> str:
        """The index fingerprint; see :func:`index_fingerprint`."""
        return index_fingerprint(self.encoder.fingerprint, self.chunking, self.analyzer)

    def parts(self, texts: Sequence[str]) -> tuple[Sequence[str], I64]:
        """Return the text to embed of each piece, and the numbers of pieces; see :func:`embedded_pieces`."""
        return embedded_pieces(texts, self.chunking)

    def rows(self, texts: Sequence[str]) -> tuple[F32, I64]:
        """Return the vectors (p, d) of all pieces of n texts, and the number of pieces of each text, int64 (n,)."""
        pieces, counts = self.parts(texts)
        return self.encoder.encode(pieces), counts

    def of_all(self, texts: Iterable[str]) -> Iterable[str]:
        """Iterate over the text to embed of each piece of all texts, in order."""
        if self.chunking.chunk is None:
            return texts
        return (piece for text in texts for piece in self.embedded(text))

    def embedded(self, text: str) -> list[str]:
        """Return the text to embed for each piece; an undivided text is one piece."""
        return self.parts_of(text, self.chunking.pieces(text))

    def parts_of(self, text: str, pieces: Sequence[Piece]) -> list[str]:
        """Return the text to embed for each piece of a text."""
        return _embedded(text, pieces, self.chunking)

    def best(self, texts: Sequence[str], query: F32) -> F32:
        """Return, for each text, the highest cosine of a piece with a query, float32 (n,)."""
        vectors, counts = self.rows(texts)
        if not len(texts):
            return np.zeros(0, np.float32)
        starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
        return np.maximum.reduceat(vectors @ query, starts)
