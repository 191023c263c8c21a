"""The subscriptions of a server: one for each query, however many clients follow it."""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any, Final

import rdflib

from rdflive.errors import ClosedError, RdfliveError
from rdflive.live import subscribe
from rdflive.model import Delta
from rdflive.query.budget import Budget
from rdflive.server.access import Client
from rdflive.server.failures import Problem
from rdflive.server.follower import Follower
from rdflive.server.frames import Frames
from rdflive.server.pace import Pace
from rdflive.server.small import is_small
from rdflive.sinks.events import EventLog
from rdflive.subscription import Subscription

if TYPE_CHECKING:
    from rdflive.server.service import Service

__all__ = ["Opening", "Topic", "Topics"]

_FAREWELL: Final = 1.0
"""Seconds at the end that clients have to take what they are being sent."""
_LINGER: Final = 60.0
"""Seconds that a query without clients is kept up to date for those that come back."""


@dataclass(frozen=True, slots=True)
class Opening:
    """A subscription that is opened only to see whether it can be done within the limits, in a child."""

    query: str
    entailment: str | None
    rows: int
    budget: Budget

    def __call__(self, dataset: rdflib.Dataset, frames: Frames) -> None:
        """Raise `Problem` if it cannot."""
        with subscribe(
            dataset, self.query, entailment=self.entailment, initial=False, budget=self.budget
        ) as subscription:
            rows = len(subscription.answers())
        if rows > self.rows:
            raise Problem(403, f"the answer has more than {self.rows:,} solutions, the limit of this server")
        frames.begin("")


class Topic:
    """A query that is kept up to date, and the log that its clients follow."""

    def __init__(
        self,
        name: str,
        query: str,
        entailment: str | None,
        pace: Pace,
        *,
        rows: int,
        budget: Budget,
        on_end: Callable[[Topic], None],
    ) -> None:
        self.id = name
        self.query = query
        self.entailment = entailment
        self.log = EventLog(about={"subscription": self.id})
        self.deltas = 0
        self.followers: set[Follower] = set()
        self._loop = asyncio.get_running_loop()
        self._pace = pace
        self._rows = rows
        self._budget = budget
        self._on_end = on_end
        self._subscription: Subscription | None = None
        self._is_asked = False
        self.log.listen(self._changed)

    def open(self, dataset: Any) -> None:
        """Subscribe, which may take long."""
        self._subscription = subscribe(
            dataset,
            self.query,
            self._take,
            entailment=self.entailment,
            on_error=self._failed,
            budget=self._budget,
        )

    def close(self) -> None:
        """End the subscription, and with it the streams of all clients; they may come back."""
        if self._subscription is not None:
            self._subscription.close()
        self.log.end()

    def describe(self) -> dict[str, Any]:
        """Tell what clients may want to know of it; waits for the store's lock."""
        stats = {}
        with suppress(ClosedError):  # its followers have still to take the end
            stats = {} if self._subscription is None else asdict(self._subscription.stats)
        return {
            "id": self.id,
            "query": self.query,
            "entailment": self.entailment,
            "form": self.log.form,
            "vars": self.log.names,
            "clients": len(self.followers),
            "rows": len(self.log),
            "sequence": self.log.sequence,
            "deltas": self.deltas,
            "stats": stats,
        }

    def _take(self, delta: Delta) -> None:
        self.log.publish(delta)
        self.deltas += 1
        if len(self.log) > self._rows:
            raise RdfliveError(f"its answer has more than {self._rows:,} solutions, the limit of this server")

    def _failed(self, subscription: Subscription, error: Exception) -> None:
        subscription.close()
        self.log.end({"detail": f"the subscription has ended: {error}"})

    def _changed(self) -> None:
        """Have the loop wake the followers; called in the thread that writes."""
        if self.log.has_ended:  # they have little time
            self._loop.call_soon_threadsafe(self._wake)
        elif not self._is_asked:
            self._is_asked = True
            self._loop.call_soon_threadsafe(self._pace.ask, self._wake)

    def _wake(self) -> None:
        self._is_asked = False
        for follower in self.followers:
            follower.wake()
        if self.log.has_ended:
            self._on_end(self)


class Topics:
    """The topics that are open, and how many of them each client follows. Used in the event loop's thread."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._pace = Pace(asyncio.get_running_loop())
        self._topics: dict[str, Topic] = {}
        self._opening: dict[str, asyncio.Task[Topic]] = {}
        self._lingering: dict[Topic, asyncio.TimerHandle] = {}
        self._counts: Counter[str] = Counter()
        self._is_closed = False

    def __iter__(self) -> Iterator[Topic]:
        return iter(tuple(self._topics.values()))

    def __len__(self) -> int:
        return len(self._topics)

    def find(self, name: str) -> Topic:
        """Give a topic by its id; raises `Problem` 404."""
        topic = self._topics.get(name)
        if topic is None:
            raise Problem(404, f"no subscription {name!r} is open; /subscriptions lists those that are")
        return topic

    @asynccontextmanager
    async def follow(
        self, query: str, entailment: str | None, client: Client, last: str | None = None
    ) -> AsyncIterator[Follower]:
        """Follow a query from the event `last` on; the first client opens it.

        Raises `Problem` for what cannot be opened, 429 for one client's too many.
        """
        if self._is_closed:
            raise ending()
        limit = self._service.limits.subscriptions
        if self._counts[client.name] >= limit:
            raise Problem(
                429,
                f"{client.name} has {limit:,} subscriptions open, as many as a client may",
                headers={"Retry-After": "60"},
            )
        self._counts[client.name] += 1
        try:
            topic = await self._open(query, entailment, client)
            self._keep(topic)
            follower = Follower(topic.log, self._pace.ask, last)
            topic.followers.add(follower)
            try:
                yield follower
            finally:
                topic.followers.discard(follower)
                follower.stop()
                self._let_go(topic)
        finally:
            self._counts[client.name] -= 1
            if not self._counts[client.name]:
                del self._counts[client.name]

    async def close(self) -> None:
        """End all streams, and the subscriptions behind them; nobody can follow anything from now on."""
        self._is_closed = True
        loop = asyncio.get_running_loop()
        for task in self._opening.values():
            task.cancel()
        for handle in self._lingering.values():
            handle.cancel()
        topics, self._topics = self._topics, {}
        for topic in topics.values():
            topic.log.end()
            for follower in topic.followers:
                loop.call_later(_FAREWELL, follower.cut)
        for topic in topics.values():
            await self._service.work(topic.close)

    async def _open(self, query: str, entailment: str | None, client: Client) -> Topic:
        """Give the topic of a query; whoever asks for it while it is being opened waits for the same."""
        name = name_of(query, entailment)
        topic = self._topics.get(name)
        if topic is not None:
            if not topic.log.has_ended:
                return topic
            self._forget(topic)
        task = self._opening.get(name)
        if task is None:
            task = asyncio.create_task(self._make(name, query, entailment, client))
            self._opening[name] = task
            task.add_done_callback(lambda _: self._opening.pop(name, None))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.cancelled():  # by `close`, not whoever asked
                raise ending() from None
            raise

    async def _make(self, name: str, query: str, entailment: str | None, client: Client) -> Topic:
        service = self._service
        rows, budget = service.limits.rows, service.limits.budget
        if entailment or not await service.work(partial(is_small, service.dataset, query, rows)):
            timeless = replace(budget, opening_seconds=inf)  # the process has its own end
            opening = Opening(query, entailment, rows, timeless)
            await service.children.rehearse(client.name, opening, "opening of the subscription")
        topic = Topic(name, query, entailment, self._pace, rows=rows, budget=budget, on_end=self._forget)
        await service.work(partial(topic.open, service.dataset))
        self._topics[name] = topic
        self._let_go(topic)  # for the case that whoever asked has gone
        return topic

    def _keep(self, topic: Topic) -> None:
        handle = self._lingering.pop(topic, None)
        if handle is not None:
            handle.cancel()

    def _let_go(self, topic: Topic) -> None:
        """Close a topic that nobody follows, after some time or when there are too many such."""
        if topic.followers or self._topics.get(topic.id) is not topic:
            return
        self._lingering[topic] = asyncio.get_running_loop().call_later(_LINGER, self._drop, topic)
        if len(self._lingering) > self._service.limits.subscriptions:
            self._drop(next(iter(self._lingering)))

    def _drop(self, topic: Topic) -> None:
        self._forget(topic)
        self._service.start(topic.close)

    def _forget(self, topic: Topic) -> None:
        """Let the next client of a query open it anew; those that follow it now still take what there is."""
        self._keep(topic)
        if self._topics.get(topic.id) is topic:
            del self._topics[topic.id]


def ending() -> Problem:
    """Say that the server ends."""
    return Problem(503, "the server ends", headers={"Retry-After": "5"})


def name_of(query: str, entailment: str | None) -> str:
    """Give the id of the topic of a query, the same in every run."""
    return hashlib.sha256(f"{entailment or ''}\0{query}".encode()).hexdigest()[:16]
