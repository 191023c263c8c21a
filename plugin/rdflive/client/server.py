"""A server that offers live queries, as a client sees it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor
from typing import Any

from rdflive.client.question import ServedQuestion
from rdflive.client.requests import Address
from rdflive.client.subscription import OnError, RemoteSubscription
from rdflive.delivery.question import read_key
from rdflive.delivery.relay import Receiver
from rdflive.http import RetryPace
from rdflive.model import Delta
from rdflive.query.given import read_query
from rdflive.time.instants import DurationLike

__all__ = ["Server", "connect"]


def connect(url: str, token: str | None = None, *, timeout: float = 30.0) -> Server:
    """Name a server, which `rdflive serve` runs, to subscribe to queries there.

    Nothing is sent yet. `token` is what the server's token file has for you; it goes to this URL only, so
    give an https one outside of your own machine. `timeout` is how many seconds the server may take to
    answer a request. Raises ValueError for what is no URL of a server.

    >>> connect("http://127.0.0.1:8000")
    <Server http://127.0.0.1:8000>
    """
    if not 0 < timeout <= threading.TIMEOUT_MAX:
        raise ValueError(f"timeout must be a number of seconds above 0, got {timeout!r}")
    return Server(Address.parse(url, token), timeout=timeout)


class Server:
    """A server, made by `connect`."""

    def __init__(self, address: Address, *, timeout: float, pace: RetryPace = RetryPace()) -> None:  # noqa: B008 - frozen
        self._address = address
        self._timeout = timeout
        self._pace = pace

    def subscribe(
        self,
        query: str | os.PathLike[str],
        callback: Callable[[Delta], object] | None = None,
        *,
        initNs: Mapping[str, Any] | None = None,  # noqa: N803 - the name of rdflib's Graph.query
        initial: bool = True,
        name: str | None = None,
        on_error: OnError = "log",
        entailment: str | None = None,
        throttle: DurationLike | None = None,
        executor: Executor | None = None,
        key: Iterable[str] | None = None,
    ) -> RemoteSubscription:
        """Keep the answer of a query up to date here, as `rdflive.subscribe` does for a graph.

        `query` is SPARQL, or the path of a file here that holds it, as a `pathlib.Path`.
        The prefixes bound on the served graph and those of `initNs` may be used. The first delta holds
        the current answers (`initial=False` leaves it out). `callback(delta)` runs in a thread of the
        subscription's own; what it raises, and what ends the subscription for good, is kept as `last_error`
        and treated as `on_error` says ("log", "ignore", or a function of the subscription and the
        exception). A lost connection is made again, and the next delta says what has changed meanwhile, also
        when the server was started anew. An `async def` callback, `throttle` and `executor` are as for
        `rdflive.subscribe`. With a `key` each delta has `changed`, as `rdflive.subscribe` says.

        Raises `QuerySyntaxError` and `UnsupportedQueryError` with the place in the query, and `ServerError`
        where the server refuses or cannot be reached; `PlanError` for a key that the query does not show.
        """
        given = read_query(query)
        receiver = Receiver.checked(
            callback, initial=initial, name=name, on_error=on_error, throttle=throttle, executor=executor
        )
        with given.naming():
            return RemoteSubscription(
                self._address,
                ServedQuestion.make(given.text, initNs, entailment),
                receiver,
                timeout=self._timeout,
                pace=self._pace,
                key=read_key(key),
            )

    def __repr__(self) -> str:
        return f"<Server {self._address.url()}>"
