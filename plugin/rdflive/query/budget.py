"""The costs of subscriptions, counted before rows and strings are made."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields
from math import inf
from sys import maxsize
from time import perf_counter, thread_time
from typing import Any, Final, Protocol, TypeVar

from rdflive.errors import BudgetError
from rdflive.query.shared_budget import Account, SharedBudget

__all__ = ["BOUNDLESS", "Budget", "Meter", "largest"]

Result = TypeVar("Result")

_NEVER: Final = -1
"""In place of a commit's number: nothing has been granted for any commit."""
_BETWEEN: Final = 1000
"""Rows that are counted between two checks of the clock."""


@dataclass(frozen=True, slots=True)
class Budget:
    """The limits of a subscription for one commit and for its state. A subscription that needs more ends with
    `BudgetError`.

    To compute its full answer, as when it opens, it may use `opening_seconds`, and make as many rows and
    characters as it may keep.

    Subscriptions to equal queries share their work, and each is charged all of it. Subscriptions whose
    queries differ only in constants share it too: while the total is within a budget, so is the part of any
    of them. When the total exceeds it, they are divided, and a subscription that costs too much is soon
    alone, and ends.
    >>> Budget(rows=1000).rows
    1000
    """

    seconds: float = 2.0
    """Processor time for the work of one commit."""
    rows: int = 1_000_000
    """Rows made or compared for one commit."""
    characters: int = 20_000_000
    """Characters of the strings made by functions for one commit."""
    opening_seconds: float = 30.0
    """Processor time for computing the full answer."""
    kept_rows: int = 4_000_000
    """Rows kept to update the answer; the triples of patterns are not counted."""
    kept_characters: int = 100_000_000
    """Characters of strings made by functions that are in kept rows."""
    account: Account | None = field(default=None, kw_only=True)
    """The account of a `SharedBudget`, which is charged too."""

    def __post_init__(self) -> None:
        for name in _LIMITS:
            value = getattr(self, name)
            if value <= 0:
                raise ValueError(f"{name} must be above zero, got {value!r}")

    @property
    def shared(self) -> SharedBudget | None:
        """The shared budget of its account."""
        return None if self.account is None else self.account.shared


_LIMITS: Final = tuple(each.name for each in fields(Budget) if not each.kw_only)
BOUNDLESS: Final = Budget(*[maxsize] * len(_LIMITS))
"""A budget for work that must be finished."""


def largest(budgets: Iterable[Budget]) -> Budget:
    """Return the smallest budget that is at least each of these in every limit.

    >>> largest([Budget(rows=10), Budget(kept_rows=5)]) == Budget()
    True
    """
    one, *others = dict.fromkeys(budgets)
    if not others:
        return one
    each = (one, *others)
    return Budget(**{name: max(getattr(budget, name) for budget in each) for name in _LIMITS})


class Numbered(Protocol):
    """A source of commit numbers: see `rdflive.store.capture.Capture`."""

    sequence: int
    """The number of the present commit."""


class Meter:
    """Counts the costs of one plan, and raises `BudgetError` before they exceed a budget.

    All methods run under the store's lock. Code that is about to make rows or strings calls `spend` and
    `make`. Long work is passed to `run`, `guard` or `open`, or is between `begin` and `end`, so that its time
    is counted too. `keep` counts kept rows and raises nothing, because a row must be kept or dropped
    completely.
    """

    __slots__ = (
        "__weakref__", "_allowed", "_capture", "_characters", "_deadline", "_floor", "_granted",
        "_is_opening", "_is_working", "_kept_before", "_lag", "_rows", "_seconds", "budget", "error",
        "kept_characters", "kept_rows", "least_rows", "most_characters", "most_rows", "owe",
    )  # fmt: skip

    def __init__(self, budget: Budget, capture: Numbered) -> None:
        """Make the meter of a plan; `capture` has the numbers of the store's commits."""
        # does nothing until the engine has made the query of the plan
        self.owe: Callable[[], object] = int
        """Called when work is deferred because the budget is exceeded, and for more than `least_rows`."""
        self.least_rows: float = inf
        """The smallest row limit of a member; infinite if all members have the same."""
        self.error: BudgetError | None = None
        """The reason why the plan has stopped."""
        self.kept_rows = 0
        self.kept_characters = 0
        self.most_rows: int
        """The limit of kept rows."""
        self.most_characters: int
        self._capture = capture
        self._granted = _NEVER
        """The commit that the rest of the budget is for."""
        self._is_opening = False
        self._allowed: Budget
        """The budget of the present work."""
        self._kept_before = 0, 0
        """Rows and characters that other members keep, while one subscription opens."""
        self._seconds = 0.0
        self._rows = 0
        self._characters = 0
        self._floor: float = 0
        """Rows left below which `spend` runs a check."""
        self._is_working = False
        self._deadline = inf
        """The end of the present work's time, by the wall clock; `-inf` until the first check."""
        self._lag: float | None = None
        """Lead of the wall clock over the thread's processor time; None if not measured yet."""
        self.allow(budget)

    def allow(self, budget: Budget) -> None:
        """Set the budget of the plan from now on."""
        self.budget = self._allowed = budget
        self.most_rows, self.most_characters = budget.kept_rows, budget.kept_characters
        # the costs of the present commit are counted against the old budget
        self._granted = _NEVER

    def begin(self) -> None:
        """Start some work of the present commit; `end` must follow. Its time is charged from the first check
        of the clock on, so that small work needs no check.
        """
        if not self._is_opening:
            self._is_working, self._deadline = True, -inf

    def end(self) -> None:
        """End the work, and count its time."""
        if not self._is_opening:
            if self._deadline > 0:
                self._seconds = self._deadline - perf_counter()
            self._is_working, self._deadline = False, inf

    def run(self, work: Callable[..., Result], *arguments: Any) -> Result:
        """Run some work of the present commit; raises `BudgetError`."""
        if self._is_working:
            return work(*arguments)
        if self.error is not None:
            raise self.error
        try:
            # inside `try`: an interruption directly after it must not leave the meter at work for ever
            self.begin()
            return work(*arguments)
        finally:
            self.end()

    def guard(self, test: Callable[[Any], bool]) -> Callable[[Any], bool]:
        """Make a test count as work of the present commit; on `BudgetError` it is false, so that other plans
        go on.

        Inside other work of this plan the error is raised as usual.
        """

        def guarded(row: Any) -> bool:
            if self._is_working:
                return test(row)
            try:
                return self.run(test, row)
            except BudgetError as error:
                self.put_off(error)
                return False

        return guarded

    def put_off(self, error: BudgetError) -> None:
        """Store an error that would stop other queries; inside other work of this plan, raise it."""
        if self._is_working:
            raise error
        self.error = error
        self.owe()

    def open(
        self, work: Callable[..., Result], *arguments: Any, budget: Budget | None = None, joins: bool = False
    ) -> Result:
        """Compute a full answer, that of one subscription with its `budget`; raises `BudgetError`.

        A subscription that `joins` others is not charged the rows that these keep.
        """
        if self.error is not None:
            raise self.error
        if self._is_opening:
            return work(*arguments)
        allowed = self.budget if budget is None else budget
        self._kept_before = rows, characters = (self.kept_rows, self.kept_characters) if joins else (0, 0)
        self.most_rows, self.most_characters = rows + allowed.kept_rows, characters + allowed.kept_characters
        self._allowed, self._seconds = allowed, allowed.opening_seconds
        self._rows, self._characters = allowed.kept_rows, allowed.kept_characters
        self._floor = max(0, self._rows - _BETWEEN)
        try:
            self._is_working, self._is_opening, self._granted = True, True, self._capture.sequence
            now = perf_counter()
            self._deadline, self._lag = now + self._seconds, now - thread_time()
            result = work(*arguments)
            self._check()
            return result
        finally:
            self._is_working, self._deadline = False, inf
            # the next commit has a budget of its own
            self._is_opening, self._kept_before = False, (0, 0)
            self.allow(self.budget)

    def spend(self, rows: int = 1) -> None:
        """Count rows that are about to be made or read."""
        if self._capture.sequence != self._granted:
            self._grant()
        self._rows -= rows
        if self._rows < self._floor:
            self._check()

    def look(self) -> None:
        """Check the clock before a row that may take long."""
        # the wall clock is cheap; the thread's own time is read only after the deadline
        now = perf_counter()
        if now > self._deadline:
            if self._capture.sequence != self._granted:
                self._grant()
            if self._deadline < 0 < self._seconds:
                self._deadline = now + self._seconds  # what `_check` does at the first look
            else:
                self._check()

    def make(self, characters: int) -> None:
        """Count characters of a string that is about to be made."""
        if self._capture.sequence != self._granted:
            self._grant()
        self._characters -= characters
        if self._characters < 0:
            self._check()

    def keep(self, rows: int, characters: int = 0) -> None:
        """Count rows and characters that are kept from now on; negative numbers are no longer kept."""
        self.kept_rows += rows
        self.kept_characters += characters
        if self.kept_rows > self.most_rows or self.kept_characters > self.most_characters:
            self._floor = inf  # the next `spend` raises, unless enough is removed before

    def renew(self, kept_rows: int) -> None:
        """Reset the counts and the error for a restart of the plan; `kept_rows` are kept already."""
        self.kept_rows, self.kept_characters = kept_rows, 0
        self.error = None

    def excess(self, budget: Budget) -> BudgetError | None:
        """Return the error if the commit's costs or the kept rows exceed a smaller budget."""
        if self._capture.sequence != self._granted:
            self._grant()
        own, spent = self._allowed, self._allowed.seconds - self._seconds
        found = self._over(
            budget,
            self._rows + budget.rows - own.rows,
            self._characters + budget.characters - own.characters,
            opening=False,
        )
        if found is None and spent > budget.seconds and self._lag is not None:
            stolen = perf_counter() - thread_time() - self._lag
            if spent - stolen > budget.seconds:
                found = _too_long(budget.seconds, opening=False)
        return found

    def _grant(self) -> None:
        """Grant the budget of one commit, however often the plan works for it."""
        budget = self.budget
        self._granted, self._lag = self._capture.sequence, None
        self._seconds, self._rows, self._characters = budget.seconds, budget.rows, budget.characters
        self._floor = max(0, budget.rows - min(_BETWEEN, self.least_rows))
        self.keep(0)

    def _check(self) -> None:
        """Raise if a limit is reached. Wall-clock time alone is no reason: other threads may have used the
        processor.
        """
        if self._capture.sequence != self._granted:
            self._grant()
        allowed, opening = self._allowed, self._is_opening
        error = self._over(allowed, self._rows, self._characters, opening=opening)
        if error is not None:
            raise error
        self._floor = max(0, self._rows - _BETWEEN)
        if not opening and allowed.rows - self._rows > self.least_rows:
            self.owe()
        if not self._is_working:
            return
        now, is_first = perf_counter(), self._deadline < 0
        if is_first:
            self._deadline = now + self._seconds
        if self._lag is None and (now > self._deadline or not is_first):
            # the time until now is not charged, because another thread may have used the processor
            self._lag, self._seconds = now - thread_time(), allowed.seconds
            self._deadline = now + self._seconds
        elif self._lag is not None and now > self._deadline:
            lag = now - thread_time()
            self._deadline += lag - self._lag  # time of other threads is given back
            self._lag = lag
            if now > self._deadline:
                raise _too_long(allowed.opening_seconds if opening else allowed.seconds, opening=opening)

    def _over(self, budget: Budget, rows: int, characters: int, *, opening: bool) -> BudgetError | None:
        """Return the error if a count exceeds a budget, of which these rows and characters are left."""
        rows_before, characters_before = self._kept_before
        if self.kept_rows - rows_before > budget.kept_rows:
            return BudgetError(f"it would keep more than {budget.kept_rows:,} rows")
        if self.kept_characters - characters_before > budget.kept_characters:
            return BudgetError(f"it would keep strings of more than {budget.kept_characters:,} characters")
        if rows < 0:
            most = budget.kept_rows if opening else budget.rows
            return BudgetError(f"it would make or compare more than {most:,} rows {_what(opening=opening)}")
        if characters < 0:
            most = budget.kept_characters if opening else budget.characters
            return BudgetError(
                f"it would make strings of more than {most:,} characters {_what(opening=opening)}"
            )
        return None


def _what(*, opening: bool) -> str:
    return "to work out its answer" if opening else "for one commit"


def _too_long(seconds: float, *, opening: bool) -> BudgetError:
    return BudgetError(f"it takes longer than {seconds:g} s {_what(opening=opening)}")
