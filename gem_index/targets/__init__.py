"""Vector databases that a collection is pushed into: the protocol, its values, and what opens a URL."""

from gem_index.targets.folder import FolderTarget, read_manifest, write_manifest
from gem_index.targets.protocol import (
    Neighbour,
    Target,
    TargetDocument,
    TargetSchema,
    TargetTable,
)
from gem_index.targets.registry import TargetInfo, list_targets, open_target
from gem_index.targets.sql import SqlDatabase, SqlTable, SqlTarget, check_table_name
from gem_index.targets.url import TargetUrl

__all__ = [
    "FolderTarget",
    "Neighbour",
    "SqlDatabase",
    "SqlTable",
    "SqlTarget",
    "Target",
    "TargetDocument",
    "TargetInfo",
    "TargetSchema",
    "TargetTable",
    "TargetUrl",
    "check_table_name",
    "list_targets",
    "open_target",
    "read_manifest",
    "write_manifest",
]
