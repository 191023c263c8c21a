"""The metrics of a server, for Prometheus."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from rdflive.server.replica import Replica
from rdflive.server.topics import Topics

__all__ = ["Metrics"]


class Metrics:
    """The counters of one server."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "rdflive_requests", "Requests by path and status", ["path", "status"], registry=self.registry
        )
        self.seconds = Histogram(
            "rdflive_request_seconds",
            "Time from a request to the head of its response",
            ["path"],
            registry=self.registry,
        )
        self.events = Counter("rdflive_events", "Events sent to subscribers", registry=self.registry)
        self.audits = Counter("rdflive_audits", "Audits of answers", registry=self.registry)
        self.audit_differences = Counter(
            "rdflive_audit_differences", "Audits that found a wrong answer", registry=self.registry
        )
        ProcessCollector(registry=self.registry)
        self._open: _Open | None = None
        self._replica: _Following | None = None

    @cache  # noqa: B019 - looking up the labels takes longer than counting; paths and statuses are few
    def _request(self, path: str, status: int) -> tuple[Counter, Histogram]:
        return self.requests.labels(path, str(status)), self.seconds.labels(path)

    def count(self, path: str, status: int, seconds: float) -> None:
        """Count a request by its path, and the time until the head of its response."""
        counter, histogram = self._request(path, status)
        counter.inc()
        histogram.observe(seconds)

    def watch(self, topics: Topics, commits: Callable[[], int], feed: Callable[[], str | None]) -> None:
        """Add gauges of the topics, the last commit and the feed."""
        if self._open is not None:  # from an earlier run
            self.registry.unregister(self._open)
        self._open = _Open(topics, commits, feed)
        self.registry.register(self._open)

    def watch_replica(self, replica: Replica) -> None:
        """Add gauges of the replica's lag."""
        if self._replica is None:
            self._replica = _Following(replica)
            self.registry.register(self._replica)


class _Following(Collector):
    def __init__(self, replica: Replica) -> None:
        self._replica = replica

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield the present values."""
        lag = self._replica.lag
        for name, text, value in (
            ("lag_commits", "Commits of the primary that this replica does not have yet", lag.commits),
            ("lag_seconds", "Seconds since this replica had all commits of its primary", lag.seconds),
            ("connected", "1 while this replica follows its primary", self._replica.is_connected),
            ("resyncs", "Snapshots of the primary since the start", self._replica.resyncs),
        ):
            yield GaugeMetricFamily(f"rdflive_replica_{name}", text, value)


class _Open(Collector):
    def __init__(self, topics: Topics, commits: Callable[[], int], feed: Callable[[], str | None]) -> None:
        self._topics = topics
        self._commits = commits
        self._feed = feed

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield the present values."""
        # a copy: this runs in a thread while the event loop opens and closes topics
        topics = list(self._topics)
        yield GaugeMetricFamily("rdflive_subscriptions", "Open subscriptions", len(topics))
        clients = sum(len(topic.followers) for topic in topics)
        yield GaugeMetricFamily("rdflive_subscribers", "Clients of the subscriptions", clients)
        rows = sum(len(topic.log) for topic in topics)
        yield GaugeMetricFamily("rdflive_solutions", "Solutions of the subscriptions' answers", rows)
        yield GaugeMetricFamily("rdflive_commits", "Commits of the graph", self._commits())
        feed = self._feed()
        if feed is not None:
            is_running = feed == "following"
            yield GaugeMetricFamily("rdflive_feed_running", "1 while the change feed is followed", is_running)
