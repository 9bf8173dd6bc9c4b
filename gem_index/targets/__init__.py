"""Vector databases into which collections are pushed: the protocol, its values, and the opening of a URL."""

from gem_index.common.arrays import WORD_DIMENSIONS, SparseVector
from gem_index.files.publishing import publish_file
from gem_index.targets.alias import AliasTarget, Generation
from gem_index.targets.batch import TargetBatch
from gem_index.targets.client_errors import FILE_ADVICE, FOLDER_ADVICE, ClientErrors
from gem_index.targets.folder import FolderTable, FolderTarget, create_manifest, read_manifest
from gem_index.targets.local import has_database, local_path
from gem_index.targets.metadata import JsonObjects, integers_are_short, integers_within
from gem_index.targets.narrowing import Condition, NarrowingTable, conditions_of
from gem_index.targets.parquet import columns_of_rows
from gem_index.targets.protocol import (
    JsonTarget,
    Neighbor,
    QueryTableTarget,
    RowsTarget,
    Target,
    TargetDocument,
    TargetSchema,
    TargetTable,
    WordsTable,
    WordsTarget,
    row_of,
)
from gem_index.targets.registry import TargetInfo, list_targets, open_target
from gem_index.targets.sparse_columns import WORD_COLUMNS, word_columns, word_products, word_vectors
from gem_index.targets.sql import SqlTarget, check_table_name
from gem_index.targets.sql_table import SqlDatabase, SqlTable
from gem_index.targets.tables import (
    TableTarget,
    existing_table,
    foreign_table,
    missing_staged_table,
    query_table_name,
)
from gem_index.targets.url import TargetUrl

__all__ = [
    "FILE_ADVICE",
    "FOLDER_ADVICE",
    "WORD_COLUMNS",
    "WORD_DIMENSIONS",
    "AliasTarget",
    "ClientErrors",
    "Condition",
    "FolderTable",
    "FolderTarget",
    "Generation",
    "JsonObjects",
    "JsonTarget",
    "NarrowingTable",
    "Neighbor",
    "QueryTableTarget",
    "RowsTarget",
    "SparseVector",
    "SqlDatabase",
    "SqlTable",
    "SqlTarget",
    "TableTarget",
    "Target",
    "TargetBatch",
    "TargetDocument",
    "TargetInfo",
    "TargetSchema",
    "TargetTable",
    "TargetUrl",
    "WordsTable",
    "WordsTarget",
    "check_table_name",
    "columns_of_rows",
    "conditions_of",
    "create_manifest",
    "existing_table",
    "foreign_table",
    "has_database",
    "integers_are_short",
    "integers_within",
    "list_targets",
    "local_path",
    "missing_staged_table",
    "open_target",
    "publish_file",
    "query_table_name",
    "read_manifest",
    "row_of",
    "word_columns",
    "word_products",
    "word_vectors",
]
