"""Audits the subscriptions of this process, one after the other in a thread."""

from __future__ import annotations

import atexit
import logging
import os
import threading
from collections import deque
from time import thread_time
from typing import Any, Final

from rdflive.delivery import membership
from rdflive.delivery.audit import Audit, AuditedAnswer, AuditPace, AuditPlan, Every
from rdflive.delivery.calling import failed
from rdflive.engine.multiset import TermWeights, add_weights
from rdflive.errors import AuditError, BudgetError, ClosedError, PlanError

__all__ = ["Auditor"]

log = logging.getLogger("rdflive")


class Auditor:
    """Audits one subscription: on request, and with `every` after so many commits."""

    __slots__ = ("_one", "_pace", "_plan", "_told", "audits", "differences")

    def __init__(self, subscription: Any) -> None:
        self._one = subscription  # any type, because its module imports this one
        self._plan: AuditPlan | None = None
        self._pace: AuditPace | None = None
        self._told: TermWeights | None = None
        """The sum of the deltas, if they are added up."""
        self.audits = 0
        """The number of completed audits."""
        self.differences = 0
        """The number of audits that found a wrong answer."""

    def begin(self, every: Every) -> None:
        """Audit after commits from now on; raise `PlanError` for a query that cannot be audited.

        Called under the store's lock.
        """
        self.follow()
        capture = self._one._capture
        self._pace = AuditPace(every, capture.sequence)
        capture.watchers = (*capture.watchers, self._watch)

    def follow(self) -> None:
        """Add up the deltas from now on, because some queries keep nothing else that could be wrong.

        Raises `PlanError` for a query that cannot be audited. Called under the store's lock.
        """
        self._refuse()
        self._told = dict(self._one._answer())

    def hear(self, weights: TermWeights, *, initial: bool) -> None:
        """Take a delta, under the store's lock."""
        if self._told is None:
            return
        if initial:
            self._told = dict(weights)
        else:
            add_weights(self._told, weights.items())

    def end(self) -> None:
        """Audit no more; may be repeated. Called under the store's lock."""
        capture = self._one._capture
        capture.watchers = tuple(watch for watch in capture.watchers if watch != self._watch)

    def audit(self) -> Audit:
        """Compare now, and begin again after a difference; the error goes to `on_error` too.

        Raises what `Subscription.audit` raises.
        """
        one = self._one
        capture = one._capture
        with capture.reading():
            taken = self.taken()
            listed = taken.plan.begin(one._adapter, one._graph)
        found = listed()
        audit = None if found is None else taken.compared(found)
        if not audit:
            with capture.reading():
                now = self._now()
            audit = now if audit is None else taken.plan.judged(audit, now)
        self.note(audit)
        if not audit:
            failed(one, AuditError(audit), "an audit of subscription %r found a wrong answer")
        return audit

    def _now(self) -> Audit:
        """Compare with rdflive reading the graph again; the subscription begins again after a difference."""
        one, now = self._one, self.taken()
        again = membership.recomputed(one._adapter, one._graph, one._question, one._terms)
        audit = now.compared(now.plan.comparable(again))
        if not audit:
            # all subscriptions, because they may share the wrong state
            one.resync()
        return audit

    def taken(self) -> AuditedAnswer:
        """Return the kept answer for an audit; raise what `Subscription.audit` raises.

        Called under the store's lock.
        """
        one = self._one
        one._live()
        self._refuse()
        capture = one._capture
        if capture.is_open or capture.is_used:
            raise RuntimeError("an audit inside a batch or a write has no state to read: audit after it")
        if self._plan is None:
            self._plan = AuditPlan.of(one._adapter, one._graph, one._question, one._terms)
        answer = one._answer()
        told = answer if self._told is None else self._told
        answers = (answer,) if told == answer else (answer, dict(told))
        return AuditedAnswer(self._plan, capture.sequence, tuple(map(self._plan.comparable, answers)))

    def note(self, audit: Audit) -> None:
        """Count an audit."""
        self.audits += 1
        self.differences += not audit

    def _refuse(self) -> None:
        reason = self._one._unaudited
        if reason:
            raise PlanError(f"the subscription cannot be audited: {reason}")

    def _watch(self, sequence: int) -> None:
        """Queue an audit if one is due. Called with each commit, under the store's lock."""
        if self._pace is not None and self._pace.is_due(sequence):
            # behind the others, which have their turns first
            self.end()
            self._one._capture.watchers = (*self._one._capture.watchers, self._watch)
            _line.put(self)

    def run(self) -> None:
        """Audit in the thread of audits."""
        begun, one = thread_time(), self._one
        # before the audit, so that commits during it count
        sequence = one._capture.sequence
        try:
            self.audit()
        except (ClosedError, BudgetError):
            pass  # it has ended
        except Exception:
            log.exception("an audit of subscription %r failed", one.name or one.query)
        self._done(sequence, thread_time() - begun)

    def postpone(self) -> None:
        """Let the next audit wait as if there had been one."""
        self._done(self._one._capture.sequence, 0.0)

    def _done(self, sequence: int, seconds: float) -> None:
        if self._pace is not None:
            self._pace.done(sequence, seconds)


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
