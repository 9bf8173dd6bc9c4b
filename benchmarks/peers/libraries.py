"""gem-index and the libraries that search vectors: FAISS, hnswlib, usearch."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.data import Data, K
from benchmarks.peers.engine import BREADTHS, StoredEngine, graph_for
from benchmarks.peers.measuring import Way
from gem_index.common.arrays import F32
from gem_index.index.dense import TRAINING_VECTORS
from gem_index.index.kinds import resolve_kind

_LADDER = [{"ef": breadth} for breadth in BREADTHS]


class GemIndex(StoredEngine):
    """A collection, built from the texts: it also fits the encoder, encodes, and indexes the words.

    Parameters
    ----------
    kind : str
        Of the index.
    largest : int, optional
    """

    package = "gem-index"
    modules = ("gem_index", "faiss")

    def __init__(self, kind: str, largest: int | None = None) -> None:
        self.kind = kind
        self.largest = largest

    def build(self, data: Data, folder: Path) -> None:
        from gem_index import Document, Home

        documents = (Document(id=str(i), text=line) for i, line in enumerate(data.lines))
        Home(folder).build("c", documents, index=self.kind)

    def open(self, data: Data, folder: Path) -> dict[str, Way]:
        from gem_index import Home

        collection = Home(folder).collection("c")
        fingerprint = collection.encoder.fingerprint

        def by_text(place: int) -> list[int]:
            return [int(hit.id) for hit in collection.search(data.asked[place], K, mode="dense")]

        def by_vector(place: int) -> list[int]:
            hits = collection.search(data.queries[place], K, mode="dense", fingerprint=fingerprint)
            return [int(hit.id) for hit in hits]

        def texts(begin: int, end: int) -> list[list[int]]:
            found = collection.search_many(data.asked[begin:end], K, mode="dense")
            return [[int(hit.id) for hit in hits] for hits in found]

        def vectors(begin: int, end: int) -> list[list[int]]:
            found = collection.search_many(
                data.queries[begin:end], K, mode="dense", fingerprint=fingerprint
            )
            return [[int(hit.id) for hit in hits] for hits in found]

        note = f"`{self.kind}`, with texts and words"
        return {
            "text": Way(by_text, batch=texts, note=note),
            "vector": Way(by_vector, batch=vectors, note=note),
        }


class FaissQuantised(StoredEngine):
    """The index of our kind ``pq``, and its candidates scored again from vectors in float32."""

    package = "faiss-cpu"
    modules = ("faiss",)
    environment = {"OMP_NUM_THREADS": "1"}  # noqa: RUF012  a search cannot be shared out

    def build(self, data: Data, folder: Path) -> None:
        import faiss

        count, dimension = data.vectors.shape
        vectors = np.array(data.vectors)
        kind = resolve_kind("pq", count, dimension)
        index = faiss.index_factory(dimension, kind.factory, faiss.METRIC_INNER_PRODUCT)
        sample = np.random.default_rng(0).permutation(count)[:TRAINING_VECTORS]
        index.train(vectors[np.sort(sample)])
        index.add(vectors)
        faiss.write_index(index, str(folder / "index.faiss"))
        np.save(folder / "rows.npy", vectors)

    def open(self, data: Data, folder: Path) -> dict[str, Way]:
        import faiss

        index = faiss.read_index(str(folder / "index.faiss"))
        rows: F32 = np.load(folder / "rows.npy", mmap_mode="r")
        candidates = resolve_kind("pq", *rows.shape).candidates(K)

        def best(query: F32, found: np.ndarray) -> list[int]:
            found = found[found >= 0]
            scores = rows[found] @ query
            few = np.argpartition(scores, -K)[-K:]
            return [int(each) for each in found[few[np.argsort(-scores[few])]]]

        def search(place: int) -> list[int]:
            _, found = index.search(data.queries[place : place + 1], candidates)
            return best(data.queries[place], found[0])

        def scan(place: int) -> list[int]:
            _, found = index.search(data.queries[place : place + 1], candidates)
            return [int(each) for each in found[0, :K]]

        def batch(begin: int, end: int) -> list[list[int]]:
            faiss.omp_set_num_threads(os.cpu_count() or 1)
            _, found = index.search(data.queries[begin:end], candidates)
            faiss.omp_set_num_threads(1)
            return [best(data.queries[begin + i], each) for i, each in enumerate(found)]

        note = f"`{resolve_kind('pq', *rows.shape).factory}`, {candidates} candidates"
        return {
            "re-scored": Way(search, batch=batch, note=note),
            "scan only": Way(scan, note=f"{note}, the first ten of them"),
        }


class FaissFlat(StoredEngine):
    """All vectors, exactly."""

    package = "faiss-cpu"
    modules = ("faiss",)
    environment = {"OMP_NUM_THREADS": "1"}  # noqa: RUF012

    def build(self, data: Data, folder: Path) -> None:
        import faiss

        index = faiss.IndexFlatIP(data.vectors.shape[1])
        index.add(np.array(data.vectors))
        faiss.write_index(index, str(folder / "index.faiss"))

    def open(self, data: Data, folder: Path) -> dict[str, Way]:
        import faiss

        index = faiss.read_index(str(folder / "index.faiss"))

        def search(place: int) -> list[int]:
            return [int(i) for i in index.search(data.queries[place : place + 1], K)[1][0]]

        def batch(begin: int, end: int) -> Any:
            faiss.omp_set_num_threads(os.cpu_count() or 1)
            _, found = index.search(data.queries[begin:end], K)
            faiss.omp_set_num_threads(1)
            return found

        return {"exact": Way(search, batch=batch, note="no index")}


class Hnswlib(StoredEngine):
    """A graph over float32."""

    package = "hnswlib"
    modules = ("hnswlib",)

    def build(self, data: Data, folder: Path) -> None:
        import hnswlib

        count, dimension = data.vectors.shape
        graph = graph_for(count)
        index = hnswlib.Index("ip", dimension)
        index.init_index(count, M=graph.links, ef_construction=graph.breadth)
        index.add_items(np.array(data.vectors))
        index.save_index(str(folder / "index.bin"))

    def open(self, data: Data, folder: Path) -> dict[str, Way]:
        import hnswlib

        count, dimension = data.vectors.shape
        index = hnswlib.Index("ip", dimension)
        index.load_index(str(folder / "index.bin"), count)

        def search(place: int) -> Any:
            return index.knn_query(data.queries[place : place + 1], K, num_threads=1)[0][0]

        def batch(begin: int, end: int) -> Any:
            return index.knn_query(data.queries[begin:end], K)[0]

        def use(setting: Any) -> None:
            index.set_ef(setting["ef"])

        return {"graph": Way(search, (_LADDER,), use, batch, f"{graph_for(count)}")}


class Usearch(StoredEngine):
    """A graph over numbers of a type.

    Parameters
    ----------
    numbers : str
        ``f32``, ``bf16`` or ``i8``.
    largest : int, optional
    """

    package = "usearch"
    modules = ("usearch.index",)

    def __init__(self, numbers: str, largest: int | None = None) -> None:
        self.numbers = numbers
        self.largest = largest

    def build(self, data: Data, folder: Path) -> None:
        from usearch.index import Index

        count, dimension = data.vectors.shape
        graph = graph_for(count)
        index = Index(
            ndim=dimension,
            metric="cos",
            dtype=self.numbers,
            connectivity=graph.links,
            expansion_add=graph.breadth,
        )
        index.add(np.arange(count), np.array(data.vectors))
        index.save(str(folder / "index.usearch"))

    def open(self, data: Data, folder: Path) -> dict[str, Way]:
        from usearch.index import Index

        index: Any = Index.restore(str(folder / "index.usearch"))

        def search(place: int) -> Any:
            return index.search(data.queries[place], K, threads=1).keys

        def batch(begin: int, end: int) -> Any:
            return index.search(data.queries[begin:end], K).keys

        def use(setting: Any) -> None:
            index.expansion_search = setting["ef"]

        return {"graph": Way(search, (_LADDER,), use, batch, f"{graph_for(len(data.vectors))}")}
