"""Finds the deltas that a batch would cause, by applying it and undoing it.

The engine of the subscriptions applies the changes of the batch, and its deliveries are put aside. Then the
store undoes the batch, and the engine applies the opposite changes, so that both are as before.
"""

from __future__ import annotations

from rdflive.delivery import membership
from rdflive.delivery.guarding import Guards
from rdflive.delivery.subscription import QueuedDelta, Subscription
from rdflive.errors import UnsupportedStoreError, ValidationError
from rdflive.model import Batch, Change, Delta, Quad, Term
from rdflive.store import UNION, Adapter, Changes, Guardable

__all__ = ["Previewing"]


class Previewing:
    """Replaces the judge of a store during one batch, and undoes that batch."""

    def __init__(self, adapter: Adapter) -> None:
        if not isinstance(adapter, Guardable):
            raise UnsupportedStoreError(
                f"changes of the store of {type(adapter).__name__} cannot be previewed: its adapter cannot "
                "undo a commit (it has no method undo)"
            )
        adapter.stay()  # raises if an inner store cannot undo
        self._adapter = adapter
        self._undo = adapter.undo
        self._begin = adapter.begin
        known = adapter.capture.judge
        self.guards = known if isinstance(known, Guards) else None
        self.is_wanted = True
        """False if the block raised, so that its deltas are not needed."""
        self.deltas: dict[Subscription, Delta] = {}
        self.batch = Batch(())
        self.refused: ValidationError | None = None

    @property
    def wants_union(self) -> bool:
        """True if a guard reads the union of all graphs."""
        return self.guards is not None and self.guards.wants_union

    def wants(self, predicate: Term) -> bool:  # noqa: ARG002 - every change is wanted
        """Take every change."""
        return True

    def begin(self) -> None:
        """Prepare the store to undo the batch."""
        self._begin()

    def permit(self, changes: Changes) -> None:
        """Permit every change: the batch is undone at its end."""

    def settle(self, changes: Changes) -> None:
        """Find the deltas that the batch would cause, and undo it."""
        if not self.is_wanted:
            self._undo(dict(changes))
            return
        if self.guards is not None:
            self.refused = self.guards.would_refuse(changes)
        quads = [(quad, sign) for quad, sign in changes.items() if quad[3] is not UNION]
        self.batch = Batch(tuple(Change(sign, Quad(*quad)) for quad, sign in quads))
        capture = self._adapter.capture
        with membership.uncounted(self._adapter):
            rehearsed = capture.rehearse(self._undo)
        for queued in rehearsed:
            if not isinstance(queued, QueuedDelta):
                capture.enqueue(queued)  # a budget was exceeded, and the subscription has ended
            elif queued.to in self.deltas:
                self.deltas[queued.to] += queued.delta
            else:
                self.deltas[queued.to] = queued.delta

    def renew(self) -> None:
        """Make the guards read the store again."""
        if self.guards is not None:
            self.guards.renew()
