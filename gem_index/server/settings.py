"""What a server takes: limits that keep one request from costing the others."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Limits"]


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Bounds on requests.

    Attributes
    ----------
    body : int
        Bytes of a body; of a stream of documents, of one line.
    texts : int
        Texts of a request for vectors or a re-ranking.
    characters : int
        Of one text.
    waiting : int
        Texts that may wait to be encoded, of all requests.
    seconds : float
        That a body may take to arrive.
    """

    body: int = 16 << 20
    texts: int = 2048
    characters: int = 1_000_000
    waiting: int = 50_000
    seconds: float = 30.0
