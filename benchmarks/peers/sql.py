"""DuckDB and sqlite-vec: vectors in a table of a database with SQL."""

from __future__ import annotations

import importlib
import os
import sqlite3
import threading
from pathlib import Path
from typing import Any

from benchmarks.peers.data import Data, K, arrow_table, batches
from benchmarks.peers.engine import BREADTHS, StoredEngine, graph_for
from benchmarks.peers.measuring import THREADS, Way


class DuckDb(StoredEngine):
    """A table, scanned whole or with the index of the extension ``vss``.

    A graph that was read from a file ends the process when it is searched by more callers than there are cores, whatever the
    number of DuckDB's threads: here callers wait for one another from there on.

    Parameters
    ----------
    indexed : bool
    """

    package = "duckdb"
    modules = ("duckdb",)

    def __init__(self, indexed: bool) -> None:
        self.indexed = indexed

    def build(self, data: Data, folder: Path) -> None:
        count, dimension = data.vectors.shape
        connection = self._connect(folder)
        connection.register("vectors", arrow_table(data))
        connection.execute(f"CREATE TABLE docs (id BIGINT, vector FLOAT[{dimension}])")
        connection.execute("INSERT INTO docs SELECT id, vector FROM vectors")
        if self.indexed:
            graph = graph_for(count)
            connection.execute(
                "CREATE INDEX graph ON docs USING HNSW (vector) WITH (metric = 'ip', "
                f"M = {graph.links}, M0 = {2 * graph.links}, ef_construction = {graph.breadth})"
            )
        connection.execute("CHECKPOINT")
        connection.close()

    def open(self, data: Data, folder: Path) -> dict[str, Way]:
        connection = self._connect(folder)
        dimension = data.vectors.shape[1]
        own = threading.local()
        slots = threading.Semaphore((os.cpu_count() or 1) if self.indexed else max(THREADS))
        query = (
            "SELECT id FROM docs ORDER BY array_negative_inner_product(vector, "
            f"?::FLOAT[{dimension}]) LIMIT {K}"
        )
        ladder: list[dict[str, int]] = [{}]
        if self.indexed:
            ladder = [{"ef": breadth} for breadth in BREADTHS]
            plan = connection.execute(f"EXPLAIN {query}", [data.queries[0].tolist()]).fetchall()
            if "HNSW_INDEX_SCAN" not in str(plan):
                raise SystemExit(f"found a plan without the index: {plan}")

        def search(place: int) -> list[int]:
            if not hasattr(own, "cursor"):
                own.cursor = connection.cursor()
                own.cursor.execute("USE base")
            with slots:
                found = own.cursor.execute(query, [data.queries[place].tolist()]).fetchall()
            return [row[0] for row in found]

        def use(setting: Any) -> None:
            if setting:
                connection.execute(f"SET GLOBAL hnsw_ef_search = {setting['ef']}")

        note = f"{graph_for(len(data.vectors))}" if self.indexed else "no index"
        return {"graph" if self.indexed else "exact": Way(search, (ladder,), use, note=note)}

    def _connect(self, folder: Path) -> Any:
        import duckdb

        connection = duckdb.connect(":memory:")
        if self.indexed:
            package = Path(str(importlib.import_module("duckdb_extension_vss").__file__)).parent
            [extension] = package.rglob("vss.duckdb_extension")
            connection.execute(f"LOAD '{extension}'")
            connection.execute("SET hnsw_enable_experimental_persistence = true")
        connection.execute(f"ATTACH '{folder / 'base.duckdb'}' AS base")
        connection.execute("USE base")
        return connection


class SqliteVec(StoredEngine):
    """A table of ``vec0``, scanned whole."""

    package = "sqlite-vec"
    modules = ("sqlite_vec",)

    def build(self, data: Data, folder: Path) -> None:
        connection = self._connect(folder)
        connection.execute(
            f"CREATE VIRTUAL TABLE docs USING vec0(embedding float[{data.vectors.shape[1]}])"
        )
        with connection:
            for places, vectors in batches(data):
                connection.executemany(
                    "INSERT INTO docs (rowid, embedding) VALUES (?, ?)",
                    ((i, v.tobytes()) for i, v in zip(places, vectors, strict=True)),
                )
        connection.close()

    def open(self, data: Data, folder: Path) -> dict[str, Way]:
        own = threading.local()

        def search(place: int) -> list[int]:
            if not hasattr(own, "connection"):
                own.connection = self._connect(folder)
            found = own.connection.execute(
                f"SELECT rowid FROM docs WHERE embedding MATCH ? AND k = {K}",
                [data.queries[place].tobytes()],
            ).fetchall()
            return [row[0] for row in found]

        return {"exact": Way(search, note="no index")}

    def _connect(self, folder: Path) -> Any:
        import sqlite_vec

        driver: Any = sqlite3
        if not hasattr(sqlite3.Connection, "enable_load_extension"):
            driver = importlib.import_module("pysqlite3.dbapi2")
        connection = driver.connect(folder / "base.sqlite")
        connection.enable_load_extension(True)
        sqlite_vec.load(connection)
        return connection
