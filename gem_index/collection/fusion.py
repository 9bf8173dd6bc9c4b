"""Bringing a list by meaning and a list by words together."""

from __future__ import annotations

from collections import defaultdict

from gem_index.collection.view import Hits, best_of
from gem_index.errors import ConfigError
from gem_index.quoting import quoted

__all__ = ["DEPTH", "FUSIONS", "fuse"]

FUSIONS = ("weighted", "rrf")

DEPTH = 100
"""At least so many of each list take part."""

_DENSE_WEIGHT = (
    0.85  # beats either part on the CQA dev set used as a retrieval collection (docs/cqa.md)
)
_RANK_OFFSET = 60.0


def fuse(dense: Hits, lexical: Hits, k: int, fusion: str = "weighted") -> Hits:
    """Return the k best of two lists, best first.

    Parameters
    ----------
    dense, lexical : list of (seq, score)
        Best first.
    k : int
    fusion : str
        ``weighted``: 0.85 of the dense and 0.15 of the lexical score, each brought to 0 for its list's worst and 1 for its
        best; ``rrf``: the sum of
        1 / (60 + rank), by rank alone (Cormack, Clarke and Buettcher, "Reciprocal Rank Fusion", SIGIR 2009).

    Raises
    ------
    ConfigError
        If the fusion has another name.
    """
    if fusion not in FUSIONS:
        raise ConfigError(f"the fusion is {quoted(fusion)}; expected {' or '.join(FUSIONS)}")
    fused: dict[int, float] = defaultdict(float)
    for hits, weight in ((dense, _DENSE_WEIGHT), (lexical, 1 - _DENSE_WEIGHT)):
        if not hits:
            continue
        best, worst = hits[0][1], hits[-1][1]
        for rank, (seq, score) in enumerate(hits, 1):
            if fusion == "rrf":
                fused[seq] += 1 / (_RANK_OFFSET + rank)
            else:
                fused[seq] += weight * ((score - worst) / (best - worst) if best > worst else 1.0)
    return best_of(list(fused.items()), k)
