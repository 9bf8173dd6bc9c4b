"""The interface that every adapter wraps: it turns texts into vectors, and has the fingerprint of these vectors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, runtime_checkable

from gem_index.gem.combined import Encoder
from gem_index.progress import ProgressOption
from gem_index.vectors.base import FloatArray

__all__ = ["EmbeddingProvider", "GemProvider"]


@runtime_checkable
class EmbeddingProvider(Protocol):
    """Embeds documents and queries. Vectors of two providers can be compared only if the fingerprints are equal."""

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        ...

    @property
    def fingerprint(self) -> str:
        """SHA-256 in hexadecimal over everything that determines a vector."""
        ...

    def embed_documents(self, texts: Iterable[str]) -> FloatArray:
        """Return unit vectors, float32 (n, dimension); a text without words gives zeros."""
        ...

    def embed_query(self, text: str) -> FloatArray:
        """Return one unit vector, float32 (dimension,)."""
        ...


class GemProvider:
    """A GEM encoder as an embedding provider; queries and documents are embedded in the same way.

    Parameters
    ----------
    encoder : Encoder
        An encoder with or without a fit.
    """

    def __init__(self, encoder: Encoder) -> None:
        self.encoder = encoder

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.encoder!r})"

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return self.encoder.dimension

    @property
    def fingerprint(self) -> str:
        """The encoder's fingerprint."""
        return self.encoder.fingerprint

    def embed_documents(
        self, texts: Iterable[str], *, progress: ProgressOption = None
    ) -> FloatArray:
        """Return unit vectors, float32 (n, dimension); a text without words gives zeros.

        If ``progress`` is True, a bar is shown on standard error; a function is called with stage, done and total.
        """
        return self.encoder.encode(texts, progress=progress)

    def embed_query(self, text: str) -> FloatArray:
        """Return one unit vector, float32 (dimension,)."""
        vector: FloatArray = self.encoder.encode([text])[0]
        return vector
