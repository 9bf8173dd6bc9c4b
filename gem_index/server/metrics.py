"""Counts and times of requests for Prometheus."""

from __future__ import annotations

import os
from pathlib import Path

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
    multiprocess,
)

__all__ = ["MULTIPROCESS", "Metrics"]

MULTIPROCESS = "PROMETHEUS_MULTIPROC_DIR"
"""The environment variable for the folder in which several processes share their metrics."""


class Metrics:
    """The metrics of a server, including all processes that share a folder.

    Attributes
    ----------
    shared : bool
        Whether processes share a folder.
    """

    def __init__(self) -> None:
        self.shared = MULTIPROCESS in os.environ
        self._registry = CollectorRegistry()
        labels = ["method", "route", "status"]
        self._requests = Counter(
            "gem_index_requests", "Requests by route and status", labels, registry=self._registry
        )
        self._seconds = Histogram(
            "gem_index_request_seconds", "Time to answer", ["route"], registry=self._registry
        )
        self._known: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}
        self._texts = self._gauge("gem_index_texts_waiting", "Texts that wait to be encoded")
        self._waiting = self._gauge(
            "gem_index_requests_waiting", "Requests that wait for a thread, or have one"
        )

    def note(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        key = (method, route, status)
        found = self._known.get(key)
        if found is None:
            found = (self._requests.labels(method, route, str(status)), self._seconds.labels(route))
            self._known[key] = found
        found[0].inc()
        found[1].observe(seconds)

    def note_waiting(self, texts: int, requests: int) -> None:
        """Set the numbers of waiting texts and requests."""
        self._texts.set(texts)
        self._waiting.set(requests)

    def text(self) -> bytes:
        """Return the metrics in Prometheus' text format."""
        if not self.shared:
            return generate_latest(self._registry)
        shared = CollectorRegistry()
        for path in Path(os.environ[MULTIPROCESS]).glob("gauge_live*_*.db"):
            process = int(path.stem.rpartition("_")[2])
            if not _is_running(process):  # it was killed, so nothing waits there
                multiprocess.mark_process_dead(process)  # type: ignore[no-untyped-call]
        multiprocess.MultiProcessCollector(shared)  # type: ignore[no-untyped-call]
        return generate_latest(shared)

    def _gauge(self, name: str, description: str) -> Gauge:
        return Gauge(name, description, registry=self._registry, multiprocess_mode="livesum")


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
