"""The systems by the names that the command takes."""

from __future__ import annotations

from benchmarks.peers.databases import (
    Chroma,
    LanceDb,
    MilvusLite,
    QdrantEdge,
    QdrantLocal,
    Txtai,
)
from benchmarks.peers.engine import Engine
from benchmarks.peers.libraries import FaissFlat, FaissQuantised, GemIndex, Hnswlib, Usearch
from benchmarks.peers.sql import DuckDb, SqliteVec

__all__ = ["ENCODED_BY", "ENGINES"]

ENCODED_BY = "gem-index"
"""The system whose encoder makes the vectors; it is built first."""

# Of the numbers of usearch, bf16 are the fastest here that reach the recall, and the only ones above 100,000.
ENGINES: dict[str, Engine] = {
    ENCODED_BY: GemIndex("pq"),
    "gem-index-hnsw": GemIndex("hnsw", largest=100_000),
    "faiss-pq": FaissQuantised(),
    "faiss-flat": FaissFlat(),
    "hnswlib": Hnswlib(),
    "usearch": Usearch("f32", largest=100_000),
    "usearch-bf16": Usearch("bf16"),
    "usearch-i8": Usearch("i8", largest=100_000),
    "lancedb-pq": LanceDb("IVF_PQ"),
    "lancedb-hnsw": LanceDb("IVF_HNSW_SQ"),
    "chroma": Chroma(),
    "qdrant-edge": QdrantEdge(),
    "qdrant-local": QdrantLocal(),
    "duckdb-vss": DuckDb(indexed=True),
    "duckdb": DuckDb(indexed=False),
    "sqlite-vec": SqliteVec(),
    "txtai": Txtai(),
    "milvus-lite": MilvusLite(),
}
