"""Groups of near-duplicates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from gem_index.collection.corpus.complete_links import complete_parts
from gem_index.collection.corpus.corpus import Corpus, read_corpus
from gem_index.collection.corpus.duplicates_request import (
    COMPLETE,
    LEAST_OVERLAP,
    MEANING,
    WORDING,
    DuplicatesRequest,
)
from gem_index.collection.corpus.results import DuplicateGroup, DuplicateGroups
from gem_index.collection.corpus.wordings import Wordings
from gem_index.collection.request import ROUNDING
from gem_index.collection.state.access import CollectionAccess
from gem_index.common.arrays import F32, I32, I64
from gem_index.common.settings import load_settings
from gem_index.index.near_groups import near_components
from gem_index.index.overlap_groups import overlap_components
from gem_index.kernels.near_pairs import merge_forest
from gem_index.progress import Progress

__all__ = ["duplicates_of"]

_BLOCK = 4096
# the lowest threshold is above 0, because a text without words has the cosine 0 with every text
_LEAST = 1e-12


def duplicates_of(
    access: CollectionAccess,
    request: DuplicatesRequest,
    where: Mapping[str, Any] | None,
    show: Progress | None,
) -> DuplicateGroups:
    """Return the groups of near-duplicates; see :meth:`gem_index.Collection.duplicates`."""
    report = None if show is None else lambda done, total: show("compare", done, total)
    with Wordings() as wordings:
        corpus = read_corpus(access, where, show, wordings.add)
        sets = wordings.sets()
        # Texts that differ by a number or a negation get different labels. Texts that differ by an opposite, or by the
        # order of their words, are put into different groups later.
        labels = None if request.contrasts else wordings.labels
        forests = _forests(corpus, sets, labels, request, report)
        firsts = next(iter(forests.values())).copy()
        for forest in forests.values():
            merge_forest(firsts, forest)
        groups = _grouped(firsts[corpus.texts])
        if request.link == COMPLETE:
            groups = _divided(groups, partial(_complete, corpus, sets, labels, request))
        if not request.contrasts:
            groups = _divided(groups, lambda each: wordings.divide(corpus.texts[each].tolist()))
        with access.reading() as rows:
            documents = rows.documents
            names: dict[int, str] = {}
            every = corpus.seqs[np.sort(np.concatenate(groups))] if groups else corpus.seqs[:0]
            for begin in range(0, len(every), _BLOCK):
                seqs, ids, _, _ = documents.columns(every[begin : begin + _BLOCK].tolist())
                names.update(zip(seqs, ids, strict=True))
            # documents that were deleted after the vectors were read are left out
            present = [
                part[[seq in names for seq in corpus.seqs[part].tolist()]] for part in groups
            ]
            kept = [part for part in present if len(part) > 1]
            texts = documents.texts([int(corpus.seqs[part[0]]) for part in kept])
        found = DuplicateGroups()
        for part, text in zip(kept, texts, strict=True):
            numbers = corpus.texts[part]
            found.append(
                DuplicateGroup(
                    tuple(names[seq] for seq in corpus.seqs[part].tolist()),
                    _cosines(corpus.vectors, numbers),
                    text,
                    tuple(view for view, each in forests.items() if _joins(each[numbers])),
                    _overlaps(sets, numbers),
                    wordings.contrasts(int(numbers[0]), numbers.tolist()),
                )
            )
        return found


def _forests(
    corpus: Corpus,
    sets: tuple[I32, I64],
    labels: I32 | None,
    request: DuplicatesRequest,
    report: Callable[[int, int], None] | None,
) -> dict[str, I32]:
    """Return an array for each kind of comparison (wording, meaning): for each text, the first text of its component.

    Two texts are in the same component if a chain of near pairs connects them.
    """
    threads = load_settings().threads
    found = {}
    if WORDING in request.views:
        found[WORDING] = overlap_components(*sets, request.overlap, threads, report, labels)
    if MEANING in request.views:
        least = max(request.threshold - ROUNDING, _LEAST)
        found[MEANING] = near_components(
            corpus.vectors, least, threads, report, labels, sets, LEAST_OVERLAP
        )
    return found


def _complete(
    corpus: Corpus,
    sets: tuple[I32, I64],
    labels: I32 | None,
    request: DuplicatesRequest,
    group: I64,
) -> I32:
    """Divide a group into parts whose texts are all near each other; return the part number of each document."""
    # texts are numbered in the order of their first documents
    texts, inverse = np.unique(corpus.texts[group], return_inverse=True)
    return complete_parts(texts, corpus.vectors, sets, labels, request)[inverse]


def _joins(firsts: I32) -> bool:
    """Tell whether two or more of these documents are in the same component."""
    return len(np.unique(firsts)) < len(firsts)


def _divided(groups: list[I64], divide: Callable[[I64], I32]) -> list[I64]:
    """Divide each group; documents with the same number from ``divide`` stay together."""
    divided = [group[part] for group in groups for part in _grouped(divide(group))]
    return sorted(divided, key=_largest_first)


def _grouped(firsts: I32) -> list[I64]:
    """Return the positions of each value that occurs at least twice.

    The most frequent value comes first; equally frequent values are in the order of their first positions.
    """
    order = np.argsort(firsts, kind="stable")
    bounds = np.flatnonzero(np.diff(firsts[order])) + 1
    groups = [part for part in np.split(order, bounds) if len(part) > 1]
    return sorted(groups, key=_largest_first)


def _largest_first(group: I64) -> tuple[int, int]:
    return -len(group), int(group[0])


def _cosines(vectors: F32, texts: I32) -> tuple[float, ...]:
    """Return the cosine of each text with the first text; exactly 1 for equal texts."""
    first = vectors[texts[0]].astype(np.float64)
    found: list[float] = []
    for begin in range(0, len(texts), _BLOCK):
        block = texts[begin : begin + _BLOCK]
        cosines = np.clip(vectors[block].astype(np.float64) @ first, -1.0, 1.0)
        cosines[block == texts[0]] = 1.0
        found += cosines.tolist()
    return tuple(found)


def _overlaps(sets: tuple[I32, I64], texts: I32) -> tuple[float, ...]:
    """Return the Jaccard similarity of each text's trigrams and the first text's trigrams; exactly 1 for equal texts."""
    members, begins = sets

    def trigrams_of(text: int) -> I32:
        return members[begins[text] : begins[text + 1]]

    first = trigrams_of(int(texts[0]))
    found = []
    for text in texts.tolist():
        other = trigrams_of(text)
        both = len(np.intersect1d(first, other, assume_unique=True))
        either = len(first) + len(other) - both
        found.append(1.0 if text == texts[0] else both / either if either else 0.0)
    return tuple(found)
