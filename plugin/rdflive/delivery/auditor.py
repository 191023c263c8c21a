"""Audits the subscriptions of this process, one after the other in a thread."""

from __future__ import annotations

import atexit
import logging
import os
import threading
from collections import deque
from time import thread_time
from typing import TYPE_CHECKING, Final

from rdflive.delivery import membership
from rdflive.delivery.audit import Audit, AuditPace, AuditPlan, Every, compared, why_not
from rdflive.delivery.calling import failed
from rdflive.errors import AuditError, ClosedError, PlanError

if TYPE_CHECKING:
    from rdflive.delivery.subscription import Subscription

__all__ = ["Auditor"]

log = logging.getLogger("rdflive")


class Auditor:
    """Audits one subscription: on request, and with `every` after so many commits."""

    __slots__ = ("_one", "_pace", "_plan", "audits", "differences")

    def __init__(self, subscription: Subscription) -> None:
        self._one = subscription
        self._plan: AuditPlan | None = None
        self._pace: AuditPace | None = None
        self.audits = 0
        """The number of completed audits."""
        self.differences = 0
        """The number of audits that found a wrong answer."""

    def begin(self, every: Every) -> None:
        """Audit after commits from now on; raise `PlanError` for a query that cannot be audited.

        Called under the store's lock.
        """
        self._refuse()
        capture = self._one._capture
        self._pace = AuditPace(every, capture.sequence)
        capture.watchers = (*capture.watchers, self._watch)

    def end(self) -> None:
        """Audit no more; may be repeated. Called under the store's lock."""
        capture = self._one._capture
        capture.watchers = tuple(watch for watch in capture.watchers if watch != self._watch)

    @property
    def plan(self) -> AuditPlan:
        """The plan of the audits."""
        one = self._one
        if self._plan is None:
            self._plan = AuditPlan.of(one._adapter, one._graph, one._question, one._terms)
        return self._plan

    def audit(self) -> Audit:
        """Compare now, and begin again after a difference; the error goes to `on_error` too.

        Raises what `Subscription.audit` raises.
        """
        one = self._one
        capture, adapter, graph = one._capture, one._adapter, one._graph
        with capture.reading():
            one._live()
            self._refuse()
            if capture.is_open or capture.is_used:
                raise RuntimeError("audit() is not possible inside a batch or a write: call it after the commit")
            plan = self.plan
            kept, sequence = plan.comparable(one._answer()), capture.sequence
            listed = plan.begin(adapter, graph)
        found = listed()
        if found == kept:
            self.audits += 1
            return compared(plan.query, sequence, kept, kept)
        with capture.reading():
            one._live()
            audit = self._judge(plan, compared(plan.query, sequence, kept, found or {}), found is not None)
        self.audits += 1
        if not audit:
            self.differences += 1
            failed(one, AuditError(audit), "an audit of subscription %r found a wrong answer")
        return audit

    def _judge(self, plan: AuditPlan, audit: Audit, has_answer: bool) -> Audit:
        """Read the graph again beside the subscription, which begins again if it has another answer."""
        one = self._one
        kept = one._answer()
        again = membership.recomputed(one._adapter, one._graph, one._question, one._terms)
        now = compared(plan.query, one._capture.sequence, kept, again)
        if not now:
            # all subscriptions, because they may share the wrong state
            one.resync()
        # the engines evaluate the query differently, or the engine of the store cannot evaluate it
        return audit if has_answer and plan.is_exact else now

    def _refuse(self) -> None:
        reason = why_not(self._one._adapter, self._one._question)
        if reason:
            raise PlanError(f"the subscription cannot be audited: {reason}")

    def _watch(self, sequence: int) -> None:
        """Queue an audit if one is due. Called with each commit, under the store's lock."""
        if self._pace is not None and self._pace.is_due(sequence):
            _line.put(self)

    def run(self) -> None:
        """Audit in the thread of audits."""
        begun, one = thread_time(), self._one
        try:
            self.audit()
        except ClosedError:
            return
        except Exception:
            log.exception("an audit of subscription %r failed", one.name or one.query)
        self.postpone(thread_time() - begun)

    def postpone(self, seconds: float = 0.0) -> None:
        """Let the next audit wait, after one that took `seconds` of processor time."""
        if self._pace is not None:
            self._pace.done(self._one._capture.sequence, seconds)


class _Line:
    """The auditors that wait for the thread, which exists while there are some."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: deque[Auditor] = deque()
        self._current: Auditor | None = None
        self._is_working = False
        self.is_over = False
        """True at the end of the interpreter."""

    def put(self, auditor: Auditor) -> None:
        """Let the thread run an auditor."""
        try:
            with self._lock:
                self._waiting.append(auditor)
                is_working, self._is_working = self._is_working, True
            if not is_working:
                threading.Thread(target=self._work, name="rdflive audits", daemon=True).start()
        except BaseException as error:
            self._is_working = False
            if not isinstance(error, RuntimeError):
                raise
            # writes must not fail without a thread, e.g. at the end of the interpreter
            log.exception("no thread could be started: the audit waits for the next one that is due")

    def _work(self) -> None:
        auditor = self._next()
        while auditor is not None:
            auditor.run()
            auditor = self._next()

    def _next(self) -> Auditor | None:
        with self._lock:
            self._is_working = bool(self._waiting) and not self.is_over
            self._current = self._waiting.popleft() if self._is_working else None
            return self._current

    def renew(self) -> None:
        """Forget the thread, which a fork does not have; its audits are due after later commits."""
        lost = [*self._waiting, *([] if self._current is None else [self._current])]
        self._lock, self._current, self._is_working = threading.Lock(), None, False
        self._waiting.clear()
        for auditor in lost:
            auditor.postpone()


_line: Final = _Line()


@atexit.register
def _end() -> None:
    """Begin no more audits: a thread that prints at the end of the interpreter could abort it."""
    _line.is_over = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_line.renew)
