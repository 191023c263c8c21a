"""Previews of updates as JSON; the update is rolled back before any subscriber sees it."""

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
    """Return the changes of an update, which is rolled back; raise its errors."""
    with preview(dataset) as change:
        run(dataset)
    return change


def preview_text(service: Service, change: Preview, client: Client) -> str:
    """Return the parts of a preview that a client may see; raise `Problem` 403 if it is too large."""
    signs = [sign for sign, _ in change.batch.changes]
    rows = len(signs) + sum(len(d.added) + len(d.removed) for d in change.deltas.values())
    if rows > service.limits.rows:
        raise Problem(
            403, f"the preview has more than {service.limits.rows:,} changes, the limit of this server"
        )
    shown: dict[str, Any] = {"refused": None if change.refused is None else Refused(change.refused).members()}
    # the right to update alone must not reveal data
    if "read" in client.rights:
        shown["added"] = list(_quads(service, change, 1))
        shown["removed"] = list(_quads(service, change, -1))
    if "subscribe" in client.rights:
        shown["subscriptions"] = list(_subscriptions(service, change))
    return json.dumps(shown)


def _quads(service: Service, change: Preview, sign: int) -> Iterator[dict[str, Any]]:
    """Yield the added or removed quads; those of the default graph have no `graph`."""
    default = manager.attach(service.dataset.store).default_graph(service.dataset)
    for each, quad in change.batch.changes:
        if each == sign:
            yield _quad(quad, default)


def _quad(quad: Quad, default: Any) -> dict[str, Any]:
    shown = {name: to_json(term) for name, term in zip(TRIPLE, quad[:3], strict=True)}
    return shown if quad.graph == default else {**shown, "graph": to_json(quad.graph)}


def _subscriptions(service: Service, change: Preview) -> Iterator[dict[str, Any]]:
    """Yield the events that the followers of each open subscription would receive."""
    for topic in service.topics:
        delta = None if topic.subscription is None else change.deltas.get(topic.subscription)
        if delta is not None:
            yield {"subscription": topic.id, "query": topic.live_query.query, **json.loads(to_ndjson(delta))}
