"""The subscriptions of a server: one per query, for all its clients."""

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
from rdflive.entail.rules import Program
from rdflive.errors import ClosedError, RdfliveError
from rdflive.model import Delta, rows_unread
from rdflive.query.shared_budget import SharedBudget
from rdflive.server.access import Client
from rdflive.server.change_log import CommitLog
from rdflive.server.failures import Problem, server_ends
from rdflive.server.first_query import opens_quickly
from rdflive.server.isolation.catching_up import CatchUp
from rdflive.server.isolation.children import Children
from rdflive.server.isolation.work import OpenSubscription
from rdflive.server.live_query import LiveQuery
from rdflive.server.opening_turns import OpeningTurns
from rdflive.server.settings import Limits
from rdflive.server.threads import Threads
from rdflive.sinks.events.follower import DeliveryPace, Follower, Followers
from rdflive.sinks.events.log import EventLog
from rdflive.store.history import History
from rdflive.syntax.prefixes import bound_prefixes, own_prefixes

__all__ = ["Topic", "Topics"]

_FAREWELL: Final = 1.0
"""Seconds for clients to read their last events at the end."""
SHACL: Final = "SHACL validation"
"""The text in place of the query for the results of shapes."""
_SOLUTION: Final = 4e-5
"""Seconds that `EventLog.publish` takes for a solution: 44 to 47 µs were measured on a busy machine."""
_PATIENCE: Final = 30.0
"""Seconds for this server to reach the commit that a client has seen on another one."""
_LINGER: Final = 60.0
"""Seconds that a subscription without clients stays open, for clients that return."""


class Topic:
    """A subscription to a query, and the log that its clients follow."""

    def __init__(
        self,
        name: str,
        live_query: LiveQuery,
        pace: DeliveryPace,
        *,
        rows: int,
        prefixes: Mapping[str, str],
        on_end: Callable[[Topic], None],
        history: History | None = None,
    ) -> None:
        """Make a topic; `history` gives the ids of its events, if the graph alone decides its answers."""
        self.id = name
        self.live_query = live_query
        about: dict[str, Any] = {"subscription": self.id}
        if prefixes:
            about["prefixes"] = prefixes
        self.log = EventLog(about=about, numbers=history)
        self.deltas = 0
        self.followers = Followers(self.log, pace, lambda: on_end(self))
        self.places: set[int] = set()
        """Older places of clients that have come back."""
        self.catching_up = asyncio.Lock()
        self._rows = rows
        self.subscription: Subscription | None = None

    def open(self, begin: Callable[..., Subscription], *, is_audited: bool = False) -> None:
        """Subscribe, with the deltas added up for audits; may take long."""
        with rows_unread():
            self.subscription = opened = begin(self._take, on_error=self._failed)
        if is_audited and not opened._unaudited:
            opened._follow_audits()

    def close(self) -> None:
        """End the subscription and the streams of all clients, which may reconnect."""
        if self.subscription is not None:
            self.subscription.close()
        self.log.end()

    def describe(self) -> dict[str, Any]:
        """Return the description of the topic for clients; waits for the store's lock."""
        stats = {}
        with suppress(ClosedError):  # its followers have not taken the end yet
            stats = {} if self.subscription is None else asdict(self.subscription.stats)
        return {
            "id": self.id,
            **asdict(self.live_query),
            "form": self.log.form,
            "vars": self.log.names,
            "clients": len(self.followers),
            "rows": len(self.log),
            "sequence": self.log.sequence,
            "deltas": self.deltas,
            "unaudited": "" if self.subscription is None else self.subscription._unaudited,
            "stats": stats,
        }

    def _take(self, delta: Delta) -> None:
        # published first: followers receive the change that exceeds the limit, and then the reason of the end
        self.log.publish(delta)
        self.deltas += 1
        if len(self.log) > self._rows:
            raise RdfliveError(f"its answer has more than {self._rows:,} solutions, the limit of this server")

    def _failed(self, subscription: Subscription, error: Exception) -> None:
        subscription.close()
        self.log.end({"detail": f"the subscription has ended: {error}"})


class Topics:
    """The open topics, and the number of each client's streams. Used in the event loop's thread."""

    def __init__(
        self,
        dataset: rdflib.Dataset,
        limits: Limits,
        children: Children,
        threads: Threads,
        rules: Program | None,
        changes: CommitLog,
        *,
        is_audited: bool,
    ) -> None:
        self._changes = changes
        self._is_audited = is_audited
        self._dataset = dataset
        self._rules = rules
        self._limits = limits
        self._children = children
        self._threads = threads
        self._pace = DeliveryPace(asyncio.get_running_loop())
        self._topics: dict[str, Topic] = {}
        self._opening: dict[str, asyncio.Task[Topic]] = {}
        self._lingering: dict[Topic, asyncio.TimerHandle] = {}
        self._counts: Counter[str] = Counter()
        self._is_closed = False
        self._shared = SharedBudget(limits.update_seconds, solution_seconds=_SOLUTION)
        self._turns = OpeningTurns()
        self._validation: Topic | None = None

    def __iter__(self) -> Iterator[Topic]:
        own = [] if self._validation is None else [self._validation]
        return iter((*own, *self._topics.values()))

    def __len__(self) -> int:
        return len(self._topics) + (self._validation is not None)

    @property
    def validation(self) -> Topic:
        """The topic of the validation; raises `Problem` 404 on a server without shapes."""
        if self._validation is None:
            raise Problem(404, "this server has no shapes: start it with --shapes FILE")
        return self._validation

    async def validate(self, begin: Callable[..., Subscription]) -> None:
        """Open the topic of the validation, also without clients; raise `ShapesError`."""
        topic = await self._new("validation", LiveQuery(SHACL), lambda _: None)
        await self._threads.work(partial(topic.open, begin))
        self._validation = topic

    def find(self, name: str) -> Topic:
        """Return a topic by its id; raise `Problem` 404."""
        topic = next((topic for topic in self if topic.id == name), None)
        if topic is None:
            raise Problem(404, f"no subscription {name!r} is open; /subscriptions lists the open ones")
        return topic

    @asynccontextmanager
    async def follow(
        self, live_query: LiveQuery | None, client: Client, last: str | None = None
    ) -> AsyncIterator[Follower]:
        """Follow a query after the event `last`; the first client opens it. None follows the validation.

        Raises `Problem` for a query that cannot be opened, and 429 for a client with too many streams.
        """
        if self._is_closed:
            raise server_ends()
        limit = self._limits.subscriptions
        if self._counts[client.name] >= limit:
            raise Problem(
                429,
                f"{client.name} has {limit:,} open subscriptions, the limit of a client",
                headers={"Retry-After": "60"},
            )
        # before the opening, which takes a while: else a client could open any number at once
        self._counts[client.name] += 1
        try:
            topic = self.validation if live_query is None else await self._open(live_query, client)
            self._keep(topic)
            try:
                reached = await self._reached(last)
                await self._catch_up(topic, last, client)
                with topic.followers.follow(last, reached=reached) as follower:
                    yield follower
            finally:
                self._let_go(topic)
        finally:
            self._counts[client.name] -= 1
            if not self._counts[client.name]:
                del self._counts[client.name]

    def end_work(self) -> None:
        """End subscriptions that open or compute, also in the middle of that."""
        self._shared.end("the server is ending")

    async def _reached(self, last: str | None) -> int:
        """Wait for the commit of an id, which another server may have reached; return the last commit."""
        history = self._changes.history
        place = history.place(last or "")
        if place is not None and place > history.number:
            await self._changes.reach(place, _PATIENCE)
        return history.number

    async def _catch_up(self, topic: Topic, last: str | None, client: Client) -> None:
        """Let a topic go back to the id of a client, if the log does; otherwise `resync` follows."""
        changes, log = self._changes, topic.log
        if changes.stored is None and not self._children.are_copies:
            return
        place = changes.history.place(last or "")
        if place is None or not log.shares_ids or place >= log.oldest:
            return
        # together: clients come back at many places after a restart
        topic.places.add(place)
        async with topic.catching_up:
            if place >= log.oldest:
                return
            places = {place, *topic.places}
            topic.places.clear()
            possible = [one for one in places if changes.oldest <= one < log.oldest]
            if not possible:
                return
            place = min(possible)
            given, until, epoch = topic.live_query, log.oldest, log.epoch
            work = CatchUp(
                given.query,
                given.entailed(self._rules),
                given.bindings,
                changes if changes.stored is None else changes.stored.folder,
                place,
                until,
                self._limits.rows,
                replace(self._limits.budget, opening_seconds=inf),
            )
            with suppress(Problem):
                found = await self._children.rehearse(client.name, work, "catch-up", writes=True)
                log.prepend(place, until, epoch, [(number, net) for number, net in json.loads(found)])

    async def close(self) -> None:
        """End all streams and subscriptions; `follow` then refuses new clients."""
        self._is_closed = True
        self.end_work()
        for task in self._opening.values():
            task.cancel()
        for handle in self._lingering.values():
            handle.cancel()
        topics = tuple(self)
        self._topics, self._validation = {}, None
        for topic in topics:
            # all are dismissed before the first is closed, so that they share the seconds
            topic.followers.dismiss(_FAREWELL)
        for topic in topics:
            await self._threads.work(topic.close)

    async def _open(self, live_query: LiveQuery, client: Client) -> Topic:
        """Return the topic of a query; concurrent requests wait for the same opening."""
        name = name_of(live_query)
        topic = self._topics.get(name)
        if topic is not None:
            if not topic.log.has_ended:
                return topic
            self._remove(topic)
        task = self._opening.get(name)
        if task is None:
            task = asyncio.create_task(self._make(name, live_query, client))
            self._opening[name] = task
            task.add_done_callback(lambda _: self._opening.pop(name, None))
        try:
            # other requests may wait for the same task, so a cancelled one must not cancel it
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.cancelled():  # by `close`, not by the client
                raise server_ends() from None
            raise

    async def _make(self, name: str, live_query: LiveQuery, client: Client) -> Topic:
        dataset, work = self._dataset, self._threads.work
        rows, budget, entailed = self._limits.rows, self._limits.budget, live_query.entailed(self._rules)
        # entailed triples may be far more than those of the graph
        if live_query.entailment or not await work(partial(opens_quickly, dataset, live_query.query, rows)):
            timeless = replace(budget, opening_seconds=inf)  # the process has its own time limit
            opening = OpenSubscription(live_query.query, entailed, live_query.bindings, rows, timeless)
            await self._children.rehearse(client.name, opening, "opening of the subscription")
        is_steady = await work(partial(self._is_steady, live_query))
        history = self._changes.history if is_steady else None
        topic = await self._new(name, live_query, self._remove, history)
        begin = partial(
            subscribe,
            dataset,
            live_query.query,
            initBindings=live_query.bindings,
            **entailed,
            budget=replace(budget, account=self._shared.account(client.name)),
            key=live_query.key or None,
        )
        async with self._turns.turn(client.name):
            await work(partial(topic.open, begin, is_audited=self._is_audited))
        self._topics[name] = topic
        self._let_go(topic)  # its client may have disconnected
        return topic

    def _is_steady(self, live_query: LiveQuery) -> bool:
        return live_query.depends_on_graph_alone(bound_prefixes(self._dataset))

    async def _new(
        self,
        name: str,
        live_query: LiveQuery,
        on_end: Callable[[Topic], None],
        history: History | None = None,
    ) -> Topic:
        prefixes = await self._threads.work(partial(own_prefixes, self._dataset))
        rows = self._limits.rows
        return Topic(
            name, live_query, self._pace, rows=rows, prefixes=prefixes, on_end=on_end, history=history
        )

    def _keep(self, topic: Topic) -> None:
        handle = self._lingering.pop(topic, None)
        if handle is not None:
            handle.cancel()

    def _let_go(self, topic: Topic) -> None:
        """Close a topic without followers, after some time or if there are too many."""
        # a topic that has ended is closed and removed already
        if topic.followers or self._topics.get(topic.id) is not topic:
            return
        self._lingering[topic] = asyncio.get_running_loop().call_later(_LINGER, self._drop, topic)
        # else a client could leave any number of subscriptions behind
        if len(self._lingering) > self._limits.subscriptions:
            self._drop(next(iter(self._lingering)))

    def _drop(self, topic: Topic) -> None:
        self._remove(topic)
        self._threads.start(topic.close)

    def _remove(self, topic: Topic) -> None:
        """Remove a topic, so that the next client opens it again; present followers still take its events."""
        self._keep(topic)
        if self._topics.get(topic.id) is topic:
            del self._topics[topic.id]


def name_of(live_query: LiveQuery) -> str:
    """Return the id of a query's topic, the same in every run."""
    parts = [live_query.query, live_query.entailment, live_query.key, live_query.node]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]
