"""A subscription to a query of a server."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, TypeAlias
from urllib.parse import quote

from rdflive.client.answer import Answer
from rdflive.client.failures import MalformedEvent, ServerError
from rdflive.client.following import Following
from rdflive.client.order import Ordering, ordering_of
from rdflive.client.question import ServedQuestion
from rdflive.client.requests import Message, document, open_stream
from rdflive.delivery.audit import Audit
from rdflive.delivery.base import BaseSubscription, Stats
from rdflive.delivery.calling import Callback, call, failed, interrupted
from rdflive.delivery.constructed import ConstructedGraph
from rdflive.delivery.mailbox import Mailbox
from rdflive.delivery.question import check_key
from rdflive.delivery.relay import Receiver
from rdflive.http import Address, RetryPace
from rdflive.model import Answers, Delta, Glimpse, Header, Solution, warn_of_hidden_names
from rdflive.syntax.prefixes import Prefixes, usual_prefixes

__all__ = ["OnError", "RemoteSubscription", "ServedExplanation"]


@dataclass(frozen=True, slots=True)
class ServedExplanation:
    """How a server maintains a query. `str()` and `print` give text; a notebook shows the picture.

    >>> print(ServedExplanation.of({"text": "ASK", "svg": "<svg/>", "algorithms": ["ground"], "notes": []}))
    ASK
    """

    text: str
    picture: str
    algorithms: tuple[str, ...]
    """The algorithm of each basic graph pattern, in the order of the text."""
    notes: tuple[str, ...] = ()
    """Warnings of names that are in the query but not in the server's data; the text has them too."""

    @classmethod
    def of(cls, members: Mapping[str, Any]) -> ServedExplanation:
        """Return the explanation of a response of `/explain`; raise KeyError or TypeError for others."""
        algorithms, notes = (tuple(map(str, members[name])) for name in ("algorithms", "notes"))
        return cls(str(members["text"]), str(members["svg"]), algorithms, notes)

    def __str__(self) -> str:
        return self.text

    def svg(self) -> str:
        """Return the plan as an SVG image."""
        return self.picture

    def _repr_svg_(self) -> str:
        return self.picture


OnError: TypeAlias = "Literal['log', 'ignore'] | Callable[[RemoteSubscription, Exception], object]"


class RemoteSubscription(BaseSubscription):
    """A query of a server, kept up to date here. Close it, or use it as a context manager.

    Made by `Server.subscribe`. Use it as a `Subscription`: with a callback, by iterating `deltas()`, by
    `async for delta in subscription`, or with `answers()`. Its own daemon thread reads the messages of the
    server, and reconnects when the connection is lost.
    """

    def __init__(
        self,
        address: Address,
        question: ServedQuestion,
        receiver: Receiver,
        *,
        timeout: float,
        pace: RetryPace,
        key: tuple[str, ...] = (),
    ) -> None:
        super().__init__(receiver)
        self._address = address
        self._question = question
        self._timeout = timeout
        self._key = key
        self._lock = threading.RLock()
        self._is_closed = False
        self._full_is_due = False
        """True if the following thread owes its callback the full answer."""
        self._sort: Ordering | None = None
        self._following = Following(
            address.url("/subscribe"),
            lambda http, last: open_stream(http, address, question, last, timeout),
            pace,
        )
        try:
            self._begin(self._following.start(timeout))
        # Ctrl-C too: there is no thread yet to close the connection
        except BaseException:
            self._following.abandon()
            raise

    @property
    def query(self) -> str:
        """The text of the query."""
        return self._question.text

    @property
    def closed(self) -> bool:
        """True after `close`, and after the server has ended the subscription: see `last_error`."""
        return self._is_closed

    @property
    def connected(self) -> bool:
        """False while the connection is lost; `answers()` then returns the last known answer.

        A server counts as lost after up to 45 seconds of silence.
        """
        return self._following.connected

    def answers(self) -> Answers[Solution]:
        """Return the last known answer, with duplicates.

        ASK returns one empty solution if true, CONSTRUCT returns triples. The order is that of ORDER BY if
        its variables are projected and all prefixes are in the query or in `initNs`.
        """
        with self._reading():
            listed = self._answer.listed()
        # outside the lock, which the following thread takes for each message
        if self._sort is None:
            self._sort = ordering_of(self._question.prologue + self._question.text)
        return self._answer.shown(self._sort(listed))

    def _glimpse(self) -> Glimpse:
        with self._reading():
            return self._answer.glimpse()

    def explain(self) -> ServedExplanation:
        """Return the server's explanation of its plan for the query; raise `ServerError`."""
        self._check_open()
        members = document(self._address, "/explain", self._question, self._timeout)
        try:
            return ServedExplanation.of(members)
        except (KeyError, TypeError) as error:
            raise ServerError(
                f"{self._address.url('/explain')}: no explanation in {members!r:.200}"
            ) from error

    def audit(self) -> Audit:
        """Compare the answer that the server keeps with an evaluation by its store's own engine, now.

        After a wrong answer the subscription begins again in the server. Raises `ServerError`, also for a
        query that cannot be audited.
        """
        path = f"{self._path()}/audit"
        members = document(self._address, path, None, self._timeout, method="POST")
        try:
            return Audit.of(members)
        except (KeyError, TypeError) as error:
            raise ServerError(f"{self._address.url(path)}: no audit in {members!r:.200}") from error

    def _path(self) -> str:
        with self._reading():
            return f"/subscriptions/{quote(self._id, safe='')}"

    @property
    def stats(self) -> Stats:
        """The server's statistics of the query, for all its subscribers together.

        `deltas` and `callback_seconds` are this subscription's own. Raises `ServerError`.
        """
        path = self._path()
        counted: Any = document(self._address, path, None, self._timeout).get("stats")
        try:
            # only names known here: later servers may send more, and earlier ones fewer
            names = [field.name for field in fields(Stats) if field.name in counted]
            served = Stats(**{name: counted[name] for name in names})
        except (KeyError, TypeError) as error:
            raise ServerError(f"{self._address.url(path)}: no statistics in {counted!r:.200}") from error
        return replace(
            served,
            algorithms=tuple(served.algorithms),
            deltas=self._delivered,
            callback_seconds=self._callback_seconds,
        )

    def resync(self) -> None:
        """Make the server send the full answer again, on a new connection.

        A delta then reports the differences from the answer known here.
        """
        self._check_open()
        self._following.request_full()

    def doubt(self) -> None:
        """Deliver the full answer next, after a callback was interrupted."""
        if self._elsewhere is None:
            self._full_is_due = True
        else:
            with self._lock:
                whole = self._answer.whole()
                self._doubted = whole.sequence
                self._elsewhere.mailbox.put(whole)

    def close(self) -> None:
        """Stop, and end all iterators. May be repeated, and called from a callback.

        A delta that arrives at the same time may still be delivered.
        """
        with self._lock:
            self._is_closed = True
        self._following.stop()
        self._end_delivery()

    def _begin(self, members: dict[str, Any]) -> None:
        served = members.get("prefixes")
        given = usual_prefixes() | (served if isinstance(served, dict) else {})
        try:
            self._answer = Answer(members, Prefixes(self._question.prologue + self._question.text, given))
        except MalformedEvent as error:
            raise ServerError(
                f"{self._address.url('/subscribe')} sends an invalid answer: {error}"
            ) from error
        # the server sends added and removed solutions, which are paired here
        check_key(self._key, self._answer.header.form, self._answer.names)
        self._answer.header = replace(self._answer.header, key=self._key)
        self._id = str(members.get("subscription", ""))
        warn_of_hidden_names(self.query, self._answer.names)
        # before the thread starts, which changes the answer
        first = self._answer.whole() if self._receiver.initial else None
        if self._receiver.callback is None:
            self._queue = Mailbox()
            self._followers = ((self._queue, self._answer.sequence),)
            if first is not None:
                self._delivered += 1
                self._queue.put(first)
        threading.Thread(
            target=self._follow, args=(first,), name=f"rdflive-{self.name or 'client'}", daemon=True
        ).start()

    def _follow(self, first: Delta | None) -> None:
        """Deliver until closed, or until the server ends the subscription; run in the thread."""
        try:
            callback = self._receiver.callback
            if first is not None and callback is not None:
                self._delivered += 1
                self._hand(callback, first)
            end = self._following.run(self._take)
        except Exception as error:  # noqa: BLE001 - it must not look open without its thread
            end = error
        if end is not None:
            self.close()
            failed(self, end, "subscription %r has ended")

    def _take(self, message: Message) -> None:
        with self._lock:
            if self._is_closed:
                return
            if message.kind == "initial":
                delta = self._answer.replace(message.members)
                self._id = str(message.members.get("subscription", ""))
            else:
                delta = self._answer.update(message.members)
            # under the lock: a graph made later already contains this delta
            made = self._made
        if delta is None:
            return
        self._delivered += 1
        # the graph first: it must contain a delta when iterators and callbacks receive the delta
        if made is not None:
            made.take(delta)
        # a newer iterator began with an answer that already contains this delta
        for mailbox, since in self._followers:
            if delta.sequence > since:
                mailbox.put(delta)
        callback = self._receiver.callback
        if callback is not None and not self._is_closed:
            self._hand(callback, delta)

    def _hand(self, callback: Callback, delta: Delta) -> None:
        if self._elsewhere is None:
            if self._full_is_due:
                with self._lock:
                    self._full_is_due, delta = False, self._answer.whole()
            try:
                call(self, callback, delta)
            except BaseException as error:  # noqa: BLE001 - the thread must go on
                self.doubt()
                interrupted(self, error)
        else:
            with self._lock:
                # deltas up to `_doubted` are in the full answer of `doubt`
                if delta.sequence > self._doubted:
                    self._elsewhere.mailbox.put(delta)
            self._elsewhere.begin()

    @property
    def _status(self) -> str:
        return super()._status if self.closed or self.connected else "away"

    @property
    def _shown(self) -> Header:
        return self._answer.header

    @contextmanager
    def _reading(self) -> Iterator[None]:
        with self._lock:
            self._check_open()
            yield

    def _construct(self) -> ConstructedGraph:
        return ConstructedGraph(self._whole())

    def _now(self) -> int:
        return self._answer.sequence

    def _whole(self) -> Delta:
        return self._answer.whole()

    def _check_open(self) -> None:
        if self._is_closed:
            raise self._closed_error()
