"""The events that clients of a server follow: what was sent lately, the current answer, and who listens."""

from __future__ import annotations

import re
import secrets
import threading
from collections import Counter, deque
from collections.abc import Callable
from itertools import chain, repeat
from typing import Final

from rdflive.errors import RdfliveError
from rdflive.model import Delta
from rdflive.sinks.ndjson import solution_text, to_line

__all__ = ["KEEP_ALIVE", "Client", "EventLog"]

KEEP_ALIVE: Final = b":\n\n"
"""A comment of the event stream, which says nothing but that the connection lives."""

_ID: Final = re.compile(r"([0-9]{1,18})-([0-9a-f]{8})")
_RESYNC: Final = b'event: resync\ndata: {"reason": "what followed the last event id is no longer kept"}\n\n'


class EventLog:
    """Turns deltas into events and puts them into the queue of every client; never waits for one.

    The id of an event is `sequence-epoch`. The epoch is a random word for the initial delta that the
    event builds on, so that an id of an earlier run is never taken for one of this.
    """

    def __init__(self, *, history: int, backlog: int) -> None:
        self._limits = history, backlog
        self._lock = threading.Lock()
        self._history: deque[tuple[int, bytes]] = deque()
        self._answer: Counter[str] = Counter()
        self._truth: bool | None = None
        self._epoch = ""
        self._sequence = self._oldest = 0
        self._clients: set[Client] = set()
        self._closed = False

    def publish(self, delta: Delta) -> None:
        """Send a delta to all clients and remember it.

        Raises `RdfliveError` for one that builds on an answer that was never given.
        """
        if not delta.initial and not self._epoch:
            raise RdfliveError(
                "late clients are sent the current answer, so the sink must be given the initial delta: "
                "subscribe without initial=False and without resume"
            )
        added, removed = list(map(solution_text, delta.added)), list(map(solution_text, delta.removed))
        line = to_line(delta.sequence, added, removed, initial=delta.initial, answer=delta.answer)
        with self._lock:
            self._sequence, self._truth = delta.sequence, delta.answer
            if delta.initial:
                self._begin()
            self._take(added, removed)
            event = _event(self._id(), "initial" if delta.initial else "delta", line)
            if not delta.initial:
                self._remember(event)
            for client in self._clients:
                client.put(event)

    def join(self, last: str | None, drop: Callable[[], object]) -> tuple[Client, list[bytes]]:
        """Add a client that has seen the event `last`; give it, and the events that it begins with.

        Those are what it missed, or the current answer: as `initial`, with `resync` in front where the
        history does not reach back to `last`. `drop` is called, at most once, when it is too slow.
        """
        with self._lock:
            client = Client(self._limits[1], drop)
            self._clients.add(client)
            if self._closed:
                client.end()
            position = self._position(last)
            if position is not None:
                return client, [event for sequence, event in self._history if sequence > position]
            events = [_RESYNC] if last else []
            if not self._epoch:
                return client, events  # the initial delta is still to come
            name, sequence = self._id(), self._sequence
            answer, truth = self._answer.copy(), self._truth
        # the text of a large answer is made here, where it keeps nobody waiting
        texts = chain.from_iterable(repeat(text, count) for text, count in answer.items())
        return client, [
            *events,
            _event(name, "initial", to_line(sequence, texts, (), initial=True, answer=truth)),
        ]

    def leave(self, client: Client) -> None:
        """Forget a client."""
        with self._lock:
            self._clients.discard(client)

    def close(self) -> None:
        """Let every client end behind what waits for it."""
        with self._lock:
            self._closed = True
            for client in self._clients:
                client.end()

    def _begin(self) -> None:
        self._epoch = secrets.token_hex(4)
        self._oldest = self._sequence
        self._history.clear()
        self._answer.clear()

    def _take(self, added: list[str], removed: list[str]) -> None:
        self._answer.update(added)
        self._answer.subtract(removed)
        for text in removed:
            if not self._answer.get(text, 1):
                del self._answer[text]

    def _remember(self, event: bytes) -> None:
        self._history.append((self._sequence, event))
        while len(self._history) > self._limits[0]:
            self._oldest, _ = self._history.popleft()

    def _id(self) -> str:
        return f"{self._sequence}-{self._epoch}"

    def _position(self, last: str | None) -> int | None:
        """Give the sequence of an id that the history reaches back to."""
        match = _ID.fullmatch(last or "")
        if match is None or match[2] != self._epoch:
            return None
        return int(match[1]) if self._oldest <= int(match[1]) <= self._sequence else None


class Client:
    """The queue of one client. When more than `limit` events wait in it, the client is dropped."""

    def __init__(self, limit: int, drop: Callable[[], object]) -> None:
        self._limit = limit
        self._drop = drop
        self._changed = threading.Condition()
        self._waiting: deque[bytes] = deque()
        self._ended = False

    def put(self, event: bytes) -> None:
        """Queue an event, or drop the client; it resumes by the last event that it has got."""
        with self._changed:
            if self._ended:
                return
            is_full = len(self._waiting) >= self._limit
            if is_full:
                self._ended = True
                self._waiting.clear()
            else:
                self._waiting.append(event)
            self._changed.notify()
        if is_full:
            self._drop()

    def take(self, timeout: float) -> bytes | None:
        """Take the next event, or `KEEP_ALIVE` where none comes within `timeout` seconds; None at the end."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._waiting or self._ended, timeout):
                return KEEP_ALIVE
            return self._waiting.popleft() if self._waiting else None

    def end(self) -> None:
        """Queue nothing more."""
        with self._changed:
            self._ended = True
            self._changed.notify()


def _event(name: str, kind: str, line: str) -> bytes:
    return f"id: {name}\nevent: {kind}\ndata: {line}\n\n".encode()
