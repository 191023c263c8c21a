"""A subscription: one query on one graph, and the ways to follow its answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from itertools import chain, repeat
from time import perf_counter
from typing import Any, Literal, TypeAlias

from rdflib import RDF
from rdflib.term import Node

from rdflive.delivery import membership
from rdflive.delivery.audit import Audit, AuditedAnswer, why_not
from rdflive.delivery.auditor import Auditor
from rdflive.delivery.base import BaseSubscription, Stats, size_of
from rdflive.delivery.calling import Callback, call, failed, raised, refuse_coroutine
from rdflive.delivery.constructed import ConstructedGraph
from rdflive.delivery.delta_maker import DeltaMaker
from rdflive.delivery.mailbox import DeltaSource, Mailbox
from rdflive.delivery.question import Question
from rdflive.delivery.relay import Receiver
from rdflive.delivery.resume import Journal, Outbox, ResumeError
from rdflive.delivery.unheld import unheld_notes
from rdflive.engine.multiset import TermWeights
from rdflive.engine.query import QueryState, Use
from rdflive.engine.store_state import StoreState
from rdflive.engine.view import View
from rdflive.entail.provenance import Tracer
from rdflive.errors import BudgetError, ClosedError
from rdflive.model import Answers, Delta, Glimpse, Header, Solution, Terms
from rdflive.plugins import manager
from rdflive.query.budget import Budget
from rdflive.query.demand import is_whole
from rdflive.query.explain import Explanation
from rdflive.query.known import KnownQuery
from rdflive.store import Adapter, GraphLike
from rdflive.store.deliveries import Action, Delivering
from rdflive.time.ticker import describe

__all__ = ["Member", "OnError", "QueuedDelta", "Subscription", "start"]

OnError: TypeAlias = "Literal['log', 'ignore'] | Callable[[Subscription, Exception], object]"


class Subscription(BaseSubscription):
    """A query whose answer is kept up to date. Close it, or use it as a context manager.

    Follow it by callback, by iterating `deltas()`, or by `async for delta in subscription`; `answers()` lists
    the current answer. With `resume` it has one iterator at a time, and none beside a callback
    (`ResumeError`). Requesting the next delta acknowledges the last one.
    """

    __slots__ = (
        "_adapter", "_auditor", "_capture", "_closed",
        "_direct", "_exceeded", "_graph", "_header", "_hits", "_maker",
        "_outbox", "_question", "_seen", "_state", "_terms", "_use",
    )  # fmt: skip

    def __init__(
        self,
        adapter: Adapter,
        graph: GraphLike,
        question: Question,
        terms: tuple[Node, ...],
        header: Header,
        receiver: Receiver,
        journal: Journal | None = None,
    ) -> None:
        super().__init__(receiver)
        callback = receiver.callback
        self._exceeded: BudgetError | None = None
        self._adapter = adapter
        self._capture = adapter.capture
        self._graph = graph
        self._question = question
        self._terms = terms
        """The terms for the parameters of the query."""
        self._header = header
        self._maker: DeltaMaker | None = None
        """None if a delta is the engine's weights and nothing else."""
        is_clocked = bool(question.plan.clocked)
        if question.provenance or question.windowed is not None or is_clocked:
            tracer = Tracer(question.plan, adapter.to_native) if question.provenance else None
            self._maker = DeltaMaker(header, terms, tracer, question.windowed)
        self._outbox: Outbox | None = None
        if journal is not None:
            sample = adapter.to_native(RDF.type)
            own = partial(call, self, callback) if self._elsewhere is None and callback is not None else None
            self._outbox = Outbox(
                journal,
                header,
                sample=sample,
                initial=receiver.initial,
                call=own,
                stop=self._stop,
                asked=terms,
            )
            if self._elsewhere is not None:
                # the callback acknowledges its delta by returning
                self._elsewhere.inbox = self._outbox.consumer()
        elif callback is None:
            # -1, because the first delta may have the number 0
            self._queue = Mailbox()
            self._followers = ((self._queue, -1),)
        self._direct = callback if receiver.elsewhere is None and journal is None else None
        """The callback that the writing thread calls with each delta; None if there is none."""
        self._auditor: Auditor | None = None
        """None before the first audit: a store may have a million subscriptions."""
        self._closed = False
        self._state: StoreState | None = None
        self._use: Use
        """Set by `start`."""

    @property
    def query(self) -> str:
        """The text of the query."""
        return self._question.text

    @property
    def closed(self) -> bool:
        """True after `close`."""
        return self._closed

    def answers(self) -> Answers[Solution]:
        """List the current answer, each solution as often as it occurs (ASK: one empty one if true).

        Solutions are in the order of ORDER BY. CONSTRUCT gives triples. With NOW() in the query, the changes
        that are due by the clock are delivered first.
        """
        with self._capture.reading():
            listed = self._listed()
        return Answers(self._header, chain.from_iterable(repeat(terms, weight) for terms, weight in listed))

    def _glimpse(self) -> Glimpse:
        with self._capture.reading():
            return Glimpse(self._header, self._listed(Glimpse.most))

    def _listed(self, most: int | None = None) -> list[tuple[Terms, int]]:
        """List the current answer with weights, or its first rows."""
        state, present = self._live(), self._use.query.present
        if present is not None:
            present.clockwork.catch_up()
        return state.answers(self._use, most)

    def _answer(self) -> TermWeights:
        """Return the full current answer."""
        return self._live().answer(self._use)

    def _queries(self) -> list[QueryState]:
        """List the queries that the engine maintains for this subscription."""
        return [self._use.query]

    def explain(self) -> Explanation:
        """Show the plan: its operators and patterns, the state of each and the cost of an update.

        `notes` lists the names in the query that the data do not contain now. With entailment, the plan shows
        the strategy for entailed triples and its cost so far. Once the graph has changed, the last line shows
        `updates`, `matched` and `entries` of `stats`.
        """
        with self._capture.reading():
            views = [] if self._state is None else self._state.watched(self._use.query)
            lines = [line for view in views for line in view.describe()]
            present = None if self._state is None else self._use.query.present
            clock = [] if present is None else describe(present)
            plan, question = self._question.readable(self._terms), self._question
            members = 1 if self._state is None else self._use.query.members
            shared = KnownQuery(question.plan, self._terms)
            counted = "" if self._state is None else self._counted()
            held = () if self._state is None else tuple(self._state.held(self._use))
            # a closed subscription still shows its plan
            whole = is_whole(self._use.query.plan)
            explained = partial(
                Explanation,
                plan,
                members=members,
                shared=shared,
                counted=counted,
                held=held,
                is_whole=whole,
                unaudited=self._unaudited,
            )
            if question.windowed or self._state is None:
                return explained(windows=lines)
            notes = unheld_notes(self._adapter, self._graph, plan, question.regime)
        return explained(lines, clock=clock, notes=tuple(notes))

    @property
    def stats(self) -> Stats:
        """The work of the subscription so far, and the size of its state."""
        with self._capture.reading():
            state, queries, containers = self._live(), self._queries(), self._containers()
            return Stats(
                algorithms=self._algorithms(),
                updates=self._updates(),
                matched=self._matched(),
                deltas=self._delivered if self._outbox is None else self._outbox.count,
                entries=sum(map(len, containers)),
                size=size_of(containers),
                seconds=state.seconds + sum(view.seconds for view in state.views.values()),
                callback_seconds=self._callback_seconds,
                members=sum(query.members for query in queries),
                audits=0 if self._auditor is None else self._auditor.audits,
                audit_differences=0 if self._auditor is None else self._auditor.differences,
            )

    def _algorithms(self) -> tuple[str, ...]:
        plan = self._question.readable(self._terms)
        return tuple(name for basic in plan.basics for name in basic.algorithms)

    def _updates(self) -> int:
        return sum(view.seen for view in self._views()) - self._seen

    def _matched(self) -> int:
        return sum(query.hits() for query in self._queries()) - self._hits

    def _containers(self) -> list[Any]:
        """List the containers of all kept entries."""
        own = [container for query in self._queries() for container in query.containers()]
        return [*own, *(container for view in self._views() for container in view.containers())]

    def _counted(self) -> str:
        """Write the counts; "" before the first change. Sizes in bytes would be slow to measure."""
        changes = self._updates()
        if not changes:
            return ""
        entries = sum(map(len, self._containers()))
        return f"changes {changes:,}, matches {self._matched():,}, entries kept {entries:,}"

    def _views(self) -> list[View]:
        """List the views that the queries read, each once."""
        return list(dict.fromkeys(view for query in self._queries() for view in query.views))

    def resync(self) -> None:
        """Read the graph again, after changes that rdflive could not see.

        Every subscription on the graph gets a new initial delta, which replaces the old answer. A resumed
        subscription gets the difference.
        """
        with self._capture.reading():
            membership.reload(self._adapter, self._live())

    def audit(self) -> Audit:
        """Compare the kept answer with an evaluation of the query by the store's own engine, now.

        The comparison is one of multisets, on one state of the graph. Where engines differ by design, as in
        functions, the answer counts as wrong only if rdflive also finds another one when it reads the graph
        again. After a wrong answer `on_error` gets the `AuditError`, and every subscription on the graph
        begins again, as by `resync`, if that corrects the answer.

        Oxigraph is asked under the store's lock and evaluates after its release; rdflib evaluates under the
        lock. Time and memory are those of the query in that engine, without a limit.

        Raises `PlanError` for a subscription that cannot be audited (`explain().audit` has the reason),
        RuntimeError inside a batch, and `ClosedError`.

        >>> import rdflib, rdflive
        >>> with rdflive.subscribe(rdflib.Graph(), "ASK { ?s ?p ?o }") as subscription:
        ...     print(subscription.audit())
        at commit 0 the kept answer is right: 0 solutions
        """
        return self._audits().audit()

    @property
    def _unaudited(self) -> str:
        """The reason why the subscription cannot be audited; empty if it can."""
        return why_not(self._adapter, self._question)

    def _follow_audits(self) -> None:
        """Add up the deltas, so that audits elsewhere check them too; raise `PlanError` as `audit` does."""
        with self._capture.reading():
            self._audits().follow()

    def _audited(self) -> AuditedAnswer:
        """Return the kept answer with what an audit elsewhere needs; raises what `audit` raises.

        Called under the store's lock.
        """
        return self._audits().taken()

    def _note_audit(self, audit: Audit) -> None:
        """Count an audit that was made elsewhere."""
        self._audits().note(audit)

    def _audits(self) -> Auditor:
        """Return the auditor, or make it."""
        if self._auditor is None:
            self._auditor = Auditor(self)
        return self._auditor

    def close(self) -> None:
        """Stop, free the state that only this subscription used, and end its iterators. May be repeated.

        A delta that is still queued for the callback is dropped; with `resume` it comes after the restart.
        """
        capture = self._capture
        with capture.reading():
            # first, so that no queued delta reaches the callback, even if the rest is interrupted
            self._closed = True
            if capture.is_used:  # a finalizer or a signal handler called this in the middle of a write
                capture.enqueue(Delivering(self.close))
                return
            if self._auditor is not None:
                self._auditor.end()
            if self._state is not None:
                self._leave(self._state)
                manager.release(self._adapter)
                self._state = None  # last, so that the next call repeats interrupted steps
        if self._outbox is not None:
            self._outbox.close()
        self._end_delivery()

    def _begin(self) -> None:
        """Count updates and matches from now on."""
        self._seen = sum(view.seen for view in self._views())
        self._hits = sum(query.hits() for query in self._queries())

    def _leave(self, state: StoreState) -> None:
        """Stop maintaining the query."""
        membership.leave(self._adapter, state, self._use)

    def _live(self) -> StoreState:
        if self._state is None or self._closed or self._exceeded is not None:
            raise self._closed_error()
        return self._state

    def _closed_error(self) -> ClosedError:
        return super()._closed_error() if self._exceeded is None else self._exceeded

    @property
    def _shown(self) -> Header:
        return self._header

    def _reading(self) -> AbstractContextManager[object]:
        return self._capture.reading()

    def _construct(self) -> ConstructedGraph:
        now = self._plain(self._answer(), self._capture.sequence, True)
        shows_rdflib = self._adapter.from_native() is not None
        return ConstructedGraph(now, None if shows_rdflib else self._adapter.to_rdflib())

    def _now(self) -> int:
        self._live()
        return self._capture.sequence

    def _whole(self) -> Delta | None:
        state, sequence = self._live(), self._capture.sequence
        if self._maker is None:
            return self._plain(self._answer(), sequence, True)
        return self._maker.whole(state, self._use, sequence)

    def _open_source(self) -> tuple[DeltaSource, Callable[[], object]]:
        if self._outbox is None:
            return super()._open_source()
        self._live()
        consumer = self._outbox.consumer()
        return consumer, partial(self._outbox.release, consumer)

    def _plain(self, weights: TermWeights, sequence: int, initial: bool) -> Delta:
        return Delta(self._header, weights, sequence=sequence, initial=initial, asked=self._terms)

    def _call(self, callback: Callback, delta: Delta) -> None:
        # a step may run again after an interruption, and an earlier callback may have closed this
        if delta._is_told or self._closed:
            return
        try:
            delta._is_told = True
            call(self, callback, delta)
        except BaseException:
            self.doubt()
            raise

    def doubt(self) -> None:
        """Deliver the full answer when the store is used next, because a callback was interrupted."""
        if self._outbox is None:
            self._owe()
        else:
            self._outbox.again()

    def _owe(self) -> None:
        with self._capture.lock:
            if self._state is not None and not self._closed:
                windowed = self._question.windowed
                # "dstream" reports only removed rows and has no full answer, so waiting deltas are delivered
                if windowed is None or windowed.has_whole:
                    self._doubted = self._capture.sequence
                self._owe_answer(self._state)
                self._capture.owe()

    def _owe_answer(self, state: StoreState) -> None:
        """Deliver the full answer with the next commit. Called under the store's lock."""
        state.commits.owe(self._use)

    def _exceed(self, error: BudgetError) -> None:
        """Record that the budget is exceeded, and queue the end after the deltas. Called under the
        store's lock.
        """
        self._exceeded = error.with_traceback(None)  # its frames would keep the excess rows alive
        self._capture.enqueue(Delivering(partial(self._end, error)))

    def _end(self, error: BudgetError) -> None:
        if not self.closed:
            failed(self, error, "subscription %r has ended")
            self.close()

    def _outbox_put(self, outbox: Outbox, delta: Delta) -> None:
        if self.closed:
            return
        try:
            outbox.put(delta)
        except ResumeError as error:
            failed(self, error)

    def _fail(self, error: ResumeError) -> None:
        """End, because the elements of its streams cannot be written to the journal."""
        self._stop(error)
        failed(self, error)

    def _stop(self, error: BaseException) -> None:
        """Close, because the journal cannot be written. Later changes can be resumed."""
        if isinstance(error, Exception):
            self.last_error = error
        self.close()


class Member(Use):
    """The engine's side of a subscription."""

    __slots__ = ("_subscription",)

    def __init__(self, subscription: Subscription) -> None:
        self._subscription = subscription

    @property
    def terms(self) -> tuple[Node, ...]:
        """The terms for the parameters of the query."""
        return self._subscription._terms

    @staticmethod
    def emit_together(uses: Sequence[Use], weights: TermWeights, sequence: int, /) -> Sequence[Use]:
        """Queue one delta for all members that have a callback and nothing else.

        All members have the same parameters. Returns the members that need a delta of their own, such as
        members with iterators.
        """
        alike, others = list[Subscription](), list[Use]()
        header: Header | None = None
        for use in uses:
            one: Subscription = use._subscription  # type: ignore[attr-defined]  # all are members
            has_more = one._direct is None or one._maker is not None or one._auditor is not None
            if has_more or one._state is None or one._closed:
                others.append(use)
            # a delta shows bound terms in the spelling of its own subscription
            elif not one._header.bound and (header is None or header is one._header):
                header = one._header
                alike.append(one)
            else:
                others.append(use)
        if len(alike) < 2 or alike[0]._capture.deliveries.aside is not None:
            return uses
        alike[0]._capture.deliveries.put(SharedDelta(alike, weights, sequence))
        return others

    def end(self, error: BudgetError) -> None:
        """Queue the end of the subscription."""
        self._subscription._exceed(error)

    def emit(self, weights: TermWeights, sequence: int, initial: bool, expired: TermWeights, /) -> None:
        """Queue a delta."""
        one = self._subscription
        state = one._state
        if state is None or one._closed:
            return  # it has not started completely, or its end is queued
        if initial:
            one._begin()
        if one._auditor is not None and one._capture.deliveries.aside is None:
            one._auditor.hear(weights, initial=initial)
        if one._maker is None:
            delta: Delta | None = one._plain(weights, sequence, initial)
        else:
            # a preview must not change the traced origins
            traces = one._capture.deliveries.aside is None
            delta = one._maker.make(state, self, weights, sequence, initial, expired, traces=traces)
        if delta is not None:
            one._capture.deliveries.put(QueuedDelta(one, delta))


class QueuedDelta(Delivering):
    """The delivery of a delta to plugins, mailboxes and the callback. Its steps run without the lock."""

    def __init__(self, to: Subscription, delta: Delta) -> None:
        self.to = to
        self.delta = delta

    def steps(self) -> list[Action]:
        """List the steps. In the usual case, a callback alone, call it directly."""
        one, delta = self.to, self.delta
        if one._closed or one.is_overtaken(delta):
            return []
        direct, is_observed = one._direct, manager.listens("rdflive_delta")
        if not delta._is_told:
            one._delivered += 1
        if not (direct is None or is_observed or one._followers or one._made is not None):
            one._call(direct, delta)
            return []
        steps: list[Action] = []
        # The documented order: plugins before the subscriber, the graph before the callback.
        if is_observed:
            steps.append(partial(manager.call_safely, "rdflive_delta", subscription=one, delta=delta))
        if one._made is not None:
            steps.append(partial(one._made.take, delta))
        # the initial delta of `resync` has the number of the last commit
        for mailbox, since in one._followers:
            if delta.sequence + delta.initial > since:
                steps.append(partial(mailbox.put, delta))
        if one._outbox is not None:
            steps.append(partial(one._outbox_put, one._outbox, delta))
        elif one._elsewhere is not None:
            steps.append(partial(one._elsewhere.mailbox.put, delta))
        elif direct is not None:
            steps.append(partial(one._call, direct, delta))
        if one._elsewhere is not None:
            steps.append(one._elsewhere.begin)
        return steps

    def owe(self) -> None:
        """Deliver the full answer next."""
        self.to._owe()


class SharedDelta(Delivering):
    """The delivery of one delta to several subscriptions with a callback alone; see `QueuedDelta`.

    `steps` calls the callbacks. If one is interrupted, the next run continues after it.
    """

    def __init__(self, to: Sequence[Subscription], weights: TermWeights, sequence: int) -> None:
        self.to = to
        self.delta = to[0]._plain(weights, sequence, False)
        self._weights = weights
        self._at = 0
        """The position of the next subscription in `to`."""
        self._rest: list[Subscription] = []
        """The subscriptions that have more than a callback now."""

    def steps(self) -> list[Action]:
        """Call the callbacks, and list the steps of the subscriptions with more than a callback."""
        delta, is_observed, rest = self.delta, manager.listens("rdflive_delta"), self._rest
        sequence, then = delta.sequence, perf_counter()
        for at in range(self._at, len(self.to)):
            one = self.to[at]
            self._at = at
            if one._closed or sequence <= one._doubted:  # `is_overtaken` written out
                continue
            direct = one._direct
            if direct is None or is_observed or one._followers or one._made is not None:
                if one not in rest:
                    rest.append(one)
                continue
            try:
                # before the call: an interrupted callback gets the full answer, not this delta again
                self._at = at + 1
                one._delivered += 1
                returned = direct(delta)
                if returned is not None:
                    refuse_coroutine(returned, direct)
            except Exception as error:  # noqa: BLE001 - as in `call`
                raised(one, error)
            except BaseException:
                one.doubt()
                raise
            finally:
                now = perf_counter()
                one._callback_seconds += now - then
                then = now
        self._at = len(self.to)
        own = [QueuedDelta(one, one._plain(self._weights, sequence, False)) for one in rest]
        return [step for queued in own for step in queued.steps()]

    def owe(self) -> None:
        """Deliver the full answer to each subscription whose callback may not have been called."""
        for one in (*self.to[self._at :], *self._rest):
            one._owe()


def _share_header(one: Subscription) -> None:
    """Share an equal header with another member of the same parameters, so that one delta serves both."""
    others = one._use.query.uses_of(one._use.asked)
    other = others[0]._subscription if isinstance(others[0], Member) else one
    mine, theirs = one._header, other._header
    if mine == theirs and _shows(mine) == _shows(theirs):
        one._header = theirs


def _shows(header: Header) -> tuple[Any, ...]:
    return header.key, header.fixed, header.bound, header.prefixes


def start(subscriptions: Sequence[Subscription], budget: Budget | None = None) -> None:
    """Start subscriptions that share a question, and queue their first deltas.

    Called under the store's lock.
    """
    first = subscriptions[0]
    adapter, question, capture = first._adapter, first._question, first._capture
    has_initial = first._receiver.initial or first._outbox is not None
    for one in subscriptions:
        one._use = Member(one)
    uses = [one._use for one in subscriptions]

    def begin() -> None:
        state, answers = membership.join(adapter, first._graph, question, uses, budget, answer=has_initial)
        for one in subscriptions:
            one._state = state
            _share_header(one)
        for one, answer in zip(subscriptions, answers, strict=True):
            use, maker = one._use, one._maker
            one._begin()
            if has_initial:
                use.emit(state.answer(use) if answer is None else answer, capture.sequence, True, {})
            elif maker is not None and maker.is_traced:
                # no delta is delivered, but the tracer needs the origins before the solutions are removed
                maker.make(state, use, state.answer(use), capture.sequence, True, {})

    try:
        begin()
    except BaseException:
        for one in subscriptions:
            one.close()
        raise
