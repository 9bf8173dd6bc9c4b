"""What is asked of whoever indexes a collection's documents elsewhere, in shards."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from gem_index.progress import Progress

__all__ = ["MakeShards", "ShardPlan"]


@dataclass(frozen=True)
class ShardPlan:
    """What shards are to be made of an index.

    Attributes
    ----------
    first : int
        The ``seq`` that the first document gets; the others follow.
    index : str
        The kind of index that the collection asks for.
    folder : Path
        Where they are put.
    report : callable, optional
        Called with a stage, what is done, and of how much.
    stop : threading.Event
        Set when they are not needed any more.
    """

    first: int
    index: str
    folder: Path
    report: Progress | None = None
    stop: threading.Event = field(default_factory=threading.Event)


MakeShards: TypeAlias = Callable[[ShardPlan], Sequence[Path]]
"""Returns the folders of shards: snapshots of consecutive documents, together of all."""
