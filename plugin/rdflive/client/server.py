"""The client's object for a server of live queries."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor
from typing import Any

from rdflive.client.question import ServedQuestion
from rdflive.client.subscription import OnError, RemoteSubscription
from rdflive.delivery.question import read_key
from rdflive.delivery.relay import Receiver
from rdflive.http import Address, RetryPace
from rdflive.model import Delta
from rdflive.query.given import read_query
from rdflive.time.instants import DurationLike

__all__ = ["Server", "connect"]


def connect(url: str, token: str | None = None, *, timeout: float = 30.0) -> Server:
    """Return the server at a URL, where `rdflive serve` runs, to subscribe to queries there.

    No request is sent yet. `token` is your token from the server's token file. It is sent to this URL only;
    use an https URL for another machine. `timeout` is the time in seconds that the server may take for a
    response. Raises ValueError for an invalid URL.

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

        `query` is SPARQL, or a `pathlib.Path` of a local file with the query. It may use the prefixes of the
        served graph and of `initNs`. The first delta holds the current answers (`initial=False` leaves it
        out). `callback(delta)` runs in the subscription's own thread. Errors of the callback, and the error
        that ends the subscription, are kept as `last_error` and handled by `on_error` ("log", "ignore", or a
        function of the subscription and the exception). After a lost connection, or a restart of the server,
        the subscription reconnects, and the next delta holds the changes since then. `async def` callbacks,
        `throttle`, `executor` and `key` work as in `rdflive.subscribe`.

        Raises `QuerySyntaxError` and `UnsupportedQueryError` with the place in the query, `ServerError` if
        the server refuses or cannot be reached, and `PlanError` for a key that is not projected.
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
