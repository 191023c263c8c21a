"""Audits of the server's subscriptions, in child processes that see one state of the store."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, replace
from math import inf
from typing import Any, Final

import rdflib
from starlette.requests import Request
from starlette.responses import JSONResponse

from rdflive.delivery.audit import Audit, AuditPace, Every
from rdflive.delivery.subscription import Subscription
from rdflive.errors import ClosedError, RdfliveError
from rdflive.plugins import manager
from rdflive.server.failures import Problem
from rdflive.server.isolation.children import Children
from rdflive.server.isolation.confinement import StateWork
from rdflive.server.isolation.work import AuditAnswer
from rdflive.server.metrics import Metrics
from rdflive.server.threads import Threads
from rdflive.server.topics import Topic, Topics
from rdflive.store.history import History

__all__ = ["Audits", "audit_topic"]

log = logging.getLogger("rdflive")

_CLIENT: Final = "the audits of the server"


class Audits:
    """Audits one subscription in turn after so many commits, and any one on request.

    Used in the event loop's thread.
    """

    def __init__(
        self,
        dataset: rdflib.Dataset,
        topics: Topics,
        children: Children,
        threads: Threads,
        metrics: Metrics,
        every: Every | None,
        history: Callable[[], History],
    ) -> None:
        self._store: Any = manager.store_of(dataset)
        self._topics = topics
        self._children = children
        self._threads = threads
        self._metrics = metrics
        self._loop = asyncio.get_running_loop()
        self._every = every
        self._history = history
        self._pace: AuditPace | None = None
        self._audited: set[str] = set()
        """The topics that had their turn in this round."""
        self._running: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Audit from now on; waits for the store's lock. The store must stay watched until `end`."""
        if self._every is not None:
            with manager.locked(self._store) as adapter:
                self._pace = AuditPace(self._every, adapter.capture.sequence)
                adapter.capture.watchers = (*adapter.capture.watchers, self._watch)

    def end(self) -> None:
        """Audit no more; waits for the store's lock. May be repeated."""
        with manager.locked(self._store) as adapter:
            capture = adapter.capture
            capture.watchers = tuple(watch for watch in capture.watchers if watch != self._watch)

    async def stop(self) -> None:
        """End the running audit."""
        await self._threads.work(self.end)
        if self._running is not None:
            self._running.cancel()
            await asyncio.wait([self._running])
        if self._pace is not None and self._pace.due == inf:  # an audit that was due has not begun
            self._pace.done(0, 0.0)

    async def audit(self, topic: Topic, client: str) -> Audit:
        """Audit a topic now; raise `Problem` 409 if that is not possible, 503 beyond the limits."""
        audit, _ = await self._audit(topic, client)
        return audit

    async def _audit(self, topic: Topic, client: str) -> tuple[Audit, float]:
        """Return the audit and the processor time of its process."""
        subscription = topic.subscription
        if subscription is None or subscription._unaudited:
            reason = "it is not open yet" if subscription is None else subscription._unaudited
            raise Problem(409, f"the subscription cannot be audited: {reason}")
        told = await self._told(subscription, client)
        audit = Audit.of(told["audit"])
        # the number that clients know, in place of that in this process
        audit = replace(audit, commit=self._history().number_of(audit.commit))
        subscription._note_audit(audit)
        if not audit:
            self._metrics.audit_differences.inc()
            log.error("an audit of subscription %s found a wrong answer: %s", topic.id, audit)
        self._metrics.audits.inc()
        if told["is_stale"]:
            with suppress(ClosedError):
                await self._threads.work(subscription.resync)
        return audit, told["seconds"]

    async def _told(self, subscription: Subscription, client: str) -> Any:
        """Return what the child has found."""

        try:
            async with asyncio.timeout(self._children.limits.query_seconds):
                async with self._children.working(
                    client, StateWork(lambda: AuditAnswer(subscription._audited()))
                ) as child:
                    await child.begin()
                    return json.loads(b"".join([piece async for piece in child.pieces()]))
        except ClosedError as error:
            raise Problem(404, "the subscription has ended") from error
        except (TimeoutError, EOFError, ConnectionError) as error:
            raise self._children.exceeded(error, "audit") from error

    def _watch(self, sequence: int) -> None:
        """Begin an audit if one is due. Called with each commit, under the store's lock."""
        if self._pace is not None and self._pace.is_due(sequence):
            with suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(self._start, self._pace, sequence)

    def _start(self, pace: AuditPace, sequence: int) -> None:
        self._running = self._loop.create_task(self._next(pace, sequence))

    async def _next(self, pace: AuditPace, sequence: int) -> None:
        begun, seconds = self._loop.time(), None
        try:
            topic = self._turn()
            seconds = 0.0 if topic is None else (await self._audit(topic, _CLIENT))[1]
        except RdfliveError as error:
            log.warning("an audit was not finished: %s", error)
        except Exception:
            log.exception("an audit failed")
        finally:
            # a child that was ended has told no time, and may have used all of it
            pace.done(sequence, self._loop.time() - begun if seconds is None else seconds)

    def _turn(self) -> Topic | None:
        """Return the next topic of the round, or the first of a new round."""
        topics = [topic for topic in self._topics if topic.subscription and not topic.subscription._unaudited]
        left = [topic for topic in topics if topic.id not in self._audited]
        if not left:
            self._audited.clear()
            left = topics
        for topic in left[:1]:
            self._audited.add(topic.id)
            return topic
        return None


async def audit_topic(request: Request) -> JSONResponse:
    """Respond with the audit of one open subscription."""
    service = request.app.state.service
    topic = service.topics.find(request.path_params["name"])
    audit = await service.audits.audit(topic, request.state.client.name)
    return JSONResponse({"equal": bool(audit), **asdict(audit)})
