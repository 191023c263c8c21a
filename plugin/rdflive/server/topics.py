"""The subscriptions of a server: one per query, however many clients follow it."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, replace
from functools import partial
from math import inf
from typing import Any, Final

import rdflib

from rdflive.api.live import subscribe
from rdflive.delivery.subscription import Subscription
from rdflive.errors import ClosedError, RdfliveError
from rdflive.model import Delta, rows_unread
from rdflive.server.access import Client
from rdflive.server.failures import Problem, server_ends
from rdflive.server.first_query import opens_quickly
from rdflive.server.isolation.children import Children
from rdflive.server.isolation.work import OpenSubscription
from rdflive.server.live_query import LiveQuery
from rdflive.server.settings import Limits
from rdflive.server.threads import Threads
from rdflive.sinks.events.follower import DeliveryPace, Follower, Followers
from rdflive.sinks.events.log import EventLog
from rdflive.syntax.prefixes import own_prefixes

__all__ = ["Topic", "Topics"]

_FAREWELL: Final = 1.0
"""Seconds that clients have at the end to take what is being sent."""
SHACL: Final = "SHACL validation"
"""What stands for the query of the results of shapes."""
_LINGER: Final = 60.0
"""Seconds that a query without clients is kept up to date, for clients that come back."""


class Topic:
    """A query that is kept up to date, and the log that its clients follow."""

    def __init__(
        self,
        name: str,
        asked: LiveQuery,
        pace: DeliveryPace,
        *,
        rows: int,
        prefixes: Mapping[str, str],
        on_end: Callable[[Topic], None],
    ) -> None:
        self.id = name
        self.asked = asked
        about: dict[str, Any] = {"subscription": self.id}
        if prefixes:
            about["prefixes"] = prefixes
        self.log = EventLog(about=about)
        self.deltas = 0
        self.followers = Followers(self.log, pace, lambda: on_end(self))
        self._rows = rows
        self.subscription: Subscription | None = None

    def open(self, begin: Callable[..., Subscription]) -> None:
        """Subscribe, which may take long."""
        with rows_unread():
            self.subscription = begin(self._take, on_error=self._failed)

    def close(self) -> None:
        """End the subscription, and with it the streams of all clients, who may come back."""
        if self.subscription is not None:
            self.subscription.close()
        self.log.end()

    def describe(self) -> dict[str, Any]:
        """Tell what clients may ask about the topic; waits for the store's lock."""
        stats = {}
        with suppress(ClosedError):  # its followers have still to take the end
            stats = {} if self.subscription is None else asdict(self.subscription.stats)
        return {
            "id": self.id,
            **asdict(self.asked),
            "form": self.log.form,
            "vars": self.log.names,
            "clients": len(self.followers),
            "rows": len(self.log),
            "sequence": self.log.sequence,
            "deltas": self.deltas,
            "stats": stats,
        }

    def _take(self, delta: Delta) -> None:
        # published first: whoever follows is told the change that was too much, and then why it ends
        self.log.publish(delta)
        self.deltas += 1
        if len(self.log) > self._rows:
            raise RdfliveError(f"its answer has more than {self._rows:,} solutions, the limit of this server")

    def _failed(self, subscription: Subscription, error: Exception) -> None:
        subscription.close()
        self.log.end({"detail": f"the subscription has ended: {error}"})


class Topics:
    """The topics that are open, and how many of them each client follows. Used in the event loop's thread."""

    def __init__(self, dataset: rdflib.Dataset, limits: Limits, children: Children, threads: Threads) -> None:
        self._dataset = dataset
        self._limits = limits
        self._children = children
        self._threads = threads
        self._pace = DeliveryPace(asyncio.get_running_loop())
        self._topics: dict[str, Topic] = {}
        self._opening: dict[str, asyncio.Task[Topic]] = {}
        self._lingering: dict[Topic, asyncio.TimerHandle] = {}
        self._counts: Counter[str] = Counter()
        self._is_closed = False
        self._validation: Topic | None = None

    def __iter__(self) -> Iterator[Topic]:
        own = [] if self._validation is None else [self._validation]
        return iter((*own, *self._topics.values()))

    def __len__(self) -> int:
        return len(self._topics) + (self._validation is not None)

    @property
    def validation(self) -> Topic:
        """The results of the shapes; raises `Problem` 404 where there are none."""
        if self._validation is None:
            raise Problem(404, "this server has no shapes: it is started with --shapes FILE")
        return self._validation

    async def validate(self, begin: Callable[..., Subscription]) -> None:
        """Keep the results of shapes up to date, whoever follows them. Raises `ShapesError`."""
        topic = await self._new("validation", LiveQuery(SHACL), lambda _: None)
        await self._threads.work(partial(topic.open, begin))
        self._validation = topic

    def find(self, name: str) -> Topic:
        """Give a topic by its id; raises `Problem` 404."""
        topic = next((topic for topic in self if topic.id == name), None)
        if topic is None:
            raise Problem(404, f"no subscription {name!r} is open; /subscriptions lists those that are")
        return topic

    @asynccontextmanager
    async def follow(
        self, asked: LiveQuery | None, client: Client, last: str | None = None
    ) -> AsyncIterator[Follower]:
        """Follow a query from the event `last` on; the first client opens it. None follows the validation.

        Raises `Problem` for a query that cannot be opened, and 429 if a client follows too many.
        """
        if self._is_closed:
            raise server_ends()
        limit = self._limits.subscriptions
        if self._counts[client.name] >= limit:
            raise Problem(
                429,
                f"{client.name} has {limit:,} subscriptions open, as many as a client may",
                headers={"Retry-After": "60"},
            )
        # before the query is opened, which takes a while: else a client could open any number at once
        self._counts[client.name] += 1
        try:
            topic = self.validation if asked is None else await self._open(asked, client)
            self._keep(topic)
            try:
                with topic.followers.follow(last) as follower:
                    yield follower
            finally:
                self._let_go(topic)
        finally:
            self._counts[client.name] -= 1
            if not self._counts[client.name]:
                del self._counts[client.name]

    async def close(self) -> None:
        """End all streams, and the subscriptions behind them; nobody can follow anything from now on."""
        self._is_closed = True
        for task in self._opening.values():
            task.cancel()
        for handle in self._lingering.values():
            handle.cancel()
        topics = tuple(self)
        self._topics, self._validation = {}, None
        for topic in topics:
            # all are dismissed before the first is closed, so that their seconds run together
            topic.followers.dismiss(_FAREWELL)
        for topic in topics:
            await self._threads.work(topic.close)

    async def _open(self, asked: LiveQuery, client: Client) -> Topic:
        """Give the topic of a query. While it is being opened, others who ask for it wait for the
        same topic.
        """
        name = name_of(asked)
        topic = self._topics.get(name)
        if topic is not None:
            if not topic.log.has_ended:
                return topic
            self._forget(topic)
        task = self._opening.get(name)
        if task is None:
            task = asyncio.create_task(self._make(name, asked, client))
            self._opening[name] = task
            task.add_done_callback(lambda _: self._opening.pop(name, None))
        try:
            # others may wait for the same task, so one that goes must not cancel it
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.cancelled():  # by `close`, not whoever asked
                raise server_ends() from None
            raise

    async def _make(self, name: str, asked: LiveQuery, client: Client) -> Topic:
        dataset, work = self._dataset, self._threads.work
        rows, budget = self._limits.rows, self._limits.budget
        # what is entailed may be far more than what the graph holds
        if asked.entailment or not await work(partial(opens_quickly, dataset, asked.query, rows)):
            timeless = replace(budget, opening_seconds=inf)  # the process has its own end
            opening = OpenSubscription(asked.query, asked.entailment, asked.bindings, rows, timeless)
            await self._children.rehearse(client.name, opening, "opening of the subscription")
        topic = await self._new(name, asked, self._forget)
        begin = partial(
            subscribe,
            dataset,
            asked.query,
            initBindings=asked.bindings,
            entailment=asked.entailment,
            budget=budget,
            key=asked.key or None,
        )
        await work(partial(topic.open, begin))
        self._topics[name] = topic
        self._let_go(topic)  # for the case that whoever asked has gone
        return topic

    async def _new(self, name: str, asked: LiveQuery, on_end: Callable[[Topic], None]) -> Topic:
        prefixes = await self._threads.work(partial(own_prefixes, self._dataset))
        return Topic(name, asked, self._pace, rows=self._limits.rows, prefixes=prefixes, on_end=on_end)

    def _keep(self, topic: Topic) -> None:
        handle = self._lingering.pop(topic, None)
        if handle is not None:
            handle.cancel()

    def _let_go(self, topic: Topic) -> None:
        """Close a topic that nobody follows, after some time or if there are too many."""
        # one that has ended is no longer among the topics, and was closed by its end
        if topic.followers or self._topics.get(topic.id) is not topic:
            return
        self._lingering[topic] = asyncio.get_running_loop().call_later(_LINGER, self._drop, topic)
        # else a client that opens one query after the other has any number of them maintained
        if len(self._lingering) > self._limits.subscriptions:
            self._drop(next(iter(self._lingering)))

    def _drop(self, topic: Topic) -> None:
        self._forget(topic)
        self._threads.start(topic.close)

    def _forget(self, topic: Topic) -> None:
        """Let the next client of a query open it anew; clients that follow it now still take what
        there is.
        """
        self._keep(topic)
        if self._topics.get(topic.id) is topic:
            del self._topics[topic.id]


def name_of(asked: LiveQuery) -> str:
    """Give the id of the topic of a query, the same in every run."""
    parts = [asked.query, asked.entailment, asked.key, asked.node]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]
