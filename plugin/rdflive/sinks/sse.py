"""Deltas as server-sent events, from the sink's own server."""

from __future__ import annotations

import threading

from rdflive.asgi.addresses import listen
from rdflive.asgi.requirements import needing_server
from rdflive.model import Delta
from rdflive.sinks.events.log import EventLog

__all__ = ["SseSink"]


class SseSink:
    """Serves the deltas of one subscription at `url` to any number of clients, until it is closed.

    A client receives `event: initial` with the current answer, then `event: update` for each change; `data`
    is the line of `to_ndjson`, and `id` is `sequence-epoch`. A client that returns with `Last-Event-ID`
    receives the changes that it missed, if the last `history` deltas reach back that far, else
    `event: resync` and the current answer. The writer never waits for a client: pending changes of a slow
    client are merged into one event. `event: heartbeat` comes every `keep_alive` seconds.

    There is no authentication: any other `host` than the default shows the answer to all machines that can
    reach it. Raises `RdfliveError` if it cannot listen, and without the extra `rdflive[server]`.

    >>> sink = SseSink()
    >>> sink.url.startswith("http://127.0.0.1:")
    True
    >>> sink.close()
    """

    def __init__(
        self,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        history: int = 1000,
        keep_alive: float = 15.0,
    ) -> None:
        with needing_server("SseSink"):
            from rdflive.sinks.events.server import EventServer
        self._events = EventLog(history=history)
        # here and not in the thread, so that the caller receives the error of a used port
        listener = listen(host, port)
        # an IPv6 address has four parts
        self._address: tuple[str, int] = listener.getsockname()[:2]
        self._server = EventServer(self._events, host, self._address[0], keep_alive)
        self._thread = threading.Thread(
            target=self._server.run, args=([listener],), name="rdflive-sse", daemon=True
        )
        self._thread.start()

    @property
    def url(self) -> str:
        """The URL of the events."""
        host, port = self._address
        return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"

    def __call__(self, delta: Delta) -> None:
        """Send a delta to all clients, without waiting for any."""
        self._events.publish(delta)

    def close(self) -> None:
        """Wait some seconds for clients to take pending events, then stop. May be repeated."""
        self._server.should_exit = True
        self._thread.join()
