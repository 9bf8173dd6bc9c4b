"""Vector databases that a collection is pushed into: the protocol, its values, and what opens a URL."""

from gem_index.targets.protocol import (
    Neighbour,
    Target,
    TargetDocument,
    TargetSchema,
    TargetTable,
)
from gem_index.targets.registry import TargetInfo, list_targets, open_target
from gem_index.targets.url import TargetUrl

__all__ = [
    "Neighbour",
    "Target",
    "TargetDocument",
    "TargetInfo",
    "TargetSchema",
    "TargetTable",
    "TargetUrl",
    "list_targets",
    "open_target",
]
