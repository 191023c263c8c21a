"""A meter that also charges a budget that several clients share."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from time import perf_counter
from typing import Any, Final, TypeVar

from rdflive.errors import BudgetError
from rdflive.query.budget import BOUNDLESS, Budget, Meter, Numbered
from rdflive.query.shared_budget import Account, SharedBudget

__all__ = ["SharedMeter"]

Result = TypeVar("Result")

_SLICE: Final = 0.005
"""Most seconds of work that are not yet charged."""
_ROW: Final = 2e-7
"""Seconds that a row of a walk costs: a walk is too short to be measured."""


class SharedMeter(Meter):
    """A meter of a plan whose subscriptions have accounts of one shared budget.

    Work of a commit is charged, and a restart of the plan by a commit. Openings are not: they have budgets of
    their own, and end only with the shared budget.
    """

    __slots__ = (
        "_begun",
        "_charged",
        "_is_free",
        "_look_at",
        "_walked",
        "account",
        "accounts",
        "cost",
        "shared",
        "store",
    )  # fmt: skip

    def __init__(self, budget: Budget, capture: Numbered, shared: SharedBudget) -> None:
        self.shared = shared
        self.accounts: dict[Account, int] = {}
        """The accounts of the plan's subscriptions, with the number of subscriptions of each."""
        self.account: Account | None = None
        """The only account of its subscriptions; None if there are several."""
        self.cost = 0.0
        """Seconds charged for the last commit that the plan worked for."""
        self._charged = -1
        """The number of that commit."""
        self._begun = 0.0
        """When the work that is not yet charged began."""
        self._look_at = inf
        """When the shared budget is looked at next."""
        self._walked = 0
        """Rows left when the rows of walks were charged last; within work, without the rows left."""
        self._is_free = False
        """True while work is not charged."""
        self.store = capture
        super().__init__(budget, capture)
        shared.add(self)

    def enter(self, account: Account, count: int = 1) -> None:
        """Count a subscription of an account, or one that leaves, with the `count` -1."""
        number = self.accounts.pop(account, 0) + count
        if number > 0:
            self.accounts[account] = number
        self.account = next(iter(self.accounts)) if len(self.accounts) == 1 else None

    def begin(self) -> None:
        """As in `Meter`."""
        super().begin()
        if not self._is_opening:
            self._begun, self._look_at = perf_counter(), -inf
            self._walked -= self._rows

    def end(self) -> None:
        """As in `Meter`."""
        super().end()
        if not self._is_opening:
            self._look_at = inf
            self._walked += self._rows
            self._pay()

    def open(
        self, work: Callable[..., Result], *arguments: Any, budget: Budget | None = None, joins: bool = False
    ) -> Result:
        """As in `Meter`. Charged if it is for all present subscriptions, as where a commit restarts them."""
        if self._is_opening:
            return work(*arguments)
        try:
            self._is_free = budget is not None or not self.accounts
            self._begun = self._look_at = perf_counter()
            self.heed(budget)
            return super().open(work, *arguments, budget=budget, joins=joins)
        finally:
            self._look_at = inf
            self._pay()
            self._is_free = False

    def look(self) -> None:
        """As in `Meter`."""
        now = perf_counter()
        if now > self._deadline:
            super().look()
        if now > self._look_at:
            self._pay()
            self.heed(self._allowed)

    def heed(self, budget: Budget | None = None) -> None:
        """Raise `BudgetError` if the shared budget has no time left for the accounts of the plan."""
        if budget is BOUNDLESS or (self._is_free and not self.shared.has_ended):
            return
        error = self.refusal
        if error is not None:
            raise error

    @property
    def refusal(self) -> BudgetError | None:
        """The error that ends the subscriptions of the plan; None while the shared budget has time left."""
        sequence = self._capture.sequence
        cost = self.cost if self._charged == sequence else 0.0
        return self.shared.refusal(self.account, cost, sequence)

    def deliver(self, solutions: int) -> None:
        """Charge the delivery of solutions; raises `BudgetError`, also for work that is charged already."""
        seconds = solutions * self.shared.solution_seconds
        self._charge(seconds)
        try:
            self.heed()
        except BudgetError:
            self._charge(-seconds)  # they are not delivered
            raise

    def _grant(self) -> None:
        super()._grant()
        self._walked = 0 if self._is_working else self._rows

    def _check(self) -> None:
        super()._check()
        if self._is_working:
            self._pay()
        else:
            left, self._walked = self._walked - self._rows, self._rows
            self._charge(left * _ROW)
        self.heed(self._allowed)

    def _pay(self) -> None:
        """Charge the work until now."""
        now = perf_counter()
        if not self._is_free:
            self._charge(now - self._begun)
        self._begun, self._look_at = now, now + _SLICE if self._is_working else inf

    def _charge(self, seconds: float) -> None:
        sequence = self._capture.sequence
        self.cost, self._charged = seconds + (self.cost if self._charged == sequence else 0.0), sequence
        self.shared.charge(self.account, seconds, sequence)
