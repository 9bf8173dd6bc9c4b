"""Measure one way to search: its settings, latencies, callers in threads, and batches."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from benchmarks.peers.data import MEASURED, WARM, Data

Setting: TypeAlias = Mapping[str, Any]
ENOUGH = 0.99
"""The recall@10 that a setting has to reach."""

THREADS = (1, 2, 8)
_BOX = 20.0  # seconds of one measurement
_WARM_BOX = 5.0
_RATE_BOX, _MOST = 6.0, 5_000  # seconds and searches of a measurement with threads


@dataclass(frozen=True)
class Way:
    """One way to search a system.

    Attributes
    ----------
    search : callable
        Returns the positions of the ten best documents for the query at a place.
    ladders : sequences of settings
        Each from cheap to dear; the rest of one is left out after a setting that reaches the recall.
    use : callable
        Takes a setting into use.
    batch : callable, optional
        Answers queries from one place to another in one call.
    note : str
        What has to be known to read the figures.
    """

    search: Callable[[int], Sequence[int]]
    ladders: Sequence[Sequence[Setting]] = (({},),)
    use: Callable[[Setting], None] = lambda _setting: None
    batch: Callable[[int, int], Sequence[Sequence[int]]] | None = None
    note: str = ""


def measure(way: Way, data: Data) -> Iterator[dict[str, Any]]:
    """Yield a record of a way, again with more in it after each step."""
    tried: list[dict[str, Any]] = []
    for ladder in way.ladders:
        for setting in ladder:
            way.use(setting)
            tried.append({"setting": setting} | latencies(way, data))
            yield {"note": way.note, "tried": tried} | chosen(tried)
            if tried[-1]["recall"] >= ENOUGH:
                break
    record = {"note": way.note, "tried": tried} | chosen(tried)
    way.use(record["setting"])
    rates: dict[str, float | str] = {}
    for threads in THREADS:
        rates[str(threads)] = rate(way, threads)
        yield record | {"queries_per_s": rates}
    record["queries_per_s"] = rates
    if way.batch is not None:
        yield record | batch_rate(way.batch, data, float(record["p50_ms"]))


def chosen(tried: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the fastest of the settings that reach the recall; the best of the others if none does."""
    enough = [each for each in tried if each["recall"] >= ENOUGH]
    if enough:
        return dict(min(enough, key=lambda each: float(each["p50_ms"])))
    return dict(max(tried, key=lambda each: float(each["recall"])))


def latencies(way: Way, data: Data) -> dict[str, Any]:
    """Search one query after the other, for at most 20 seconds."""
    stop = time.perf_counter() + _WARM_BOX
    for place in range(WARM):
        way.search(place)
        if time.perf_counter() > stop:
            break
    times, found = [], []
    stop = time.perf_counter() + _BOX
    for place in range(WARM, WARM + MEASURED):
        begun = time.perf_counter()
        found.append(way.search(place))
        times.append(time.perf_counter() - begun)
        if time.perf_counter() > stop:
            break
    p50, p99 = 1e3 * np.percentile(times, [50, 99], method="higher")
    return {
        "recall": round(data.recall(range(WARM, WARM + len(times)), found), 4),
        "p50_ms": round(float(p50), 3),
        "p99_ms": round(float(p99), 3),
        "searches": len(times),
    }


def rate(way: Way, threads: int) -> float | str:
    """Return the queries per second of several calling threads, or how they failed."""
    turns = itertools.count()
    started = time.perf_counter()
    stop = started + _RATE_BOX

    def call() -> int:
        done = 0
        while (turn := next(turns)) < _MOST and time.perf_counter() < stop:
            way.search(WARM + turn % MEASURED)
            done += 1
        return done

    try:
        with ThreadPoolExecutor(threads) as pool:
            done = sum(future.result() for future in [pool.submit(call) for _ in range(threads)])
    except Exception as error:  # noqa: BLE001 - the table says that threads make this system fail
        return f"{type(error).__name__}: {error}"[:200]
    return round(done / (time.perf_counter() - started), 1)


def batch_rate(
    batch: Callable[[int, int], Sequence[Sequence[int]]], data: Data, p50: float
) -> dict[str, Any]:
    """Time one call with all queries, or with fewer where it would take more than 20 seconds."""
    count = max(1, min(MEASURED, int(1e3 * _BOX / p50)))
    batch(0, min(count, WARM))
    begun = time.perf_counter()
    found = batch(WARM, WARM + count)
    seconds = time.perf_counter() - begun
    return {
        "batch_queries": count,
        "batch_per_s": round(count / seconds, 1),
        "batch_recall": round(data.recall(range(WARM, WARM + count), found), 4),
    }
