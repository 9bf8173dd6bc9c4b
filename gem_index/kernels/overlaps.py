"""Connected components of sets with a high Jaccard similarity."""

from __future__ import annotations

from gem_index.common.arrays import I32, I64
from gem_index.kernels.library import kernels, reading, writing

__all__ = ["join_overlapping"]


def join_overlapping(
    members: I32,
    begins: I64,
    order: I32,
    sizes: I32,
    labels: I32,
    list_begins: I64,
    lists: I32,
    places: I32,
    threshold: float,
    first: int,
    last: int,
    parents: I32,
    seen: I32,
) -> None:
    """Join each set of some ranks with the similar sets of lower ranks.

    Parameters
    ----------
    members : int32 array (m,)
        The members of all sets, each set ascending, the rarest member first.
    begins : int64 array (n + 1,)
        The position of each set in ``members``.
    order, sizes : int32 arrays (n,)
        The sets by ascending size: the rank of a set is its position here; and their sizes in this order.
    labels : int32 array (n,)
        Sets of different labels are not joined.
    list_begins : int64 array (v + 1,)
        The position of each member's list in ``lists``.
    lists : int32 array (p,)
        For each member the ranks of the sets with this member in their prefix, ascending. The prefix of a set of size s has
        its first s - ⌈threshold · s⌉ + 1 members.
    places : int32 array (p,)
        The position of the member in each of these sets.
    threshold : float
        Above 0, at most 1. Sets are similar if the members of both, divided by the members of either, reach it.
    first, last : int
        The ranks, ``last`` not included.
    parents : int32 array (n,)
        A forest over the sets, changed in place: of each thread its own.
    seen : int32 array (n,)
        Of each thread its own; -1 at first.
    """
    kernels.join_overlapping(
        reading(members),
        reading(begins),
        reading(order),
        reading(sizes),
        len(order),
        reading(labels),
        reading(list_begins),
        reading(lists),
        reading(places),
        threshold,
        first,
        min(last, len(order)),
        writing(parents),
        writing(seen),
    )
