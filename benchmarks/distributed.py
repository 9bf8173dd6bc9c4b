"""What a Dask cluster costs on one machine: the same work by one process and by a LocalCluster, with as many threads.

``python -m benchmarks.distributed SENTENCES.txt [--count 1000000] [--workers 1 2] [--runs 3] [--json FILE]`` (``pip install
".[dask]"``) fits and encodes sentences into Parquet both ways, one after the other, so many times, after a round that is not
counted: that of the cluster compiles and opens the word vectors. Starting the cluster is not counted. The sentences come
from ``python -m benchmarks.sentences``.
"""

from __future__ import annotations

import argparse
import json
import platform
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

from distributed import Client, LocalCluster
from gem_index import Components, GemConfig, GemEncoder, open_vectors
from gem_index.distributed import PartitionOptions, encode, fit
from gem_index.distributed.planning import PARTITION_BYTES
from gem_index.gem.vector_output import write_vectors
from gem_index.reading import DocumentReader


@dataclass(frozen=True)
class Cost:
    """Seconds of each run of one kind of work, by one process and by a cluster of so many workers."""

    work: str
    workers: int
    local: list[float]
    cluster: list[float]

    @property
    def overhead(self) -> float:
        """The share of time that the cluster adds."""
        return median(self.cluster) / median(self.local) - 1


def timed(work: Callable[[], Any]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def measure(sentences: Path, workers: int, runs: int, size: int) -> list[Cost]:
    vectors = open_vectors("wordllama-gem")
    options = PartitionOptions(partition_bytes=size)
    config = GemConfig.preset("trained")

    def texts() -> Any:
        return DocumentReader([str(sentences)]).texts()

    fitted = GemEncoder(vectors, config, threads=workers).fit(texts())
    parts: list[Components] = [fitted.components]
    here = fitted.with_components(parts)
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalCluster(
            n_workers=workers, threads_per_worker=1, dashboard_address=":0", silence_logs=50
        ) as cluster,
        Client(cluster) as client,
    ):
        out = Path(folder)

        def encode_there() -> None:
            shutil.rmtree(out / "parts", ignore_errors=True)
            encode(client, here, [str(sentences)], out / "parts", texts=True, options=options)

        works: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
            "fit": (
                lambda: here.unfitted().fit(texts()),
                lambda: fit(client, here.unfitted(), [str(sentences)], options=options),
            ),
            "encode": (lambda: write_vectors(out / "x.parquet", here, texts()), encode_there),
        }
        costs = []
        for name, (local, there) in works.items():
            rounds = [(timed(local), timed(there)) for _ in range(runs + 1)][1:]
            costs.append(Cost(name, workers, *(list(each) for each in zip(*rounds, strict=True))))
    return costs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sentences", type=Path)
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--partition-bytes", type=int, default=PARTITION_BYTES)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        sample = Path(folder, "sentences.txt")
        with asked.sentences.open() as source, sample.open("w") as file:
            file.writelines(islice(source, asked.count))
        size = sample.stat().st_size
        costs = [
            cost
            for workers in asked.workers
            for cost in measure(sample, workers, asked.runs, asked.partition_bytes)
        ]
    print(
        f"| {asked.count:,} sentences, {size / 1e6:.1f} MB | workers | local s | cluster s | overhead |"
    )
    print("|---|---|---|---|---|")
    for cost in costs:
        print(
            f"| {cost.work} | {cost.workers} | {median(cost.local):.2f} | {median(cost.cluster):.2f} | "
            f"{cost.overhead:+.0%} |"
        )
    if asked.json is not None:
        rows = [{**asdict(cost), "overhead": cost.overhead} for cost in costs]
        about = {"machine": platform.processor() or platform.machine(), "count": asked.count}
        content = {**about, "partition_bytes": asked.partition_bytes, "costs": rows}
        asked.json.write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
