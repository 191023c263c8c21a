"""How subscriptions begin, and how the engine tells them what came and went."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from time import perf_counter
from typing import Any

from rdflib.term import Node

from rdflive.delivery import membership
from rdflive.delivery.calling import raised, refuse_coroutine
from rdflive.delivery.subscription import Subscription
from rdflive.engine.multiset import TermWeights
from rdflive.engine.query import Use
from rdflive.errors import BudgetError
from rdflive.model import Delta, Header
from rdflive.plugins import manager
from rdflive.query.budget import Budget
from rdflive.store.deliveries import Action, Delivering

__all__ = ["Member", "QueuedDelta", "start"]


class Member(Use):
    """A subscription as the engine knows it."""

    __slots__ = ("_subscription",)

    def __init__(self, subscription: Subscription) -> None:
        self._subscription = subscription

    @property
    def terms(self) -> tuple[Node, ...]:
        """What it asks for."""
        return self._subscription._terms

    @staticmethod
    def emit_together(uses: Sequence[Use], weights: TermWeights, sequence: int, /) -> Sequence[Use]:
        """Queue one delta for the members that have a callback and nothing else.

        All members have the same parameters. Gives those that need a delta of their own, such as members
        with iterators.
        """
        alike, others = list[Subscription](), list[Use]()
        header: Header | None = None
        for use in uses:
            one: Subscription = use._subscription  # type: ignore[attr-defined]  # all are members
            if one._direct is None or one._maker is not None or one._state is None or one._closed:
                others.append(use)
            # a delta shows bound terms as its own subscription spells them, which may differ
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
        """Queue the end."""
        self._subscription._exceed(error)

    def emit(self, weights: TermWeights, sequence: int, initial: bool, expired: TermWeights, /) -> None:
        """Queue a delta."""
        one = self._subscription
        state = one._state
        if state is None or one._closed:
            return  # it was not made completely, or its end is queued
        if initial:
            one._begin()
        if one._maker is None:
            delta: Delta | None = one._plain(weights, sequence, initial)
        else:
            # a commit that is only tried leaves no trace
            traces = one._capture.deliveries.aside is None
            delta = one._maker.make(state, self, weights, sequence, initial, expired, traces=traces)
        if delta is not None:
            one._capture.deliveries.put(QueuedDelta(one, delta))


class QueuedDelta(Delivering):
    """A delta on its way to plugins, mailboxes and the callback. Its steps run without the lock."""

    def __init__(self, to: Subscription, delta: Delta) -> None:
        self.to = to
        self.delta = delta

    def steps(self) -> list[Action]:
        """List the steps. Where a callback is all there is, as most often, it is called here."""
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
        # In the order that is promised: plugins before the subscriber, the graph before the callback.
        if is_observed:
            steps.append(partial(manager.call_safely, "rdflive_delta", subscription=one, delta=delta))
        if one._made is not None:
            steps.append(partial(one._made.take, delta))
        # `resync` gives an initial delta without a new commit
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
        """Have the whole answer told."""
        self.to._owe()


class SharedDelta(Delivering):
    """A delta on its way to several subscriptions that have nothing but a callback; see `QueuedDelta`.

    They are called here. A delivery that is repeated goes on behind the callback that was interrupted.
    """

    def __init__(self, to: Sequence[Subscription], weights: TermWeights, sequence: int) -> None:
        self.to = to
        self.delta = to[0]._plain(weights, sequence, False)
        self._weights = weights
        self._at = 0
        """The place of the subscription whose callback is next."""
        self._rest: list[Subscription] = []
        """The subscriptions that have more than a callback by now."""

    def steps(self) -> list[Action]:
        """Call the callbacks, and list the steps of subscriptions that have more than a callback."""
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
                # first: a callback that is interrupted is not called again, but told the whole answer
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
        """Have each subscription get its whole answer, if its callback may not have been called."""
        for one in (*self.to[self._at :], *self._rest):
            one._owe()


def _share_header(one: Subscription) -> None:
    """Use the header of another subscription with the same parameters, if it is equal, so that both can get
    one delta.
    """
    others = one._use.query.uses_of(one._use.asked)
    other = others[0]._subscription if isinstance(others[0], Member) else one
    mine, theirs = one._header, other._header
    if mine == theirs and _shows(mine) == _shows(theirs):
        one._header = theirs


def _shows(header: Header) -> tuple[Any, ...]:
    return header.key, header.fixed, header.bound, header.prefixes


def start(subscriptions: Sequence[Subscription], budget: Budget | None = None) -> None:
    """Have subscriptions that share a question maintained, and queue their first deltas.

    Called under the store's lock.
    """
    first = subscriptions[0]
    adapter, question, capture = first._adapter, first._question, first._capture
    tells = first._receiver.initial or first._outbox is not None
    for one in subscriptions:
        one._use = Member(one)
    uses = [one._use for one in subscriptions]

    def begin() -> None:
        state, answers = membership.join(adapter, first._graph, question, uses, budget, answer=tells)
        for one in subscriptions:
            one._state = state
            _share_header(one)
        for one, answer in zip(subscriptions, answers, strict=True):
            use, maker = one._use, one._maker
            one._begin()
            if tells:
                use.emit(state.answer(use) if answer is None else answer, capture.sequence, True, {})
            elif maker is not None and maker.is_traced:
                # Nobody is told, but the tracer must know where the solutions come from before they go.
                maker.make(state, use, state.answer(use), capture.sequence, True, {})

    try:
        begin()
    except BaseException:
        for one in subscriptions:
            one.close()
        raise
