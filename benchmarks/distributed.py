"""What a Dask cluster costs on one machine, and what that means for more sentences on more machines.

``python -m benchmarks.distributed SENTENCES.txt [--count 1000000] [--runs 1] [--json FILE]`` (``pip install ".[dask]"``)
fits, encodes into Parquet, and builds a collection of sentences by one process and by a LocalCluster with as many
workers as that has threads, one after the other, after a small round that compiles the kernels and opens the word vectors;
starting the cluster is not part.
From runs with fewer sentences, fewer workers and smaller partitions it fits a model of three costs (of a command, of a
sentence, of a partition), tells how far it is off at the largest run, which it has not seen, and works it through for 10^9
sentences on 32 machines. The sentences come from ``python -m benchmarks.sentences``.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from scipy.optimize import nnls

from distributed import Client, LocalCluster
from gem_index import GemConfig, GemEncoder, Home, open_vectors
from gem_index.distributed import PartitionOptions, build_shards, encode, fit
from gem_index.distributed.planning import PARTITION_BYTES, plan
from gem_index.gem.vector_output import write_vectors
from gem_index.readers import DocumentReader

WORKS = ("fit", "encode")
WARM = 20_000
MACHINES, CORES, SENTENCES = 32, 16, 10**9
FAN_IN, DIMENSION = 8, 256


@dataclass(frozen=True)
class Point:
    """Seconds that a cluster took for each kind of work; ``local`` those of one process where it was measured.

    ``stored`` are those of a cluster's build after its workers had made the shards.
    """

    count: int
    workers: int
    parts: int
    read: int
    written: int
    cluster: dict[str, float]
    local: dict[str, float] | None
    stored: float = 0.0


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("sentences", type=Path)
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        points = list(measured(asked.sentences, Path(folder), asked.count, asked.runs))
    overheads(points)
    for work in WORKS:
        modelled(points, work)
    if asked.json is not None:
        asked.json.write_text(json.dumps([asdict(point) for point in points], indent=1) + "\n")


def measured(sentences: Path, folder: Path, most: int, runs: int) -> Iterator[Point]:
    """Yield the points; that of most sentences and workers comes last."""
    small = PARTITION_BYTES // 8
    for workers in (1, 2):
        with cluster_of(workers) as client:
            counts = [(WARM, PARTITION_BYTES), (most // 4, PARTITION_BYTES), (most // 4, small)]
            counts += [(most // 2, PARTITION_BYTES), (most, PARTITION_BYTES)]
            for count, size in counts:
                sample = folder / f"{count}.txt"
                with sentences.open() as source, sample.open("w") as file:
                    file.writelines(islice(source, count))
                point = measure(client, sample, count, workers, size, runs, local=count == most)
                if count != WARM:
                    print(point, flush=True)
                    yield point


@contextmanager
def cluster_of(workers: int) -> Iterator[Client]:
    with (
        LocalCluster(
            n_workers=workers, threads_per_worker=1, dashboard_address=":0", silence_logs=50
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def measure(
    client: Client, sample: Path, count: int, workers: int, size: int, runs: int, *, local: bool
) -> Point:
    options = PartitionOptions(partition_bytes=size)
    encoder = GemEncoder(
        open_vectors("wordllama-gem"), GemConfig.preset("trained"), threads=workers
    )
    output = sample.with_suffix(".parts")
    one = sample.with_suffix(".parquet")

    def texts() -> Any:
        return DocumentReader([str(sample)]).texts()

    def encode_there() -> None:
        shutil.rmtree(output, ignore_errors=True)
        encode(client, encoder, [str(sample)], output, texts=True, options=options)

    there = {
        "fit": lambda: fit(client, encoder.unfitted(), [str(sample)], options=options),
        "encode": encode_there,
    }
    here: dict[str, Callable[[], Any]] = {
        "fit": lambda: encoder.unfitted().fit(texts()),
        "encode": lambda: write_vectors(one, encoder, texts()),
    }
    encoder.fit(islice(texts(), WARM))
    rounds = [
        ({work: timed(there[work]) for work in WORKS}, local and {w: timed(here[w]) for w in WORKS})
        for _ in range(runs)
    ]
    cluster = {work: median(round_[0][work] for round_ in rounds) for work in WORKS}
    alone, stored = None, 0.0
    if local:
        alone = {work: median((round_[1] or {})[work] for round_ in rounds) for work in WORKS}
        cluster["build"], alone["build"], stored = built(client, sample, workers, options)
    return Point(
        count,
        workers,
        len(plan(DocumentReader([str(sample)]), partition_bytes=size)),
        sample.stat().st_size,
        sum(path.stat().st_size for path in output.glob("*.parquet")),
        cluster,
        alone,
        stored,
    )


def built(
    client: Client, sample: Path, workers: int, options: PartitionOptions
) -> tuple[float, float, float]:
    """Return the seconds of a cluster's build, of one by one process, and those of the first after the shards were there."""
    made = [0.0]

    def told(stage: str, done: int, total: int) -> None:
        if stage == "index words" and done == total:
            made[0] = time.perf_counter()

    def build_there() -> None:
        build_shards(client, home, "there", [str(sample)], options=options, progress=told)

    with tempfile.TemporaryDirectory(dir=sample.parent) as folder:
        os.environ["GEM_INDEX_THREADS"] = str(workers)  # of this process: the workers run already
        home = Home(folder)
        there = timed(build_there)
        stored = time.perf_counter() - made[0]
        here = timed(lambda: home.build("here", DocumentReader([str(sample)])))
    return there, here, stored


def timed(work: Callable[[], Any]) -> float:
    """Return the seconds of some work, which does not wait for what the work before has left to be written to the disk."""
    os.sync()
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def overheads(points: list[Point]) -> None:
    print("\n| sentences | workers | work | local s | cluster s | overhead |")
    print("|---|---|---|---|---|---|")
    for point in points:
        for work, seconds in (point.local or {}).items():
            share = point.cluster[work] / seconds - 1
            print(
                f"| {point.count:,} | {point.workers} | {work} | {seconds:.2f} "
                f"| {point.cluster[work]:.2f} | {share:+.0%} |"
            )
        if point.local is not None:
            print(f"(of the cluster's build {point.stored:.2f} s after the shards were there)")


def modelled(points: list[Point], work: str) -> None:
    """Fit seconds = a + b sentences / workers + c partitions / workers to all points but the last, and use it."""
    *known, left_out = points

    def row(count: float, parts: float, workers: float) -> list[float]:
        return [1.0, count / workers, parts / workers]

    rows = np.array([row(p.count, p.parts, p.workers) for p in known])
    # relative errors: the short runs count as much as the long ones
    seconds = np.array([p.cluster[work] for p in known])
    costs, _ = nnls(rows / seconds[:, None], np.ones(len(known)))
    guess = float(np.dot(costs, row(left_out.count, left_out.parts, left_out.workers)))
    found = left_out.cluster[work]
    print(
        f"\n{work}: {costs[0]:.2f} s a command, {1e6 * costs[1]:.1f} us a sentence, {costs[2]:.3f} s a partition; "
        f"the run that was left out: {guess:.1f} s expected, {found:.1f} s measured ({guess / found - 1:+.0%})"
    )
    workers = MACHINES * CORES
    read, written = (
        size / left_out.count * SENTENCES for size in (left_out.read, left_out.written)
    )
    parts = read / PARTITION_BYTES
    total = float(np.dot(costs, row(SENTENCES, parts, workers)))
    print(
        f"{SENTENCES:.0e} sentences on {MACHINES} machines of {CORES} cores: {total:,.0f} s, {parts:,.0f} partitions, "
        f"{read / 1e9:,.0f} GB read: {8 * read / total / MACHINES / 1e9:.2f} Gbit/s a machine"
    )
    if work == "encode":
        print(
            f"{written / 1e9:,.0f} GB written: {8 * written / total / MACHINES / 1e9:.2f} Gbit/s a machine"
        )
    else:
        sums = parts * (1 + 1 / (FAN_IN - 1)) * 8 * DIMENSION**2
        print(
            f"{math.ceil(math.log(parts, FAN_IN))} levels of sums, at most {sums / 1e9:.1f} GB between machines in all"
        )


if __name__ == "__main__":
    main()
