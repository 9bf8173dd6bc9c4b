"""Databases for vectors that run in the calling process; each stores ids and vectors, and returns ids."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from benchmarks.peers.data import Data, K, arrow_table, batches
from benchmarks.peers.engine import BREADTHS, Engine, StoredEngine, graph_for
from benchmarks.peers.measuring import Way
from gem_index.common.arrays import F32

_LADDER = [{"ef": breadth} for breadth in BREADTHS]


class LanceDb(StoredEngine):
    """A table with an index: a product quantiser in inverted lists, or a graph over 8 bits a number.

    Distances are Euclidean, which order unit vectors as cosines do.

    Parameters
    ----------
    kind : str
        ``IVF_PQ`` or ``IVF_HNSW_SQ``.
    """

    package = "lancedb"
    modules = ("lancedb",)

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def build(self, data: Data, folder: Path) -> None:
        import lancedb

        count, dimension = data.vectors.shape
        table = lancedb.connect(str(folder)).create_table("docs", arrow_table(data))
        if self.kind == "IVF_PQ":
            table.create_index(
                "l2",
                num_partitions=round(math.sqrt(count)),
                num_sub_vectors=dimension // 4,
                index_type="IVF_PQ",
            )
        else:
            graph = graph_for(count)
            table.create_index(
                "l2",
                num_partitions=1,
                index_type="IVF_HNSW_SQ",
                m=graph.links,
                ef_construction=graph.breadth,
            )

    def open(self, data: Data, folder: Path) -> dict[str, Way]:
        import lancedb

        table: Any = lancedb.connect(str(folder)).open_table("docs")
        setting: dict[str, int] = {}

        def ask(vectors: F32) -> Any:
            asked = table.search(vectors).nprobes(setting["nprobes"])
            if "ef" in setting:
                asked = asked.ef(setting["ef"])
            return (
                asked.refine_factor(setting["refine"])
                .limit(K)
                .select(["id", "_distance"])
                .to_arrow()
            )

        def search(place: int) -> Any:
            return ask(data.queries[place])["id"].to_pylist()

        def batch(begin: int, end: int) -> list[list[int]]:
            found: list[list[int]] = [[] for _ in range(begin, end)]
            answer = ask(data.queries[begin:end])
            for query, i in zip(
                answer["query_index"].to_pylist(), answer["id"].to_pylist(), strict=True
            ):
                found[query].append(i)
            return found

        def use(chosen: Any) -> None:
            setting.clear()
            setting.update(chosen)

        partitions = round(math.sqrt(len(data.vectors)))
        if self.kind == "IVF_PQ":
            ladders = [
                [
                    {"refine": refine, "nprobes": max(1, round(share * partitions))}
                    for share in (0.1, 0.2, 0.35, 0.5, 1)
                ]
                for refine in (10, 30)
            ]
            note = f"{partitions} partitions, {data.vectors.shape[1] // 4} parts of 8 bits"
        else:
            ladders = [
                [{"refine": refine, "nprobes": 1, "ef": ef} for ef in BREADTHS if ef >= refine * K]
                for refine in (2, 5)
            ]
            note = f"1 partition, {graph_for(len(data.vectors))}"
        use(ladders[0][0])
        return {"index": Way(search, ladders, use, batch, note)}


class Chroma(StoredEngine):
    """A persistent client; its graph is hnswlib's."""

    package = "chromadb"
    modules = ("chromadb",)

    def build(self, data: Data, folder: Path) -> None:
        import chromadb

        graph = graph_for(len(data.vectors))
        hnsw: Any = {
            "space": "ip",
            "max_neighbors": graph.links,
            "ef_construction": graph.breadth,
            # Chroma writes its graph to the disk each time that this many documents have come; those after the last time are
            # indexed again whenever the database is opened
            "sync_threshold": max(1_000, len(data.vectors) // 10),
        }
        client: Any = chromadb.PersistentClient(str(folder))
        collection = client.create_collection(
            "docs", configuration={"hnsw": hnsw}, embedding_function=None
        )
        for places, vectors in batches(data):
            collection.add([str(i) for i in places], embeddings=vectors)
        client.close()

    def open(self, data: Data, folder: Path) -> dict[str, Way]:
        import chromadb

        client: Any = chromadb.PersistentClient(str(folder))
        collection = client.get_collection("docs", embedding_function=None)

        def ask(vectors: F32) -> list[list[int]]:
            found = collection.query(query_embeddings=vectors, n_results=K, include=[])
            return [[int(i) for i in ids] for ids in found["ids"]]

        def use(setting: Any) -> None:  # a graph that was searched keeps its setting
            nonlocal client, collection
            collection.modify(configuration={"hnsw": {"ef_search": setting["ef"]}})
            client.close()
            client = chromadb.PersistentClient(str(folder))
            collection = client.get_collection("docs", embedding_function=None)

        return {
            "graph": Way(
                lambda place: ask(data.queries[place : place + 1])[0],
                (_LADDER,),
                use,
                lambda begin, end: ask(data.queries[begin:end]),
                f"{graph_for(len(data.vectors))}",
            )
        }


class QdrantLocal(Engine):
    """The client's local mode, in memory: kept in a folder, it commits every point by itself."""

    package = "qdrant-client"
    modules = ("qdrant_client",)

    def open(self, data: Data, folder: Path) -> dict[str, Way]:  # noqa: ARG002
        import warnings

        from qdrant_client import QdrantClient, models

        warnings.simplefilter("ignore")  # it advises against more than 20,000 points
        client = QdrantClient(":memory:")
        client.create_collection(
            "docs",
            models.VectorParams(size=data.vectors.shape[1], distance=models.Distance.DOT),
        )
        for places, vectors in batches(data):
            client.upload_collection("docs", vectors, ids=list(places))

        def search(place: int) -> list[int]:
            found = client.query_points(
                "docs", data.queries[place].tolist(), limit=K, with_payload=False
            )
            return [int(point.id) for point in found.points]

        def batch(begin: int, end: int) -> list[list[int]]:
            requests = [
                models.QueryRequest(query=query.tolist(), limit=K, with_payload=False)
                for query in data.queries[begin:end]
            ]
            return [
                [int(point.id) for point in each.points]
                for each in client.query_batch_points("docs", requests)
            ]

        return {"exact": Way(search, batch=batch, note="no index")}


class QdrantEdge(StoredEngine):
    """The server's engine in the process: one segment with a graph."""

    package = "qdrant-edge-py"
    modules = ("qdrant_edge",)

    def build(self, data: Data, folder: Path) -> None:
        import qdrant_edge as edge

        count, dimension = data.vectors.shape
        graph = graph_for(count)
        config = edge.EdgeConfig(
            vectors=edge.EdgeVectorParams(size=dimension, distance=edge.Distance.Dot),
            hnsw_config=edge.HnswIndexConfig(
                m=graph.links, ef_construct=graph.breadth, full_scan_threshold=10
            ),
            optimizers=edge.EdgeOptimizersConfig(
                default_segment_number=1, indexing_threshold=10, max_segment_size=100_000_000
            ),
        )
        path = folder / "shard"
        path.mkdir()
        shard = edge.EdgeShard.create(str(path), config)
        for places, vectors in batches(data):
            points = [
                edge.Point(i, vector.tolist()) for i, vector in zip(places, vectors, strict=True)
            ]
            shard.update(edge.UpdateOperation.upsert_points(points))
        shard.optimize()
        shard.flush()
        shard.close()

    def open(self, data: Data, folder: Path) -> dict[str, Way]:
        import qdrant_edge as edge

        shard = edge.EdgeShard.load(str(folder / "shard"))
        setting = {"ef": 64}

        def request(place: int) -> Any:
            return edge.QueryRequest(
                limit=K,
                query=edge.Query.Nearest(data.queries[place].tolist()),
                params=edge.SearchParams(hnsw_ef=setting["ef"]),
            )

        def search(place: int) -> list[int]:
            return [int(point.id) for point in shard.query(request(place))]

        def batch(begin: int, end: int) -> list[list[int]]:
            asked = edge.QueryBatchRequest([request(place) for place in range(begin, end)])
            return [[int(point.id) for point in each] for each in shard.query_batch(asked)]

        return {
            "graph": Way(
                search, (_LADDER,), setting.update, batch, f"{graph_for(len(data.vectors))}"
            )
        }


class Txtai(StoredEngine):
    """Its choice of inverted lists of FAISS; above 200,000 vectors they are trained on a tenth."""

    package = "txtai"
    modules = ("txtai",)

    def build(self, data: Data, folder: Path) -> None:
        import txtai

        sample = {"faiss": {"sample": 0.1}} if len(data.vectors) > 200_000 else {}
        made = txtai.Embeddings(method="external", content=False, backend="faiss", **sample)
        made.index(
            (i, v, None) for places, vs in batches(data) for i, v in zip(places, vs, strict=True)
        )
        made.save(str(folder / "index"))

    def open(self, data: Data, folder: Path) -> dict[str, Way]:
        import txtai

        made = txtai.Embeddings()
        made.load(str(folder / "index"))
        lists = getattr(made.ann.backend, "nlist", 1)  # up to 5,000 vectors it has no lists
        ladder = [
            {"nprobe": max(1, round(lists * share))}
            for share in (1 / 16, 1 / 8, 1 / 4, 1 / 2, 3 / 4, 1)
        ]

        def use(setting: Any) -> None:
            made.ann.config.setdefault("faiss", {})["nprobe"] = setting["nprobe"]

        def search(place: int) -> list[int]:
            return [int(i) for i, _ in made.search(data.queries[place], K)]

        def batch(begin: int, end: int) -> list[list[int]]:
            found = made.batchsearch(list(data.queries[begin:end]), K)
            return [[int(i) for i, _ in each] for each in found]

        return {"lists": Way(search, (ladder,), use, batch, f"{lists} lists, float32")}


class MilvusLite(StoredEngine):
    """A collection with a graph of FAISS for each segment of at most 100,000 vectors."""

    package = "milvus-lite"
    modules = ("pymilvus", "milvus_lite")

    def build(self, data: Data, folder: Path) -> None:
        from milvus_lite.server_manager import server_manager_instance
        from pymilvus import DataType, MilvusClient

        path = str(folder / "base.db")
        client = MilvusClient(path)
        schema = client.create_schema(auto_id=False)
        schema.add_field("id", DataType.INT64, is_primary=True)
        schema.add_field("vector", DataType.FLOAT_VECTOR, dim=data.vectors.shape[1])
        client.create_collection("docs", schema=schema)
        for places, vectors in batches(data):
            rows = [{"id": i, "vector": v} for i, v in zip(places, vectors, strict=True)]
            client.insert("docs", rows)
        client.flush("docs")
        graph = graph_for(len(data.vectors))
        index = client.prepare_index_params()
        index.add_index(
            "vector",
            index_type="HNSW",
            metric_type="IP",
            params={"M": graph.links, "efConstruction": graph.breadth},
        )
        client.create_index("docs", index)
        client.load_collection("docs")
        client.close()
        server_manager_instance.release_server(path)

    def open(self, data: Data, folder: Path) -> dict[str, Way]:
        from pymilvus import MilvusClient

        client = MilvusClient(str(folder / "base.db"))
        client.load_collection("docs")
        setting = {"ef": 64}

        def ask(vectors: F32) -> list[list[int]]:
            found = client.search(
                "docs", list(vectors), limit=K, search_params={"params": dict(setting)}
            )
            return [[int(hit["id"]) for hit in hits] for hits in found]

        return {
            "graph": Way(
                lambda place: ask(data.queries[place : place + 1])[0],
                (_LADDER,),
                setting.update,
                lambda begin, end: ask(data.queries[begin:end]),
                f"{graph_for(len(data.vectors))} in each segment",
            )
        }
