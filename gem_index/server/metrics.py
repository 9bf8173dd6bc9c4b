"""Counts and times of requests for Prometheus."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

__all__ = ["Metrics"]


class Metrics:
    """The metrics of one server process."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        labels = ["method", "route", "status"]
        self._requests = Counter(
            "gem_index_requests", "Requests by route and status", labels, registry=self._registry
        )
        self._seconds = Histogram(
            "gem_index_request_seconds", "Time to answer", ["route"], registry=self._registry
        )
        self.waiting = Gauge(
            "gem_index_texts_waiting", "Texts that wait to be encoded", registry=self._registry
        )

    def note(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def text(self) -> bytes:
        """Return the metrics in Prometheus' text format."""
        return generate_latest(self._registry)
