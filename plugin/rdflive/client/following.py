"""Follows a subscription over any number of connections."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from time import monotonic
from typing import Any

from rdflive.client.failures import MalformedEvent, ServerError, ended
from rdflive.client.requests import Message, messages
from rdflive.errors import QuerySyntaxError, UnsupportedQueryError
from rdflive.http import Exchange, Http, RetryPace

__all__ = ["Following"]

log = logging.getLogger("rdflive")


class Following:
    """Receives the messages of a server, and reconnects when the connection is lost.

    `open_stream` connects after the message with a given id. The subscribing thread calls `start` first; then
    the following thread calls `run`. Any thread may call the other methods.
    """

    def __init__(self, url: str, open_stream: Callable[[Http, str], Exchange], pace: RetryPace) -> None:
        self._url = url
        self._open = open_stream
        self._http = Http()
        self._pace = pace
        self._last = ""
        self._needs_full = False
        self._tries = 0
        self._stream: Exchange | None = None
        self._messages: Iterator[Message] | None = None

    @property
    def connected(self) -> bool:
        """True if there is a connection, as far as is known."""
        return self._stream is not None and not self._http.closed.is_set()

    def start(self, timeout: float) -> dict[str, Any]:
        """Connect and return the members of the initial message; raise `ServerError` if that fails."""
        deadline = monotonic() + timeout
        try:
            for message in self._connect():
                self._last = message.id
                if message.kind == "initial":
                    return message.members
                if message.kind == "end":
                    raise ended(self._url, message.members)
                # a server that sends only heartbeats is never silent for `timeout` seconds
                if monotonic() > deadline:
                    raise ServerError(
                        f"{self._url}: the answer of the query did not arrive within {timeout:g} s"
                    )
            raise ServerError(f"{self._url}: the connection ended before the answer of the query arrived")
        except MalformedEvent as error:
            raise ServerError(f"{self._url} sends invalid messages: {error}; is it rdflive?") from error

    def run(self, take: Callable[[Message], object]) -> Exception | None:
        """Pass initial messages and updates to `take`; return the final error, or None after `stop`."""
        while not self._http.closed.is_set():
            asked = 0.0
            try:
                end = self._follow(take)
                if end is not None:
                    return end
                log.info("%s: the connection has ended", self._url)
            except MalformedEvent as error:
                # later updates build on this one, which was not taken
                log.warning("%s sends invalid messages: %s; requesting the full answer", self._url, error)
                self._needs_full = True
            except (QuerySyntaxError, UnsupportedQueryError) as error:
                return error
            except ServerError as error:
                if error.is_final:
                    return error
                log.info("%s", error)
                asked = error.retry_after
            finally:
                self._disconnect()
            self._tries += 1
            # not `sleep`: `stop` must end the wait at once
            self._http.closed.wait(self._pace.pause(self._tries, asked))
        # the first connection, after a `stop` before this loop
        self._disconnect()
        return None

    def request_full(self) -> None:
        """Make the server send the full answer again."""
        # before the cut, after which the thread reconnects and reads it
        self._needs_full = True
        self._http.cut()

    def stop(self) -> None:
        """End `run`, also while it waits for the server."""
        self._http.close()

    def abandon(self) -> None:
        """Close the connection if no thread runs `run`."""
        self.stop()
        self._disconnect()

    def _follow(self, take: Callable[[Message], object]) -> ServerError | None:
        """Take messages until the connection ends."""
        # `start` made the first connection, and took its first message
        messages = self._messages or self._connect()
        assert self._stream is not None  # noqa: S101 - set together with the messages
        self._stream.wait_up_to(self._pace.silence)
        for message in messages:
            if self._http.closed.is_set():
                break
            if message.kind == "end":
                return ended(self._url, message.members)
            # `resync` needs no action: the full answer follows; kinds of later servers are ignored
            if message.kind in ("initial", "update"):
                take(message)
            # after `take`: a message that failed there is sent again
            self._last = message.id
            if message.kind in ("update", "heartbeat"):
                # not after `initial`: a server that fails on it would be retried without pause
                self._tries = 0
        return None

    def _connect(self) -> Iterator[Message]:
        last = self._last
        if self._needs_full:
            # without a last event id the server sends the full answer
            last, self._needs_full = "", False
        self._stream = self._open(self._http, last)
        if self._needs_full:  # `request_full` came before there was a connection to cut
            self._stream.cut()
        self._messages = messages(self._url, self._stream, last)
        return self._messages

    def _disconnect(self) -> None:
        stream, self._stream, self._messages = self._stream, None, None
        if stream is not None:
            stream.close()
