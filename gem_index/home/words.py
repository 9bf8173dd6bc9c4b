"""Open sparse encoders of words, and re-rank by meaning and words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from gem_index.errors import InputError
from gem_index.errors.quoting import quoted
from gem_index.gem.combined import Encoder
from gem_index.gem.reranking import Candidate, RerankResults, check_top_n, rerank
from gem_index.home.home import Home
from gem_index.home.vector_opening import open_home
from gem_index.index.fusion import MATCH_WEIGHT, fused
from gem_index.sparse import SparseEncoder

__all__ = ["STATISTICS_FILE", "check_rerank_mode", "open_sparse_encoder", "rerank_with_words"]

STATISTICS_FILE = ".json"
"""The ending of a file that :meth:`gem_index.sparse.SparseEncoder.save` wrote. A text without it is a language."""


def open_sparse_encoder(
    words: str | Path | None, collection: str | None, home: Home | str | Path | None
) -> SparseEncoder:
    """Return the sparse encoder with the named word statistics; by default those of the collection, else the background."""
    if words is not None:
        named = str(words)
        if named.endswith(STATISTICS_FILE):
            return SparseEncoder.load(named)
        return SparseEncoder.background(named)
    if collection is not None:
        place = open_home(home)
        with place.collection(collection).access.reading() as rows:
            record = rows.record
        state = record.id, record.model_id, record.last_seq, record.last_change
        return _of_collection(place.root.absolute(), collection, state)
    return SparseEncoder.background()


@lru_cache(maxsize=4)
def _of_collection(root: Path, name: str, _state: tuple[int, ...]) -> SparseEncoder:
    """Fit a sparse encoder on the texts of a collection; the cached result is valid until the collection changes."""
    return Home(root, create=False).collection(name).sparse_encoder()


def check_rerank_mode(mode: str) -> str:
    """Return the mode of re-ranking after checking that it is ``dense`` or ``hybrid``.

    Raises
    ------
    InputError
        If the mode is unknown.
    """
    if mode not in ("dense", "hybrid"):
        raise InputError(f"found the mode {quoted(mode)}; expected dense or hybrid")
    return mode


def rerank_with_words(
    query: str,
    candidates: Sequence[Candidate],
    encoder: Encoder,
    words: SparseEncoder,
    top_n: int | None = None,
) -> RerankResults:
    """Order candidates by (cosine + 2.25 match) / 3.25; otherwise like :func:`gem_index.rerank`."""
    check_top_n(top_n)
    by_meaning = rerank(query, candidates, encoder)
    asked = words.embed_query(query)
    of_texts = words.embed_documents([each.text for each in by_meaning])
    scored = [
        replace(each, score=fused(each.score, asked.dot(vector) / MATCH_WEIGHT))
        for each, vector in zip(by_meaning, of_texts, strict=True)
    ]
    return RerankResults(sorted(scored, key=lambda each: (-each.score, each.index))[:top_n])
