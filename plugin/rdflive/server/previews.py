"""What an update would change, as JSON; it is taken back before anybody is told."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import rdflib

from rdflive.api.preview import Preview, preview
from rdflive.model import Quad
from rdflive.plugins import manager
from rdflive.server.access import Client
from rdflive.server.failures import Problem, Refused
from rdflive.server.service import Service
from rdflive.sinks.ndjson import TRIPLE, to_json, to_ndjson

__all__ = ["preview_text", "preview_update"]


def preview_update(dataset: rdflib.Dataset, run: Callable[[rdflib.Dataset], object]) -> Preview:
    """Run an update and take it back. Raises what the update raises."""
    with preview(dataset) as change:
        run(dataset)
    return change


def preview_text(service: Service, change: Preview, client: Client) -> str:
    """Write what a client may see of a preview; raises `Problem` 403 where it is too much."""
    signs = [sign for sign, _ in change.batch.changes]
    rows = len(signs) + sum(len(d.added) + len(d.removed) for d in change.deltas.values())
    if rows > service.limits.rows:
        raise Problem(
            403, f"the preview has more than {service.limits.rows:,} changes, the limit of this server"
        )
    told: dict[str, Any] = {"refused": None if change.refused is None else Refused(change.refused).members()}
    # who may update is told no more of the data than who reads them
    if "read" in client.rights:
        told["added"] = list(_quads(service, change, 1))
        told["removed"] = list(_quads(service, change, -1))
    if "subscribe" in client.rights:
        told["subscriptions"] = list(_subscriptions(service, change))
    return json.dumps(told)


def _quads(service: Service, change: Preview, sign: int) -> Iterator[dict[str, Any]]:
    """Give the quads that come or go; in the default graph they have no `graph`."""
    default = manager.attach(service.dataset.store).default_graph(service.dataset)
    for each, quad in change.batch.changes:
        if each == sign:
            yield _quad(quad, default)


def _quad(quad: Quad, default: Any) -> dict[str, Any]:
    told = {name: to_json(term) for name, term in zip(TRIPLE, quad[:3], strict=True)}
    return told if quad.graph == default else {**told, "graph": to_json(quad.graph)}


def _subscriptions(service: Service, change: Preview) -> Iterator[dict[str, Any]]:
    """Give what the followers of each open subscription would be told, as its events have it."""
    for topic in service.topics:
        delta = None if topic.subscription is None else change.deltas.get(topic.subscription)
        if delta is not None:
            yield {"subscription": topic.id, "query": topic.asked.query, **json.loads(to_ndjson(delta))}
