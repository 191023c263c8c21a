"""What a server counts, for Prometheus."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from starlette.requests import Request
from starlette.responses import Response

if TYPE_CHECKING:
    from rdflive.server.service import Service

__all__ = ["Metrics", "show_metrics"]


class Metrics:
    """The counters of one server."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "rdflive_requests", "Requests by path and status", ["path", "status"], registry=self.registry
        )
        self.seconds = Histogram(
            "rdflive_request_seconds",
            "Time from a request to the head of its answer",
            ["path"],
            registry=self.registry,
        )
        self.events = Counter("rdflive_events", "Events sent to subscribers", registry=self.registry)
        ProcessCollector(registry=self.registry)

    def watch(self, service: Service) -> None:
        """Show what is open on a service."""
        self.registry.register(_Open(service))


class _Open(Collector):
    def __init__(self, service: Service) -> None:
        self._service = service

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Give what is open now."""
        topics = list(self._service.topics)
        yield GaugeMetricFamily("rdflive_subscriptions", "Queries kept up to date", len(topics))
        clients = sum(len(topic.followers) for topic in topics)
        yield GaugeMetricFamily("rdflive_subscribers", "Clients that follow them", clients)
        rows = sum(len(topic.log) for topic in topics)
        yield GaugeMetricFamily("rdflive_solutions", "Solutions of their answers", rows)
        yield GaugeMetricFamily("rdflive_commits", "Commits of the graph", self._service.capture.sequence)
        if self._service.feed is not None:
            is_running = self._service.feed == "following"
            yield GaugeMetricFamily("rdflive_feed_running", "1 while the change feed is followed", is_running)


async def show_metrics(request: Request) -> Response:
    """Answer with all metrics as Prometheus reads them."""
    from prometheus_client.exposition import choose_encoder

    service: Service = request.app.state.service
    encode, kind = choose_encoder(request.headers.get("accept", ""))
    text = await service.work(lambda: encode(service.metrics.registry))
    return Response(text, headers={"Content-Type": kind})
