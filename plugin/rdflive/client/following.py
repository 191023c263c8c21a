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
    """Takes the messages of a server, and connects again whenever the connection is lost.

    `open_stream` connects behind the message with a given id. `start` is called first, by whoever
    subscribes; then `run`, by the thread that follows. The other methods may be called from any thread.
    """

    def __init__(self, url: str, open_stream: Callable[[Http, str], Exchange], pace: RetryPace) -> None:
        self._url = url
        self._open = open_stream
        self._http = Http()
        self._pace = pace
        self._last = ""
        self._is_anew = False
        self._tries = 0
        self._stream: Exchange | None = None
        self._messages: Iterator[Message] | None = None

    @property
    def connected(self) -> bool:
        """Whether there is a connection, as far as is known."""
        return self._stream is not None and not self._http.closed.is_set()

    def start(self, timeout: float) -> dict[str, Any]:
        """Connect and give the members of the initial message; raises what makes it impossible."""
        deadline = monotonic() + timeout
        try:
            for message in self._connect():
                self._last = message.id
                if message.kind == "initial":
                    return message.members
                if message.kind == "end":
                    raise ended(self._url, message.members)
                # a server that only sends heartbeats is never silent for `timeout` seconds
                if monotonic() > deadline:
                    raise ServerError(f"{self._url}: no answer of the query came within {timeout:g} s")
            raise ServerError(f"{self._url}: the connection ended before the answer of the query came")
        except MalformedEvent as error:
            raise ServerError(f"{self._url} sends what cannot be: {error}; is it rdflive?") from error

    def run(self, take: Callable[[Message], object]) -> Exception | None:
        """Hand over initial messages and updates until stopped (None), or until an end for good (why)."""
        while not self._http.closed.is_set():
            asked = 0.0
            try:
                end = self._follow(take)
                if end is not None:
                    return end
                log.info("%s: the connection has ended", self._url)
            except MalformedEvent as error:
                # updates behind this one build on it, and it was not taken
                log.warning("%s sends what cannot be: %s; asking for the whole answer", self._url, error)
                self._is_anew = True
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
        # the first connection, where it was stopped before it followed
        self._disconnect()
        return None

    def begin_anew(self) -> None:
        """Have the whole answer sent again."""
        # before the cut, behind which the thread connects again and looks at it
        self._is_anew = True
        self._http.cut()

    def stop(self) -> None:
        """Let `run` end, at once where it waits for the server."""
        self._http.close()

    def abandon(self) -> None:
        """Free the connection, where no thread follows."""
        self.stop()
        self._disconnect()

    def _follow(self, take: Callable[[Message], object]) -> ServerError | None:
        """Take messages up to the end of a connection."""
        # the first connection is that of `start`, which has taken its first message
        messages = self._messages or self._connect()
        assert self._stream is not None  # noqa: S101 - it is where there are messages
        self._stream.wait_up_to(self._pace.silence)
        for message in messages:
            if self._http.closed.is_set():
                break
            if message.kind == "end":
                return ended(self._url, message.members)
            # a resync needs nothing: the whole answer follows it; kinds of a later server are passed over
            if message.kind in ("initial", "update"):
                take(message)
            # behind taking it: what could not be taken is sent again
            self._last = message.id
            if message.kind in ("update", "heartbeat"):
                # not behind an initial one: a server that breaks down over it would do so ever again
                self._tries = 0
        return None

    def _connect(self) -> Iterator[Message]:
        last = self._last
        if self._is_anew:
            # without an id of a last event the server sends the whole answer
            last, self._is_anew = "", False
        self._stream = self._open(self._http, last)
        if self._is_anew:  # it was asked for when there was nothing to cut yet
            self._stream.cut()
        self._messages = messages(self._url, self._stream, last)
        return self._messages

    def _disconnect(self) -> None:
        stream, self._stream, self._messages = self._stream, None, None
        if stream is not None:
            stream.close()
