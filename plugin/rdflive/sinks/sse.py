"""Deltas as server-sent events, from a server of its own."""

from __future__ import annotations

import threading

from rdflive.asgi.addresses import listen
from rdflive.asgi.requirements import needing_server
from rdflive.model import Delta
from rdflive.sinks.events.log import EventLog

__all__ = ["SseSink"]


class SseSink:
    """Serves the deltas of one subscription at `url` to any number of clients, until it is closed.

    A client is sent `event: initial` with the current answer, then `event: update` for what changes; `data`
    is the line of `to_ndjson`, and `id` is `sequence-epoch`. One that comes back with `Last-Event-ID` is
    sent what it missed, if the last `history` deltas reach back to that, else `event: resync` and the
    current answer. The writer never waits for a client: what a slow one has not taken is merged into one
    event. `event: heartbeat` every `keep_alive` seconds shows that the connection lives.

    Nobody is asked for a password: any other `host` than the default one shows the answer to everybody
    who can reach it. Raises `RdfliveError` where it cannot listen, and without the extra `rdflive[server]`.

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
        # here and not in the thread: a port that is taken is an error of whoever makes the sink
        listener = listen(host, port)
        # an address of IPv6 has four parts
        self._address: tuple[str, int] = listener.getsockname()[:2]
        self._server = EventServer(self._events, host, self._address[0], keep_alive)
        self._thread = threading.Thread(
            target=self._server.run, args=([listener],), name="rdflive-sse", daemon=True
        )
        self._thread.start()

    @property
    def url(self) -> str:
        """Where the events are."""
        host, port = self._address
        return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"

    def __call__(self, delta: Delta) -> None:
        """Send a delta to all clients, without waiting for any."""
        self._events.publish(delta)

    def close(self) -> None:
        """Let the clients take what waits for them, for some seconds at most, and stop. May be repeated."""
        self._server.should_exit = True
        self._thread.join()
