"""A budget of each commit that the subscriptions of several clients share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from time import perf_counter, thread_time
from typing import Protocol
from weakref import WeakSet, WeakValueDictionary

from rdflive.errors import BudgetError

__all__ = ["Account", "Charged", "SharedBudget"]


class Account:
    """One client of a `SharedBudget`; a `Budget` names it for a subscription."""

    __slots__ = ("__weakref__", "name", "shared")

    def __init__(self, name: str, shared: SharedBudget) -> None:
        self.name = name
        self.shared = shared

    def __repr__(self) -> str:
        return f"<Account {self.name!r}>"


class Charged(Protocol):
    """A plan that is charged: see `rdflive.query.budget.Meter`."""

    @property
    def accounts(self) -> Collection[Account]:
        """The accounts of its subscriptions. Without exactly one, it is charged to None."""

    @property
    def store(self) -> object:
        """The store that it reads."""


class SharedBudget:
    """The processor time that the subscriptions of all its accounts may take together for one commit.

    Give it to subscriptions to graphs of one store, as `Budget(account=shared.account("board"))`. Before a
    delta is delivered, `solution_seconds` are charged for each of its solutions: callbacks run after the
    commit, when nothing can be ended, and most take time for each solution.

    Half of the time is taken by whichever account needs it. A quarter is divided into equal shares of the
    accounts, and a quarter into equal shares of the accounts for each of their subscriptions. When the rest
    is used up, a subscription that has taken more than its share ends with a `BudgetError` if its account has
    also taken more than its own. So an account loses its most expensive subscriptions. The update stands, and
    all other subscriptions stay exact. Subscriptions that share a plan count as one.

    Example: 10 seconds, an account A with one subscription, and an account B with 100. The first 5 seconds
    are for whichever needs them. The share of each account is 1.25 s, and that of each subscription 1.25 s
    for A and 12.5 ms for B. When B has taken 7.6 s, its subscriptions that took more than 12.5 ms end, and
    that of A goes on.

    >>> SharedBudget(seconds=10).account("board")
    <Account 'board'>
    """

    def __init__(self, seconds: float = 10.0, *, solution_seconds: float = 0.0) -> None:
        """Raises ValueError unless `seconds` are above zero and `solution_seconds` not below."""
        if seconds <= 0:
            raise ValueError(f"seconds must be above zero, got {seconds!r}")
        if solution_seconds < 0:
            raise ValueError(f"solution_seconds must not be below zero, got {solution_seconds!r}")
        self.seconds = seconds
        self.solution_seconds = solution_seconds
        self._accounts: WeakValueDictionary[str, Account] = WeakValueDictionary()
        self._plans: WeakSet[Charged] = WeakSet()
        self._ended: BudgetError | None = None
        self._store: object = None
        self.begin(-1)

    def account(self, name: str) -> Account:
        """Return the account of this name."""
        return self._accounts.setdefault(name, Account(name, self))

    def end(self, reason: str) -> None:
        """End all subscriptions that have work to do from now on, also in the middle of a commit in another
        thread; the reason completes "the subscription has ended: …". It cannot be undone.
        """
        self._ended = BudgetError(reason)

    @property
    def has_ended(self) -> bool:
        """True after `end`."""
        return self._ended is not None

    def add(self, plan: Charged) -> None:
        """Add a plan, which may be charged from now on. Raises ValueError for a plan of another store."""
        if self._store not in (None, plan.store):
            raise ValueError("a SharedBudget is for the subscriptions to one store: make one for each store")
        self._store = plan.store
        self._plans.add(plan)

    # the rest runs under the store's lock

    def begin(self, sequence: int) -> None:
        """Begin to count for a commit, and forget the one before."""
        self._sequence = sequence
        self._spent = 0.0
        self._sums: dict[Account | None, float] = {}
        """The seconds of each account; of plans of several accounts, those of None."""
        self._plans_of: Counter[Account | None] = Counter()
        """The number of plans of each account; empty until time is short."""
        self._lag: float | None = None
        """Lead of the wall clock over the processor time of the committing thread, at the first charge."""

    def charge(self, account: Account | None, seconds: float, sequence: int) -> None:
        """Charge an account for work of a commit."""
        if self._sequence != sequence:
            self.begin(sequence)
        if self._lag is None:
            self._lag = perf_counter() - thread_time()
        self._spent += seconds
        self._sums[account] = self._sums.get(account, 0.0) + seconds

    def refusal(self, account: Account | None, cost: float, sequence: int) -> BudgetError | None:
        """Return the error that ends a plan which has taken `cost` seconds for a commit; None if it may
        go on.
        """
        if self._ended is not None:
            return self._ended
        # at least half of the time is for whichever account needs it
        if self._spent <= self.seconds / 2 or self._sequence != sequence or self._lag is None:
            return None
        if not self._plans_of:
            self._plans_of.update(_payer(plan.accounts) for plan in self._plans if plan.accounts)
        share = self.seconds / (4 * max(len(self._plans_of), 1))
        # the wall clock alone is no reason: other threads may have used the processor
        stolen = perf_counter() - thread_time() - self._lag
        # the shares of this account are part of what it has taken
        if self._spent - stolen <= self.seconds / 2 + 2 * share:
            return None
        if self._sums.get(account, 0.0) <= share or cost <= share / max(self._plans_of[account], 1):
            return None
        whose = "several clients" if account is None else account.name
        return BudgetError(
            f"all subscriptions together would take longer than {self.seconds:g} s for one commit, and those "
            f"of {whose} take more than their share"
        )


def _payer(accounts: Collection[Account]) -> Account | None:
    """Return the account that is charged for a plan: the only one, or None."""
    one, *others = accounts
    return None if others else one
