"""The same work on the workers of a Dask cluster: fit, encode, embed, build. Needs the extra ``dask``."""

from __future__ import annotations

from gem_index.distributed.building import BuildReport, build_shards
from gem_index.distributed.callables import TableEncoder
from gem_index.distributed.connecting import connected
from gem_index.distributed.embedding import EmbedReport, embed
from gem_index.distributed.encoding import EncodeReport, encode
from gem_index.distributed.fitting import FitReport, fit
from gem_index.distributed.inputs import PartitionOptions

__all__ = [
    "BuildReport",
    "EmbedReport",
    "EncodeReport",
    "FitReport",
    "PartitionOptions",
    "TableEncoder",
    "build_shards",
    "connected",
    "embed",
    "encode",
    "fit",
]
