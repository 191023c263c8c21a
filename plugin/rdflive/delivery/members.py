"""How subscriptions begin, and how the engine tells them what came and went."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from rdflib.term import Node

from rdflive.delivery import membership
from rdflive.delivery.subscription import Subscription
from rdflive.engine.query import TermWeights, Use
from rdflive.errors import BudgetError
from rdflive.model import Delta
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
