"""A subscription to a query of a server, and the ways to follow its answer."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import fields, replace
from functools import partial
from types import TracebackType
from typing import Any, Literal, TypeAlias
from urllib.parse import quote

from rdflib import Graph

from rdflive.client.address import Address
from rdflive.client.answer import Answer
from rdflive.client.failures import MalformedEvent, ServerError
from rdflive.client.following import Following
from rdflive.client.messages import Message
from rdflive.client.order import Ordering, ordering_of
from rdflive.client.question import Question
from rdflive.client.requests import document, open_stream
from rdflive.client.served_explanation import ServedExplanation
from rdflive.delivery.calling import Calling
from rdflive.delivery.constructed import ConstructedGraph
from rdflive.delivery.mailbox import AsyncDeltas, Deltas, Mailbox
from rdflive.delivery.stats import Stats
from rdflive.errors import ClosedError
from rdflive.http import Pace
from rdflive.model import Delta

__all__ = ["OnError", "RemoteSubscription"]

OnError: TypeAlias = "Literal['log', 'ignore'] | Callable[[RemoteSubscription, Exception], object]"


class RemoteSubscription:
    """A query of a server, kept up to date here. Close it, or use it as a context manager.

    Made by `Server.subscribe`. Follow it as a `Subscription`: by callback, by iterating `deltas()`, by
    `async for delta in subscription`, or ask for its `answers()`. A daemon thread of its own reads what the
    server sends, and connects again whenever the connection is lost.
    """

    def __init__(
        self,
        address: Address,
        question: Question,
        *,
        callback: Callable[[Delta], object] | None,
        initial: bool,
        name: str | None,
        on_error: OnError,
        timeout: float,
        pace: Pace,
    ) -> None:
        self.name = name
        self.last_error: Exception | None = None
        """What the callback raised last, or what ended the subscription."""
        self._address = address
        self._question = question
        self._timeout = timeout
        self._callback = callback
        self._initial = initial
        self._calling = Calling(self, on_error)
        self._lock = threading.RLock()
        self._is_closed = False
        self._delivered = 0
        self._mailboxes: dict[Mailbox, int] = {}
        self._untaken: Mailbox | None = None
        self._made: ConstructedGraph | None = None
        self._sort: Ordering | None = None
        self._following = Following(
            address.url("/subscribe"),
            lambda http, last: open_stream(http, address, question, last, timeout),
            pace,
        )
        try:
            self._begin(self._following.start(timeout))
        except BaseException:
            self._following.abandon()
            raise

    @property
    def query(self) -> str:
        """The text of the query."""
        return self._question.text

    @property
    def closed(self) -> bool:
        """True after `close`, and when the server has ended the subscription: see `last_error`."""
        return self._is_closed

    @property
    def connected(self) -> bool:
        """False while the connection is lost; `answers()` is then the last that is known.

        It may take 45 seconds until a server that does not answer any more counts as lost.
        """
        return self._following.connected

    def answers(self) -> list[Any]:
        """List the answer as far as it is known here, each solution as often as it occurs.

        ASK gives one empty solution if true, CONSTRUCT gives triples. It is in the order of ORDER BY where
        the variables that it sorts by are shown, and all prefixes are in the query or in `initNs`.
        """
        with self._lock:
            self._check_open()
            listed = self._answer.listed()
        if self._sort is None:
            self._sort = ordering_of(self._question.prologue + self._question.text)
        return self._answer.shown(self._sort(listed))

    @property
    def graph(self) -> Graph:
        """The triples of a CONSTRUCT query as a live rdflib graph, which can be subscribed to itself.

        It changes before the callback is called. Do not write to it.
        """
        if self._answer.form != "CONSTRUCT":
            raise AttributeError("only the subscription of a CONSTRUCT query has a graph")
        with self._lock:
            self._check_open()
            if self._made is None:
                self._made = ConstructedGraph(self._answer.whole())
            return self._made.graph

    def deltas(self, timeout: float | None = None) -> Deltas:
        """Iterate the deltas from now on, blocking; ends when the subscription closes.

        Without a callback the first iterator starts where the subscription did; any other starts with
        the current answers (unless `initial=False`). What its consumer has not taken yet merges into
        one delta. With `timeout` (seconds) a wait that is too long raises `TimeoutError`, and the
        iterator goes on.
        """
        mailbox = self._open_mailbox()
        return Deltas(mailbox, timeout, partial(self._mailboxes.pop, mailbox, None))

    def __aiter__(self) -> AsyncDeltas:
        mailbox = self._open_mailbox()
        return AsyncDeltas(mailbox, partial(self._mailboxes.pop, mailbox, None))

    def explain(self) -> ServedExplanation:
        """Ask the server how it maintains the query. Raises `ServerError`."""
        self._check_open()
        members = document(self._address, "/explain", self._question, self._timeout)
        try:
            return ServedExplanation.of(members)
        except (KeyError, TypeError) as error:
            raise ServerError(
                f"{self._address.url('/explain')}: no explanation in {members!r:.200}"
            ) from error

    @property
    def stats(self) -> Stats:
        """Ask the server what it has seen and keeps for the query, for all its subscribers together.

        `deltas` and `callback_seconds` are this subscription's own. Raises `ServerError`.
        """
        with self._lock:
            self._check_open()
            path = f"/subscriptions/{quote(self._id, safe='')}"
        counted: Any = document(self._address, path, None, self._timeout).get("stats")
        try:
            served = Stats(**{field.name: counted[field.name] for field in fields(Stats)})
        except (KeyError, TypeError) as error:
            raise ServerError(f"{self._address.url(path)}: no statistics in {counted!r:.200}") from error
        return replace(
            served,
            algorithms=tuple(served.algorithms),
            deltas=self._delivered,
            callback_seconds=self._calling.seconds,
        )

    def resync(self) -> None:
        """Have the server send the whole answer again, on a new connection.

        What differs from the answer that is known here comes as a delta, as soon as it is there.
        """
        self._check_open()
        self._following.begin_anew()

    def doubt(self) -> None:
        """Do nothing: callbacks run in a thread of their own, which no Ctrl-C interrupts."""

    def close(self) -> None:
        """Stop, and let its iterators end. May be repeated, and called from a callback.

        A delta that comes at the same time may still be delivered by the thread that reads it.
        """
        with self._lock:
            self._is_closed = True
        self._following.stop()
        for mailbox in tuple(self._mailboxes):
            mailbox.close()

    def __enter__(self) -> RemoteSubscription:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self.closed else "open" if self.connected else "away"
        return f"<RemoteSubscription {self.name or self.query!r} {state}>"

    def _begin(self, members: dict[str, Any]) -> None:
        try:
            self._answer = Answer(members)
        except MalformedEvent as error:
            raise ServerError(
                f"{self._address.url('/subscribe')} sends what is no answer: {error}"
            ) from error
        self._id = str(members.get("subscription", ""))
        first = self._answer.whole() if self._initial else None
        if self._callback is None:
            self._untaken = Mailbox()
            self._mailboxes[self._untaken] = self._answer.sequence
            if first is not None:
                self._delivered += 1
                self._untaken.put(first)
        threading.Thread(
            target=self._follow, args=(first,), name=f"rdflive-{self.name or 'client'}", daemon=True
        ).start()

    def _follow(self, first: Delta | None) -> None:
        """Deliver until closed, or until the server has ended it; what the thread does."""
        try:
            if first is not None and self._callback is not None:
                self._delivered += 1
                self._calling.call(self._callback, first)
            end = self._following.run(self._take)
        except Exception as error:  # noqa: BLE001 - it must not look open when nobody follows any more
            end = error
        if end is not None:
            self.close()
            self._calling.failed(end, "subscription %r has ended")

    def _take(self, message: Message) -> None:
        with self._lock:
            if self._is_closed:
                return
            if message.kind == "initial":
                delta = self._answer.replace(message.members)
                self._id = str(message.members.get("subscription", ""))
            else:
                delta = self._answer.update(message.members)
            made = self._made
        if delta is None:
            return
        self._delivered += 1
        if made is not None:
            made.take(delta)
        for mailbox, since in tuple(self._mailboxes.items()):
            if delta.sequence > since:
                mailbox.put(delta)
        if self._callback is not None and not self._is_closed:
            self._calling.call(self._callback, delta)

    def _open_mailbox(self) -> Mailbox:
        with self._lock:
            mailbox, self._untaken = self._untaken, None
            if mailbox is not None:
                return mailbox
            self._check_open()
            mailbox = Mailbox()
            if self._initial:
                mailbox.put(self._answer.whole())
            self._mailboxes[mailbox] = self._answer.sequence
        return mailbox

    def _check_open(self) -> None:
        if self._is_closed:
            raise ClosedError(f"subscription {self.name or self.query!r} is closed; subscribe again")
