"""The present state of a server, as gauges for Prometheus."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from prometheus_client.core import CounterMetricFamily, GaugeHistogramMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric

from rdflive.server.replica import Replica
from rdflive.server.service import Service
from rdflive.server.topics import Topic

__all__ = ["gauges"]

_BEHIND: Final = (0, 1, 10, 100, 1000, 10_000)
"""Bounds of the buckets of commits."""


def gauges(service: Service) -> Iterator[Metric]:
    """Yield the present values; waits for the store's lock. There are none while the service does not run."""
    if not service.is_running:
        return
    # a copy: this runs in a thread while the event loop opens and closes topics
    topics = list(service.topics)
    yield _gauge("rdflive_ready", "1 while /ready answers 200", not service.unready())
    yield from _of_subscriptions(topics)
    yield _gauge("rdflive_commits", "Commits of the graph", service.history.number)
    yield _gauge("rdflive_connections", "Open connections", len(service.connections))
    yield CounterMetricFamily(
        "rdflive_connections_refused", "Connections beyond the limits", service.connections.refused
    )
    yield _gauge("rdflive_unsent_bytes", "Bytes that clients have not read yet", service.unsent_bytes)
    bodies = service.admission.body_bytes
    yield _gauge("rdflive_body_bytes", "Bytes of request bodies that have not arrived in full", bodies)
    yield _gauge("rdflive_children", "Processes of queries", len(service.children))
    if service.feed is not None:
        is_running = service.feed == "following"
        yield _gauge("rdflive_feed_running", "1 while the change feed is followed", is_running)
    if service.feed_lag is not None:
        text = "Bytes of the file of the feed that are not applied yet"
        yield _gauge("rdflive_feed_lag_bytes", text, service.feed_lag())
    if service.replica is not None:
        yield from _of_replica(service.replica)


def _of_replica(replica: Replica) -> Iterator[Metric]:
    lag = replica.lag
    yield _gauge(
        "rdflive_replica_lag_commits",
        "Commits of the primary that this replica does not have yet",
        lag.commits,
    )
    text = "Seconds since this replica had all commits of its primary"
    yield _gauge("rdflive_replica_lag_seconds", text, lag.seconds)
    text = "1 while this replica follows its primary"
    yield _gauge("rdflive_replica_connected", text, replica.is_connected)
    yield _gauge("rdflive_replica_resyncs", "Snapshots of the primary since the start", replica.resyncs)


def _of_subscriptions(topics: Sequence[Topic]) -> Iterator[Metric]:
    yield _gauge("rdflive_subscriptions", "Open subscriptions", len(topics))
    clients = sum(len(topic.followers) for topic in topics)
    yield _gauge("rdflive_subscribers", "Clients of the subscriptions", clients)
    rows = sum(len(topic.log) for topic in topics)
    yield _gauge("rdflive_solutions", "Solutions of the subscriptions' answers", rows)
    behind = [commits for topic in topics for commits in topic.followers.behind()]
    text = "Commits that clients of subscriptions have not been sent"
    yield _histogram("rdflive_subscriber_lag_commits", text, behind)
    yield _gauge("rdflive_subscriber_lag_commits_max", f"{text}, the most", max(behind, default=0))


def _gauge(name: str, text: str, value: float) -> Metric:
    return GaugeMetricFamily(name, text, value)


def _histogram(name: str, text: str, values: Iterable[int]) -> Metric:
    counts, total = [0] * (len(_BEHIND) + 1), 0
    for value in values:
        counts[bisect_left(_BEHIND, value)] += 1
        total += value
    buckets: list[tuple[str, float]] = []
    cumulated = 0
    for bound, count in zip((*map(str, _BEHIND), "+Inf"), counts, strict=True):
        cumulated += count
        buckets.append((bound, cumulated))
    return GaugeHistogramMetricFamily(name, text, buckets=buckets, gsum_value=total)
