"""The arguments of a search for near-duplicates among all documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from gem_index.collection.request import NEAR, check_threshold
from gem_index.common.checks import check_number
from gem_index.errors import InputError
from gem_index.errors.quoting import quoted

__all__ = [
    "COMPLETE",
    "LEAST_OVERLAP",
    "LINKS",
    "MEANING",
    "OVERLAP",
    "SINGLE",
    "VIEWS",
    "WORDING",
    "DuplicatesRequest",
]

WORDING = "wording"
"""The view that finds pairs with almost the same characters."""

MEANING = "meaning"
"""The view that finds pairs with a high cosine."""

VIEWS = (WORDING, MEANING)
"""The ways to compare two documents."""

SINGLE = "single"
"""Each document of a group is near to at least one other document of the group."""

COMPLETE = "complete"
"""Every two documents of a group are near."""

LINKS = (SINGLE, COMPLETE)
"""The rules for how near the documents of a group must be to each other."""

OVERLAP = 0.7
"""The default threshold of the overlap of two wordings; ``python -m benchmarks.planted_duplicates`` measures it."""

LEAST_OVERLAP = 0.25
"""The view ``meaning`` joins two texts only if their wordings have at least this overlap.

Word vectors may know only the single letters of a language. Then any two texts in this language have a high cosine.
Without this rule, 225 of 240 Arabic paragraphs were one group. docs/performance.md has the overlaps of pairs in ten
dev sets.
"""


@dataclass(frozen=True)
class DuplicatesRequest:
    """The checked arguments of :meth:`gem_index.Collection.duplicates`."""

    threshold: float = NEAR
    views: tuple[str, ...] = VIEWS
    overlap: float = OVERLAP
    contrasts: bool = False
    link: str = SINGLE

    @classmethod
    def of(
        cls,
        threshold: object,
        views: str | Sequence[str],
        overlap: object,
        contrasts: bool,
        link: str = SINGLE,
    ) -> Self:
        """Check the arguments.

        Raises
        ------
        InputError
            If a threshold is out of its range, or a view or the link is unknown.
        """
        names = (views,) if isinstance(views, str) else tuple(views)
        if not names or not set(names) <= set(VIEWS):
            raise InputError(
                f"the views are {quoted(views)}; expected one or both of {', '.join(VIEWS)}"
            )
        if link not in LINKS:
            raise InputError(f"the link is {quoted(link)}; expected {' or '.join(LINKS)}")
        return cls(
            check_threshold(threshold, "the threshold"),
            names,
            check_number(
                overlap,
                "the overlap",
                0,
                1,
                above=True,
                expected=f"a share of trigrams above 0 and at most 1, such as {OVERLAP:g}",
                error=InputError,
            ),
            contrasts,
            link,
        )
