"""Groups of near-duplicates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gem_index.arrays import F32, I32, I64
from gem_index.collection.corpus.corpus import read_corpus
from gem_index.collection.corpus.results import DuplicateGroup, DuplicateGroups
from gem_index.collection.request import ROUNDING, check_threshold
from gem_index.collection.state.access import CollectionAccess
from gem_index.index.near_groups import near_components
from gem_index.progress import Progress
from gem_index.settings import load_settings

__all__ = ["duplicates_of"]

_BLOCK = 4096
_LEAST = 1e-12  # the zero vector of a text without words is near to no other


def duplicates_of(
    access: CollectionAccess,
    threshold: float,
    where: Mapping[str, Any] | None,
    show: Progress | None,
) -> DuplicateGroups:
    """Return the groups of near-duplicates; see :meth:`gem_index.Collection.duplicates`."""
    near = check_threshold(threshold, "the threshold")
    corpus = read_corpus(access, where, show)
    report = None if show is None else lambda done, total: show("compare", done, total)
    threads = load_settings().threads
    least = max(near - ROUNDING, _LEAST)
    firsts = near_components(corpus.vectors, least, threads, report)
    groups = _grouped(firsts[corpus.texts])
    with access.reading() as rows:
        documents = rows.documents
        names: dict[int, str] = {}
        every = corpus.seqs[np.sort(np.concatenate(groups))] if groups else corpus.seqs[:0]
        for begin in range(0, len(every), _BLOCK):
            seqs, ids, _, _ = documents.columns(every[begin : begin + _BLOCK].tolist())
            names.update(zip(seqs, ids, strict=True))
        # documents that were deleted since the vectors were read are left out
        present = [part[[seq in names for seq in corpus.seqs[part].tolist()]] for part in groups]
        kept = [part for part in present if len(part) > 1]
        texts = documents.texts([int(corpus.seqs[part[0]]) for part in kept])
    return DuplicateGroups(
        DuplicateGroup(
            tuple(names[seq] for seq in corpus.seqs[part].tolist()),
            _cosines(corpus.vectors, corpus.texts[part]),
            text,
        )
        for part, text in zip(kept, texts, strict=True)
    )


def _grouped(firsts: I32) -> list[I64]:
    """Return the positions of each value that occurs more than once, the most frequent first, then by position."""
    order = np.argsort(firsts, kind="stable")
    bounds = np.flatnonzero(np.diff(firsts[order])) + 1
    groups = [part for part in np.split(order, bounds) if len(part) > 1]
    return sorted(groups, key=lambda part: (-len(part), int(part[0])))


def _cosines(vectors: F32, texts: I32) -> tuple[float, ...]:
    """Return the cosine of each text with the first, exactly 1 for the same text."""
    first = vectors[texts[0]].astype(np.float64)
    found: list[float] = []
    for begin in range(0, len(texts), _BLOCK):
        block = texts[begin : begin + _BLOCK]
        cosines = np.clip(vectors[block].astype(np.float64) @ first, -1.0, 1.0)
        cosines[block == texts[0]] = 1.0
        found += cosines.tolist()
    return tuple(found)
