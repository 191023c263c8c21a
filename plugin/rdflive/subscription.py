"""A subscription: one query on one graph, and the ways to follow its answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from types import TracebackType
from typing import Any, Literal, TypeAlias

from rdflib import RDF, Graph

from rdflive import manager, membership
from rdflive.calling import Calling
from rdflive.constructed import ConstructedGraph
from rdflive.deliveries import Delivering
from rdflive.delta_maker import DeltaMaker
from rdflive.engine.query import TermWeights
from rdflive.engine.store_state import StoreState
from rdflive.entail.entailment import Regime
from rdflive.entail.provenance import Tracer
from rdflive.errors import BudgetError, ClosedError
from rdflive.mailbox import AsyncDeltas, Deltas, Mailbox, Source
from rdflive.model import Delta, Header
from rdflive.query.budget import Budget, Meter
from rdflive.query.explain import Explanation
from rdflive.query.plan import Plan
from rdflive.resume import Journal, Outbox, ResumeError
from rdflive.stats import Stats, size_of
from rdflive.store import Adapter
from rdflive.time.windowed import Windowed

__all__ = ["Callback", "OnError", "Subscription"]

Callback: TypeAlias = Callable[[Delta], object]
OnError: TypeAlias = "Literal['log', 'ignore'] | Callable[[Subscription, Exception], object]"


class Subscription:
    """A query kept up to date. Close it, or use it as a context manager.

    Made by `subscribe`, under the store's lock. Follow it by callback, by iterating `deltas()`, by
    `async for delta in subscription`, or ask for its `answers()`.
    """

    def __init__(
        self,
        adapter: Adapter,
        graph: Any,
        plan: Plan,
        *,
        callback: Callback | None,
        initial: bool,
        name: str | None,
        on_error: OnError,
        journal: Journal | None = None,
        regime: Regime | None = None,
        provenance: bool = False,
        windowed: Windowed | None = None,
        budget: Budget | None = None,
    ) -> None:
        self.name = name
        self.last_error: Exception | None = None
        """What the callback raised last, or what ended the subscription."""
        self._exceeded: BudgetError | None = None
        self._adapter = adapter
        self._capture = adapter.capture
        self._plan = plan
        self._callback = callback
        self._initial = initial
        self._calling = Calling(self, on_error)
        self._header = Header(plan.query.form, plan.query.names, adapter.from_native())
        self._mailboxes: dict[Mailbox, int] = {}
        self._windowed = windowed
        tracer = Tracer(plan, adapter.to_native) if provenance else None
        self._maker = DeltaMaker(self._header, tracer, windowed)
        self._made: ConstructedGraph | None = None
        self._untaken: Mailbox | None = None
        self._outbox: Outbox | None = None
        if journal is not None:
            sample = adapter.to_native(RDF.type)
            call = None if callback is None else partial(self._calling.call, callback)
            self._outbox = Outbox(
                journal, self._header, sample=sample, initial=initial, call=call, stop=self._stop
            )
        elif callback is None:
            self._untaken = Mailbox()
            self._mailboxes[self._untaken] = -1
        self._delivered = 0
        self._taken: Delta | None = None
        """The last delta that the callback was called with."""
        self._closed = False
        self._state: StoreState | None = None
        windowing = None if windowed is None else windowed.windowing
        meter = None if budget is None else Meter(budget, lambda: self._capture.sequence, self._exceed)
        self._state, self._query, answer = membership.join(
            adapter, graph, plan, self._emit, regime, windowing, meter
        )
        try:
            self._begin(self._state)
            if initial or journal is not None:
                weights = self._state.answer(self._query) if answer is None else answer
                self._emit(weights, self._capture.sequence, True, {})
            elif self._maker.is_traced:
                weights = self._state.answer(self._query)
                self._make(self._state, weights, self._capture.sequence, initial=True, expired={})
        except BaseException:
            self.close()
            raise

    @property
    def query(self) -> str:
        """The text of the query."""
        return self._plan.query.text

    @property
    def closed(self) -> bool:
        """True after `close`."""
        return self._closed

    def answers(self) -> list[Any]:
        """List the current answer, each solution as often as it occurs (ASK: one empty one if true).

        It is in the order of ORDER BY. CONSTRUCT gives triples.
        """
        with self._capture.reading():
            listed = self._live().answers(self._query)
        shown = ((self._header.solution(terms), weight) for terms, weight in listed)
        return [solution for solution, weight in shown for _ in range(weight)]

    @property
    def graph(self) -> Graph:
        """The triples of a CONSTRUCT query as a live rdflib graph, which can be subscribed to itself.

        It changes before the callback is called. Do not write to it.
        """
        if self._header.form != "CONSTRUCT":
            raise AttributeError("only the subscription of a CONSTRUCT query has a graph")
        with self._capture.reading():
            if self._made is None:
                state, sequence = self._live(), self._capture.sequence
                now = Delta(self._header, state.answer(self._query), sequence=sequence, initial=True)
                shows_rdflib = self._adapter.from_native() is not None
                self._made = ConstructedGraph(now, None if shows_rdflib else self._adapter.to_rdflib())
            return self._made.graph

    def deltas(self, timeout: float | None = None) -> Deltas:
        """Iterate the deltas from now on, blocking; ends when the subscription closes.

        Without a callback the first iterator starts where the subscription did; any other starts with
        the current answers (unless `initial=False`). What its consumer has not taken yet merges into
        one delta. With `timeout` (seconds) a wait that is too long raises `TimeoutError`, and the
        iterator goes on. With `resume` there is one iterator at a time, and none beside a callback
        (`ResumeError`); it acknowledges a delta when it is asked for the next.
        """
        source, forget = self._open_source()
        return Deltas(source, timeout, forget)

    def __aiter__(self) -> AsyncDeltas:
        return AsyncDeltas(*self._open_source())

    def explain(self) -> Explanation:
        """Show the plan: its operators and patterns, what each keeps and what an update costs.

        With entailment, also how entailed triples are kept and what that has cost so far.
        """
        with self._capture.reading():
            views = [] if self._state is None else self._state.watched(self._query)
            lines = [line for view in views for line in view.describe()]
        return Explanation(self._plan, windows=lines) if self._windowed else Explanation(self._plan, lines)

    @property
    def stats(self) -> Stats:
        """Count what the subscription has seen and what it keeps."""
        with self._capture.reading():
            state = self._live()
            containers = self._query.containers()
            for view in state.watched(self._query):
                containers += view.containers()
            return Stats(
                algorithms=tuple(name for basic in self._plan.basics for name in basic.algorithms),
                updates=sum(view.seen for view in state.watched(self._query)) - self._seen,
                matched=self._query.hits() - self._hits,
                deltas=self._delivered if self._outbox is None else self._outbox.count,
                entries=sum(map(len, containers)),
                size=sum(map(size_of, containers)),
                seconds=state.seconds + sum(view.seconds for view in state.views.values()),
                callback_seconds=self._calling.seconds,
            )

    def resync(self) -> None:
        """Read the graph again, after changes that were made behind rdflive's back.

        Every subscription on the graph gets a new initial delta, which replaces what it had; a resumed
        one gets the difference.
        """
        with self._capture.reading():
            membership.reload(self._adapter, self._live())

    def close(self) -> None:
        """Stop, free what only this subscription used, and let its iterators end. May be repeated.

        A delta that is still queued for the callback is dropped; with `resume` it comes after the restart.
        """
        capture = self._capture
        with capture.reading():
            self._closed = True
            if capture.is_used:  # a finalizer or a signal handler comes in the middle of a write
                capture.enqueue(Delivering(lambda: [self.close]))
                return
            if self._state is not None:
                membership.leave(self._adapter, self._state, self._query)
                manager.release(self._adapter)
                self._state = None  # what was interrupted before this is done by the next call
        if self._outbox is not None:
            self._outbox.close()
        for mailbox in tuple(self._mailboxes):
            mailbox.close()

    def __enter__(self) -> Subscription:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Subscription {self.name or self.query!r} {'closed' if self.closed else 'open'}>"

    def _begin(self, state: StoreState) -> None:
        """Count updates and matches from here."""
        self._seen = sum(view.seen for view in state.watched(self._query))
        self._hits = self._query.hits()

    def _live(self) -> StoreState:
        if self._state is None or self._closed or self._exceeded is not None:
            if self._exceeded is not None:
                raise self._exceeded
            raise ClosedError(f"subscription {self.name or self.query!r} is closed; subscribe again")
        return self._state

    def _open_source(self) -> tuple[Source, Callable[[], object]]:
        """Give what an iterator takes from, and what it calls when it is closed."""
        if self._outbox is None:
            mailbox = self._open_mailbox()
            return mailbox, partial(self._mailboxes.pop, mailbox, None)
        self._live()
        consumer = self._outbox.consumer()
        return consumer, partial(self._outbox.release, consumer)

    def _open_mailbox(self) -> Mailbox:
        mailbox, self._untaken = self._untaken, None
        if mailbox is not None:
            return mailbox
        mailbox = Mailbox()
        with self._capture.reading():
            state, sequence = self._live(), self._capture.sequence
            if self._initial:
                whole = self._maker.whole(state, self._query, sequence)
                if whole is not None:
                    mailbox.put(whole)
            self._mailboxes[mailbox] = sequence
        return mailbox

    def _emit(self, weights: TermWeights, sequence: int, initial: bool, expired: TermWeights) -> None:
        """Queue a delta; called under the store's lock."""
        state = self._state
        if state is None or self._closed:
            return  # its making was interrupted, or its end is queued
        if initial:
            self._begin(state)
        delta = self._make(state, weights, sequence, initial=initial, expired=expired)
        if delta is not None:
            self._capture.enqueue(Delivering(partial(self._steps, delta), self._owe))

    def _make(
        self, state: StoreState, weights: TermWeights, sequence: int, *, initial: bool, expired: TermWeights
    ) -> Delta | None:
        """Make a delta; called under the store's lock."""
        return self._maker.make(state, self._query, weights, sequence, initial=initial, expired=expired)

    def _steps(self, delta: Delta) -> Iterator[Callable[[], object]]:
        """List what hands a delta to plugins, mailboxes and the callback; done outside the store's lock."""
        if self.closed:
            return
        yield self._count
        if manager.listens("rdflive_delta"):
            yield partial(manager.call_safely, "rdflive_delta", subscription=self, delta=delta)
        if self._made is not None:
            yield partial(self._made.take, delta)
        for mailbox, since in tuple(self._mailboxes.items()):
            if delta.sequence > since or (delta.initial and delta.sequence == since):
                yield partial(mailbox.put, delta)
        if self._outbox is not None:
            yield partial(self._outbox_put, self._outbox, delta)
        elif self._callback is not None:
            yield partial(self._call, self._callback, delta)

    def _call(self, callback: Callback, delta: Delta) -> None:
        if delta is self._taken or self.closed:
            return
        try:
            self._taken = delta
            self._calling.call(callback, delta)
        except BaseException:
            self.doubt()
            raise

    def doubt(self) -> None:
        """Give the whole answer when the store is used next: a callback was interrupted, perhaps half-way."""
        if self._outbox is None:
            self._owe()

    def _owe(self) -> None:
        with self._capture.lock:
            if self._state is not None and not self._closed:
                self._state.owe(self._query)
                self._capture.owe()

    def _exceed(self, error: BudgetError) -> None:
        """Note that the budget is used up, and queue the end behind the deltas; under the store's lock."""
        self._exceeded = error.with_traceback(None)  # whose frames hold what was to be made
        self._capture.enqueue(Delivering(lambda: [partial(self._end, error)]))

    def _end(self, error: BudgetError) -> None:
        if not self.closed:
            self._calling.failed(error, "subscription %r has ended")
            self.close()

    def _count(self) -> None:
        self._delivered += 1

    def _outbox_put(self, outbox: Outbox, delta: Delta) -> None:
        if self.closed:
            return
        try:
            outbox.put(delta)
        except ResumeError as error:
            self._calling.failed(error)

    def _stop(self, error: BaseException) -> None:
        """Close, because the journal cannot be written: what is missed from now on can be resumed."""
        if isinstance(error, Exception):
            self.last_error = error
        self.close()
