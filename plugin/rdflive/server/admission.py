"""The requests under way of each client, their limits, and their end when a client loses a right."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from math import ceil, inf
from time import monotonic

from rdflive.server.access import Client, Right
from rdflive.server.failures import Problem
from rdflive.server.settings import Limits

__all__ = ["Admission", "UnderWay"]

_REMEMBERED = 10_000
"""Clients without requests whose rate is remembered."""


class UnderWay:
    """A request until its end; `request.state.under_way` of Starlette."""

    __slots__ = ("bytes", "end", "events", "has_lost", "key", "status", "uses")

    def __init__(self, key: str, end: Callable[[], object]) -> None:
        self.key = key
        """The client by which limits count: its name, or the address of one that is unknown."""
        self.end = end
        """Ends the connection at once."""
        self.uses: set[Right] = set()
        """The rights that the request has needed."""
        self.has_lost = False
        """True when the client has lost one of them."""
        self.bytes = 0
        """Bytes of the response so far, without its head."""
        self.events = 0
        self.status = 0

    def use(self, client: Client, right: Right) -> None:
        """Raise `Problem` 403 unless the client has the right, which the request then needs to its end."""
        client.need(right)
        self.uses.add(right)

    def count_event(self) -> None:
        """Count an event that is sent."""
        self.events += 1


class _Usage:
    __slots__ = ("at", "body_bytes", "requests", "spare")

    def __init__(self, now: float, spare: float) -> None:
        self.requests: set[UnderWay] = set()
        self.body_bytes = 0
        self.spare = spare
        """Requests that may come now, at the time `at`."""
        self.at = now


class Admission:
    """Counts what each client has under way. Used in the event loop's thread.

    >>> admission = Admission(Limits(connections=1))
    >>> request = UnderWay("alice", lambda: None)
    >>> admission.enter(request)
    >>> admission.enter(UnderWay("alice", lambda: None))
    Traceback (most recent call last):
    rdflive.server.failures.Problem: alice has 1 requests under way, the limit of a client
    >>> admission.leave(request)
    """

    def __init__(self, limits: Limits, clock: Callable[[], float] = monotonic) -> None:
        self._limits = limits
        self._clock = clock
        self._clients: dict[str, _Usage] = {}
        self.body_bytes = 0
        """Bytes of the unfinished bodies of all clients."""

    def enter(self, request: UnderWay) -> None:
        """Begin a request; raise `Problem` 429 for a client with too many, under way or in this second."""
        limits, key = self._limits, request.key
        usage = self._clients.get(key)
        if usage is None:
            usage = self._clients[key] = self._first(limits.requests_per_second)
        if len(usage.requests) >= limits.connections:
            raise Problem(
                429,
                f"{key} has {limits.connections:,} requests under way, the limit of a client",
                headers={"Retry-After": "5"},
            )
        if limits.requests_per_second < inf:
            self._take(usage, key, limits.requests_per_second)
        usage.requests.add(request)

    def leave(self, request: UnderWay) -> None:
        """End a request that `enter` has admitted."""
        usage = self._clients[request.key]
        usage.requests.discard(request)
        if not usage.requests and self._limits.requests_per_second == inf:
            del self._clients[request.key]

    @contextmanager
    def body(self, key: str) -> Iterator[Callable[[int], None]]:
        """Give a function that counts bytes of a body, to the end of the block.

        It raises `Problem` 429 or 503 where the unfinished bodies of this client, or of all, are too large.
        """
        usage, size = self._clients[key], 0

        def count(more: int) -> None:
            nonlocal size
            size += more
            usage.body_bytes += more
            self.body_bytes += more
            if usage.body_bytes > self._limits.body_bytes:
                raise _too_much(429, f"the unfinished bodies of {key}", self._limits.body_bytes)
            if self.body_bytes > self._limits.all_body_bytes:
                raise _too_much(503, "the unfinished bodies of all clients", self._limits.all_body_bytes)

        try:
            yield count
        finally:
            usage.body_bytes -= size
            self.body_bytes -= size

    def end_lost(self, lost: Mapping[str, frozenset[Right]]) -> int:
        """End the requests that need a right that its client has lost; return their number."""
        ended = [
            request
            for name, rights in lost.items()
            if name in self._clients
            for request in self._clients[name].requests
            if request.uses & rights
        ]
        for request in ended:
            request.has_lost = True
            request.end()
        return len(ended)

    def _first(self, rate: float) -> _Usage:
        now = self._clock()
        if len(self._clients) >= _REMEMBERED:
            # a client whose second is over starts with as many requests as an unknown one
            old = [key for key, usage in self._clients.items() if not usage.requests and now - usage.at >= 1]
            for key in old:
                del self._clients[key]
        return _Usage(now, rate)

    def _take(self, usage: _Usage, key: str, rate: float) -> None:
        now = self._clock()
        usage.spare = min(rate, usage.spare + (now - usage.at) * rate)
        usage.at = now
        if usage.spare < 1:
            raise Problem(
                429,
                f"{key} sends more than {rate:,g} requests per second, the limit of a client",
                headers={"Retry-After": str(max(1, ceil((1 - usage.spare) / rate)))},
            )
        usage.spare -= 1


def _too_much(status: int, what: str, most: int) -> Problem:
    # the rest of the body stays unread, so the connection cannot be reused
    headers = {"Retry-After": "5", "Connection": "close"}
    return Problem(status, f"{what} are larger than {most:,} bytes", headers=headers)
