"""Replicas of a server in the test's process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import rdflib

from rdflive.cli.replica import begin_following
from rdflive.feeds import to_lines
from rdflive.feeds.event_stream import StreamEvent, read_events
from rdflive.http import Address
from rdflive.server.primary import Primary
from rdflive.server.replica import Replica
from support.protocol import asked
from support.serving import Serving, serving
from support.waiting import until

__all__ = ["Stream", "content", "reached", "replica_of"]


@contextmanager
def replica_of(
    primary: str,
    dataset: rdflib.Dataset | None = None,
    *,
    store_path: str | None = None,
    token: str | None = None,
    **options: Any,
) -> Iterator[Serving]:
    """Serve a replica of the server at a URL, by default in memory on Oxigraph."""
    dataset = rdflib.Dataset(store="Oxigraph") if dataset is None else dataset
    source = Primary(Address.parse(primary, token))
    place = begin_following(dataset, source, store_path)
    with serving(dataset, replica=Replica(dataset, source, place, folder=store_path), **options) as served:
        yield served


def content(server: Serving) -> tuple[str, list[bytes]]:
    """Return the id of a server's state, and the state as sorted N-Quads."""
    reply = asked(server, "GET", "/store", Accept="application/n-quads")
    assert reply.status == 200, reply.body
    return reply.headers["Last-Event-ID"], sorted(reply.body.splitlines())


def reached(server: Serving, primary: Serving) -> None:
    """Wait until a server is at the commit of another."""
    wanted = primary.service.history
    until(
        lambda: (server.service.history.epoch, server.service.history.number) == (wanted.epoch, wanted.number)
    )


class Stream:
    """The events of a subscription, read one after the other."""

    def __init__(self, server: Serving, target: str, last: str = "") -> None:
        import http.client

        self._connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        headers = {"Accept": "text/event-stream", **({"Last-Event-ID": last} if last else {})}
        self._connection.request("GET", target, headers=headers)
        self._response = self._connection.getresponse()
        assert self._response.status == 200, self._response.read()
        self._events = read_events(to_lines(self._response, target))  # type: ignore[arg-type]

    def next(self) -> StreamEvent:
        """Return the next event that is no heartbeat."""
        return next(event for event in self._events if event.kind != "heartbeat")

    def close(self) -> None:
        """Close the connection."""
        with closing(self._connection):
            self._response.close()

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
