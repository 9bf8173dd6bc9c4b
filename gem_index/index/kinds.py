"""Which FAISS index a collection gets: by its size, by a name of ours, or by a FAISS factory string."""

from __future__ import annotations

import math
from dataclasses import dataclass

from gem_index.errors import ConfigError

__all__ = ["AUTOMATIC", "KINDS", "IndexKind", "check_kind", "resolve_kind"]

AUTOMATIC = "auto"
KINDS = ("flat", "rabitq", "sq8", "ivf", "hnsw")
"""Names of ours; anything else is a FAISS factory string."""

_BREAK_EVEN = 200_000
"""Documents from which one bit a dimension, re-scored, answers sooner than a flat scan (docs/performance.md)."""

_CANDIDATES = 200
_CANDIDATES_PER_RESULT = 4


@dataclass(frozen=True)
class IndexKind:
    """A kind of index for a certain number of documents.

    Attributes
    ----------
    name : str
        One of ``KINDS``, or the factory string.
    factory : str
        What ``faiss.index_factory`` takes.
    """

    name: str
    factory: str

    @property
    def exact(self) -> bool:
        """Whether its scores are the cosines themselves; otherwise the best candidates are scored again from their texts."""
        return self.factory == "Flat"

    def candidates(self, k: int) -> int:
        """Return how many positions to ask the index for, to return k."""
        return k if self.exact else max(_CANDIDATES, _CANDIDATES_PER_RESULT * k)


def resolve_kind(kind: str, documents: int) -> IndexKind:
    """Return the kind for so many documents.

    One bit a dimension (RaBitQ: Gao and Long, SIGMOD 2024) is the choice for large collections: GEM removes the directions
    that sentences share, so its vectors fall into no clusters and graphs and inverted lists miss neighbours, while a scan
    over 32 bytes a vector costs milliseconds for a million.
    """
    if kind == AUTOMATIC:
        kind = "flat" if documents < _BREAK_EVEN else "rabitq"
    lists = max(1, min(round(4 * math.sqrt(documents)), documents // 39, 4096))
    named = {
        "flat": "Flat",
        "rabitq": "RaBitQ",
        "sq8": "SQ8",
        "ivf": f"IVF{lists},SQ8",
        "hnsw": "HNSW32,SQ8",
    }
    return IndexKind(kind, named.get(kind, kind))


def check_kind(kind: str, dimension: int) -> None:
    """Hold a kind to what FAISS can make of vectors of that dimension.

    Raises
    ------
    ConfigError
        If it is neither a name nor a factory string that works.
    """
    if kind == AUTOMATIC or kind in KINDS:
        return
    import faiss

    try:
        faiss.index_factory(dimension, kind, faiss.METRIC_INNER_PRODUCT)
    except (RuntimeError, TypeError) as error:
        raise ConfigError(
            f"the index is {kind!r}; expected {AUTOMATIC}, {', '.join(KINDS)}, or a FAISS factory string that takes "
            f"{dimension} dimensions and inner product"
        ) from error
