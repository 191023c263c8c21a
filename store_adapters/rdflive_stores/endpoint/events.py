"""The change log of an endpoint as server-sent events, each with RDF Patch in its data."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import chain
from typing import Final

from rdflive.errors import ResyncNeeded
from rdflive.feeds import Entry, read_entries, to_lines
from rdflive.feeds.event_stream import EVENT_STREAM, PAUSE, StreamEvent, read_events
from rdflive.feeds.rdf_patch import RDF_PATCH
from rdflive.http import Exchange, HttpFault, media_type, without_query
from rdflive.model import Batch
from rdflive_stores.endpoint.requests import Requests

__all__ = ["EndpointEvents"]

_PATCHES: Final = frozenset({"", "message", "patch"})
_RESYNC: Final = "resync"
_GONE: Final = frozenset({404, 410, 412})


class EndpointEvents:
    """Follows server-sent events (WHATWG HTML, section 9.2); the id of an event is the cursor after it.

    The server must send its current id when a client connects, or soon after; an event with only an `id` is
    enough. Events other than `message` and `patch` are skipped. `resync` requests a new snapshot, as do the
    statuses 404, 410 and 412. Silence for longer than the timeout counts as a lost connection, so an idle
    server should send comments.
    """

    seen_until: float | None = None
    """Always None: the stream does not show whether an event is under way."""

    def __init__(self, requests: Requests, url: str) -> None:
        self._requests = requests
        self._url = url
        self._place = without_query(url)

    def position(self) -> str:
        """Return the first id that the server sends."""
        return self._requests.attempt(self._url, self._first_id)

    def behind(self, cursor: str) -> Iterator[Entry]:
        """Decode the events after a cursor, up to the currently last one."""
        end = self.position()
        # read fully before the first is yielded: a failed attempt is repeated and would repeat entries
        entries = self._requests.attempt(self._url, lambda: list(self._until(cursor, end)))
        yield from entries

    def follow(self, cursor: str, every: float | None) -> Iterator[Entry | None]:  # noqa: ARG002 - the server sends them
        """Decode events on arrival; reconnect after a lost connection; yield None before each connection."""
        pause = 0.0
        failed, begin = 0, time.monotonic()
        while True:
            self._requests.wait(pause)
            yield None
            pause = PAUSE
            try:
                with self._requests.stream(self._url, self._headers(cursor), (200, 204, *_GONE)) as response:
                    # this status asks the client not to reconnect
                    if response.status == 204:
                        return
                    failed, begin = 0, time.monotonic()
                    self._requests.succeeded()
                    for event in self._events(response, cursor):
                        cursor, pause = event.id, event.pause
                        yield from self._entries(event)
            except HttpFault as fault:
                failed += 1
                pause = max(pause, self._requests.pause(self._url, failed, begin, fault))

    def _first_id(self) -> str:
        try:
            with self._requests.stream(self._url, self._headers(""), (200,)) as response:
                for event in self._events(response, ""):
                    if event.id:
                        return event.id
        except HttpFault as fault:
            reason = f"{fault} before the log sent the id of its last event"
            raise HttpFault(reason, retry_after=fault.retry_after) from fault
        raise HttpFault("the log ended before it sent the id of its last event")

    def _until(self, cursor: str, end: str) -> Iterator[Entry]:
        if cursor == end:
            return
        with self._requests.stream(self._url, self._headers(cursor), (200, *_GONE)) as response:
            for event in self._events(response, cursor):
                yield from self._entries(event)
                if event.id == end:
                    return
        raise HttpFault(f"the log ended before the event {end!r}")

    def _headers(self, cursor: str) -> dict[str, str]:
        return {"Accept": EVENT_STREAM, **({"Last-Event-ID": cursor} if cursor else {})}

    def _events(self, response: Exchange, cursor: str) -> Iterator[StreamEvent]:
        if response.status in _GONE:
            raise ResyncNeeded(
                self._place, f"the log is gone, or no longer contains the cursor (HTTP {response.status})"
            )
        if (kind := media_type(response.headers)) != EVENT_STREAM:
            raise HttpFault(f"the log is {kind}, not {EVENT_STREAM}")
        for event in read_events(to_lines(response, self._place), cursor):
            if event.kind == _RESYNC:
                raise ResyncNeeded(self._place, f"the log requests it after event {event.id!r}")
            yield event

    def _entries(self, event: StreamEvent) -> Iterator[Entry]:
        """Yield one entry per event, with all its transactions, because its id is the cursor of them all."""
        if event.kind not in _PATCHES or not event.frame:
            return
        entries = list(read_entries(RDF_PATCH, event.frame, self._place))
        error = next((entry.error for entry in entries if entry.error is not None), None)
        changes = () if error else tuple(chain.from_iterable(entry.batch.changes for entry in entries))
        yield Entry(Batch(changes), event.id, frame=event.frame, error=error)
