"""The subscriptions of a server: one for each query, however many clients follow it."""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from rdflive.errors import RdfliveError
from rdflive.live import subscribe
from rdflive.model import Delta
from rdflive.server.access import Client
from rdflive.server.failures import Problem
from rdflive.server.follower import Follower
from rdflive.server.pace import Pace
from rdflive.sinks.events import EventLog
from rdflive.subscription import Subscription

if TYPE_CHECKING:
    from rdflive.server.service import Service

__all__ = ["Topic", "Topics"]

_LINGER: Final = 60.0
"""Seconds that a query without clients is kept up to date for those that come back."""


class Topic:
    """A query that is kept up to date, and the log that its clients follow."""

    def __init__(self, name: str, query: str, entailment: str | None, pace: Pace, *, rows: int) -> None:
        self.id = name
        self.query = query
        self.entailment = entailment
        self.log = EventLog(about={"subscription": self.id})
        self.deltas = 0
        self.followers: set[Follower] = set()
        self._loop = asyncio.get_running_loop()
        self._pace = pace
        self._rows = rows
        self._subscription: Subscription | None = None
        self._is_asked = False
        self.log.listen(self._changed)

    def open(self, dataset: Any) -> None:
        """Subscribe, which may take long."""
        self._subscription = subscribe(
            dataset, self.query, self._take, entailment=self.entailment, on_error=self._failed
        )

    def try_on(self, dataset: Any) -> None:
        """Subscribe only to see whether it can be done within the limits; raises `Problem` if not."""
        with subscribe(dataset, self.query, entailment=self.entailment, initial=False) as subscription:
            rows = len(subscription.answers())
        if rows > self._rows:
            raise Problem(403, f"the answer has more than {self._rows:,} solutions, the limit of this server")

    def close(self) -> None:
        """End the subscription, and with it the streams of all clients; they may come back."""
        if self._subscription is not None:
            self._subscription.close()
        self.log.end()

    def describe(self) -> dict[str, Any]:
        """Tell what clients may want to know of it; waits for the store's lock."""
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
        if not self._is_asked:
            self._is_asked = True
            self._loop.call_soon_threadsafe(self._pace.ask, self._wake)

    def _wake(self) -> None:
        self._is_asked = False
        for follower in self.followers:
            follower.wake()


class Topics:
    """The topics that are open, and how many of them each client follows. Used in the event loop's thread."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._pace = Pace(asyncio.get_running_loop())
        self._topics: dict[str, Topic] = {}
        self._opening: dict[str, asyncio.Task[Topic]] = {}
        self._lingering: dict[Topic, asyncio.TimerHandle] = {}
        self._counts: Counter[str] = Counter()

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
        limit = self._service.limits.subscriptions
        if self._counts[client.name] >= limit:
            raise Problem(
                429,
                f"{client.name} has {limit:,} subscriptions open, as many as a client may",
                headers={"Retry-After": "60"},
            )
        self._counts[client.name] += 1
        try:
            topic = await self._open(query, entailment)
            self._keep(topic)
            follower = Follower(topic.log, last)
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
        """End all streams, and the subscriptions behind them."""
        for handle in self._lingering.values():
            handle.cancel()
        topics, self._topics = self._topics, {}
        for topic in topics.values():
            await self._service.work(topic.close)

    async def _open(self, query: str, entailment: str | None) -> Topic:
        """Give the topic of a query; whoever asks for it while it is being opened waits for the same."""
        name = name_of(query, entailment)
        topic = self._topics.get(name)
        if topic is not None and not topic.log.has_ended:
            return topic
        task = self._opening.get(name)
        if task is None:
            task = asyncio.create_task(self._make(name, query, entailment))
            self._opening[name] = task
            task.add_done_callback(lambda _: self._opening.pop(name, None))
        return await asyncio.shield(task)

    async def _make(self, name: str, query: str, entailment: str | None) -> Topic:
        service = self._service
        topic = Topic(name, query, entailment, self._pace, rows=service.limits.rows)
        await service.rehearse(partial(topic.try_on, service.dataset))
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
        if topic.log.has_ended:
            self._drop(topic)
            return
        self._lingering[topic] = asyncio.get_running_loop().call_later(_LINGER, self._drop, topic)
        if len(self._lingering) > self._service.limits.subscriptions:
            self._drop(next(iter(self._lingering)))

    def _drop(self, topic: Topic) -> None:
        self._keep(topic)
        del self._topics[topic.id]
        self._service.start(topic.close)


def name_of(query: str, entailment: str | None) -> str:
    """Give the id of the topic of a query, the same in every run."""
    return hashlib.sha256(f"{entailment or ''}\0{query}".encode()).hexdigest()[:16]
