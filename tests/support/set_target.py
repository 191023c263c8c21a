"""A target that is a set, and feeds of a misbehaving server for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from rdflib import URIRef

from rdflive.feeds import Entry
from rdflive.model import Quad
from rdflive_stores.endpoint.feed import EndpointFeed
from support.misbehaving import Server

EVERYTHING = [Quad(None, None, None)]


class SetTarget:
    """A target that applies entries to a set."""

    def __init__(self, *quads: Quad, patterns: list[Quad] = EVERYTHING) -> None:
        self.held = set(quads)
        self.needed = patterns

    def spelled(self, quads: Iterable[Quad]) -> list[Quad]:
        return list(quads)

    def quads(self) -> Iterator[Quad]:
        return iter(list(self.held))

    def patterns(self) -> list[Quad]:
        return self.needed

    def apply(self, entry: Entry) -> None:
        for sign, quad in entry.batch.changes:
            (self.held.add if sign > 0 else self.held.discard)(quad)

    def follow(self, feed: EndpointFeed, cursor: str | None = None, kept: Any = None) -> list[Entry]:
        """Apply all entries of a feed that ends."""
        entries = []
        for entry in feed.entries(cursor, kept or {}, self):
            self.apply(entry)
            entries.append(entry)
        return entries


def triple(number: int) -> Quad:
    return Quad(URIRef(f"urn:s{number:04}"), URIRef("urn:p"), URIRef(f"urn:o{number}"))


def line(number: int) -> str:
    return f"<urn:s{number:04}> <urn:p> <urn:o{number}> ."


def feed(server: Server, **options: Any) -> EndpointFeed:
    """Make a feed that polls once, with short retries."""
    return EndpointFeed(server.url, **{"every": None, "backoff": 0.001, "tries": 3, "timeout": 5, **options})
