"""Find the connected components of sets with a high Jaccard similarity, exactly, but without comparing all pairs."""

from __future__ import annotations

from collections.abc import Callable
from queue import SimpleQueue

import numpy as np

from gem_index.common.arrays import I32, I64
from gem_index.index.forests import joined_forest
from gem_index.kernels.overlaps import join_overlapping

__all__ = ["overlap_components"]

_TASK = 1024  # sets per task of a thread
_SLACK = 1e-9  # for rounding, as in overlaps.c


def overlap_components(
    members: I32,
    begins: I64,
    threshold: float,
    threads: int,
    report: Callable[[int, int], None] | None = None,
    labels: I32 | None = None,
) -> I32:
    """Return, for each set, the position of the first set of its component.

    A component has all sets that pairs with a Jaccard similarity >= threshold connect.

    Only pairs whose prefixes share a member are compared, but the result is the same as for all pairs (Bayardo, Ma and
    Srikant, "Scaling up all pairs similarity search", 2007).

    The prefix of a set of s members is its first s - ⌈threshold · s⌉ + 1 members; all sets use the
    same order of members. If two sets are similar enough, they share at least ⌈threshold · s⌉ members, where s is the size
    of either set. So their first shared member is in the prefixes of both sets. The rarest members come first, because then
    few prefixes share a member.

    Parameters
    ----------
    members : int32 array (m,)
        The members of all sets, each set ascending. Members are numbered from 0; rare members have small numbers.
    begins : int64 array (n + 1,)
        The positions in ``members`` at which the sets begin, and the end of the last set.
    threshold : float
        Above 0, at most 1.
    threads : int
        At least 1.
    report : callable, optional
        Called with the number of compared sets and the number of all sets.
    labels : int32 array (n,), optional
        Sets of different labels are not joined.

    Returns
    -------
    int32 array (n,)
        The positions. An empty set, or a set without a similar set, has its own position.
    """
    sizes = np.diff(begins).astype(np.int32)
    count = len(sizes)
    order = np.argsort(sizes, kind="stable").astype(np.int32)
    lists = _lists(members, begins, sizes, order, threshold)
    free: SimpleQueue[I32] = SimpleQueue()
    for _ in range(threads):
        free.put(np.full(count, -1, np.int32))
    known = np.zeros(count, np.int32) if labels is None else labels
    ascending = sizes[order]

    def join(first: int, forest: I32) -> None:
        seen = free.get()
        join_overlapping(
            members,
            begins,
            order,
            ascending,
            known,
            *lists,
            threshold,
            first,
            first + _TASK,
            forest,
            seen,
        )
        free.put(seen)

    def compared(first: int) -> None:
        if report is not None:
            report(min(first + _TASK, count), count)

    return joined_forest(count, range(0, count, _TASK), threads, join, compared)


def _lists(
    members: I32, begins: I64, sizes: I32, order: I32, threshold: float
) -> tuple[I64, I32, I32]:
    """Return, for each member, where its list of sets begins; the sets, by rank; and the member's position in each set."""
    least = np.maximum(np.ceil(threshold * sizes - _SLACK), 1)
    lengths = np.where(sizes > 0, sizes - least + 1, 0).astype(np.int64)[order]
    ranks = np.repeat(np.arange(len(order), dtype=np.int32), lengths)
    within = np.arange(len(ranks)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    chosen = members[np.repeat(begins[:-1][order], lengths) + within]
    by_member = np.argsort(chosen, kind="stable")
    known = int(members.max()) + 1 if len(members) else 0
    list_begins = np.concatenate([[0], np.cumsum(np.bincount(chosen, minlength=known))])
    return list_begins.astype(np.int64), ranks[by_member], within[by_member].astype(np.int32)
