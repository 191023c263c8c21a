"""The metrics of a server, for Prometheus."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache

from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

__all__ = ["Metrics"]

_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


class Metrics:
    """The counters of one server."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "rdflive_requests", "Requests by path and status", ["path", "status"], registry=self.registry
        )
        self.seconds = Histogram(
            "rdflive_request_seconds",
            "Time from a request to the head of its response; for /update this is the time of the commit",
            ["path"],
            registry=self.registry,
            buckets=_SECONDS,
        )
        self.events = Counter("rdflive_events", "Events sent to subscribers", registry=self.registry)
        self.feed_entries = Counter("rdflive_feed_entries", "Entries of the feed", registry=self.registry)
        ProcessCollector(registry=self.registry)

    @cache  # noqa: B019 - looking up the labels takes longer than counting; paths and statuses are few
    def _request(self, path: str, status: int) -> tuple[Counter, Histogram]:
        return self.requests.labels(path, str(status)), self.seconds.labels(path)

    def count(self, path: str, status: int, seconds: float) -> None:
        """Count a request by its path, and the time until the head of its response."""
        counter, histogram = self._request(path, status)
        counter.inc()
        histogram.observe(seconds)

    def watch(self, collect: Callable[[], Iterable[Metric]]) -> None:
        """Add metrics that are computed when they are read."""
        self.registry.register(_Computed(collect))


class _Computed(Collector):
    def __init__(self, collect: Callable[[], Iterable[Metric]]) -> None:
        self._collect = collect

    def collect(self) -> Iterator[Metric]:
        """Yield the present values."""
        yield from self._collect()
