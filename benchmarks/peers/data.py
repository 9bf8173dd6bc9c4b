"""The vectors and queries that all systems get, and how their answers are compared with exact ones."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.collections import read, shortened
from gem_index import Home
from gem_index.common.arrays import F32

K = 10
WARM, MEASURED = 200, 500
"""Queries that are not counted, and those that are."""

_ROUNDING = 1e-6
_BLOCK = 16_384  # vectors that are compared at once
_PART = 5_000  # that a database gets at once


class Data:
    """Texts, vectors (n, d), query texts and query vectors (q, d) of a folder.

    Parameters
    ----------
    folder : Path
        Where :func:`prepare` wrote.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @cached_property
    def about(self) -> dict[str, object]:
        """The file of sentences, and their number."""
        return dict(json.loads((self.folder / "data.json").read_text()))

    @cached_property
    def lines(self) -> list[str]:
        """The texts of the documents."""
        return read(str(self.about["sentences"]), int(str(self.about["documents"])))

    @cached_property
    def asked(self) -> list[str]:
        """The texts of the queries: sentences with a quarter of their words left out."""
        return list(json.loads((self.folder / "queries.json").read_text()))

    @cached_property
    def vectors(self) -> F32:
        """Of the documents, mapped."""
        vectors: F32 = np.load(self.folder / "vectors.npy", mmap_mode="r")
        return vectors

    @cached_property
    def queries(self) -> F32:
        """Of the queries."""
        queries: F32 = np.load(self.folder / "queries.npy")
        return queries

    @cached_property
    def tenth(self) -> F32:
        """The cosine (q,) of the exact tenth best document of each query."""
        tenth: F32 = np.load(self.folder / "tenth.npy")
        return tenth

    def recall(self, places: Sequence[int], found: Sequence[Sequence[int]]) -> float:
        """Return the share of the ten best that was found.

        A document counts once, if its exact cosine reaches that of the tenth best: sentences that differ in a comma
        have equal cosines.
        """
        hits = 0
        for place, answer in zip(places, found, strict=True):
            rows = np.unique(np.asarray(answer, np.int64))
            cosines = self.vectors[rows] @ self.queries[place]
            hits += min(K, int((cosines >= self.tenth[place] - _ROUNDING).sum()))
        return hits / (K * len(places))


def prepare(data: Data, home: Path) -> dict[str, object]:
    """Encode documents and queries with the encoder of a collection of these documents; find the exact tenth best.

    Returns the dimension, and the seconds that it took to encode the documents.
    """
    collection = Home(home).collection("c")
    if len(collection) != int(str(data.about["documents"])):
        raise SystemExit(
            f"found {len(collection)} sentences; expected {data.about['documents']}; give a smaller --count"
        )
    started = time.perf_counter()
    vectors = collection.encoder.encode(data.lines)
    seconds = time.perf_counter() - started
    asked = shortened(data.lines, WARM + MEASURED)
    queries = collection.encoder.encode(asked)
    if not np.linalg.norm(queries, axis=1).all() or len(queries) < WARM + MEASURED:
        raise SystemExit(
            f"found {len(queries)} queries or a query without a known word; expected {WARM + MEASURED} sentences that "
            "keep words when a quarter of them is left out; use other sentences"
        )
    best = np.full((len(queries), K), -np.inf, np.float32)
    for begin in range(0, len(vectors), _BLOCK):
        scores = queries @ vectors[begin : begin + _BLOCK].T
        both = np.concatenate([best, np.partition(scores, -min(K, scores.shape[1]), 1)[:, -K:]], 1)
        best = np.partition(both, -K, 1)[:, -K:]
    (data.folder / "queries.json").write_text(json.dumps(asked))
    np.save(data.folder / "vectors.npy", vectors)
    np.save(data.folder / "queries.npy", queries)
    np.save(data.folder / "tenth.npy", best.min(1))
    return {"dimension": vectors.shape[1], "encode_s": round(seconds, 2)}


def batches(data: Data) -> Iterator[tuple[range, F32]]:
    """Iterate over positions and their vectors."""
    count = len(data.vectors)
    for begin in range(0, count, _PART):
        places = range(begin, min(begin + _PART, count))
        yield places, np.array(data.vectors[begin : places.stop])


def arrow_table(data: Data) -> Any:
    """Return positions and vectors as an Arrow table."""
    import pyarrow as pa

    vectors = np.array(data.vectors)
    column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), vectors.shape[1])
    return pa.table([pa.array(np.arange(len(vectors))), column], ["id", "vector"])
