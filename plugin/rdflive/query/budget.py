"""The costs that subscriptions may cause, counted before rows and strings are made."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from math import inf
from time import perf_counter, thread_time
from typing import Any, Final, Protocol, TypeVar

from rdflive.errors import BudgetError

__all__ = ["Budget", "Meter", "largest"]

Result = TypeVar("Result")

_NEVER: Final = -1
"""In place of a commit's number: nothing has been granted for any."""
_BETWEEN: Final = 1000
"""Rows that are counted between two looks at the clock."""


@dataclass(frozen=True, slots=True)
class Budget:
    """What a subscription may use for one commit, and keep. One that needs more ends with `BudgetError`.

    To compute its whole answer, as when it opens, it may use `opening_seconds`, and make as many rows and
    characters as it may keep.

    Subscriptions to equal queries share their work, and each is charged all of it. Those whose queries differ
    in constants share it too: while all of it is within a budget, so is the part of any of them. When it is
    more, they are divided, and one that costs too much is soon alone, and ends.

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
    """Processor time for computing the whole answer."""
    kept_rows: int = 4_000_000
    """Rows kept to update the answer; the triples of patterns are not counted."""
    kept_characters: int = 100_000_000
    """Characters of strings made by functions that are in kept rows."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value <= 0:
                raise ValueError(f"{field.name} must be above zero, got {value!r}")


def largest(budgets: Iterable[Budget]) -> Budget:
    """Give the budget that allows for whatever one of these does.

    >>> largest([Budget(rows=10), Budget(kept_rows=5)]) == Budget()
    True
    """
    one, *others = dict.fromkeys(budgets)
    if not others:
        return one
    each = (one, *others)
    return Budget(**{f.name: max(getattr(budget, f.name) for budget in each) for f in fields(Budget)})


class Numbered(Protocol):
    """Where commits have numbers: see `rdflive.store.capture.Capture`."""

    sequence: int
    """The number of the present commit."""


class Meter:
    """Counts the costs of one plan, and raises `BudgetError` before they exceed a budget.

    All methods run under the store's lock. Code that is about to make rows or strings calls `spend` and
    `make`. What takes long is passed to `run`, `guard` or `open`, or stands between `begin` and `end`: its
    time is counted too. `keep` counts what is kept and raises nothing, because a row must be kept or dropped
    completely.
    """

    __slots__ = (
        "_allowed", "_capture", "_characters", "_deadline", "_floor", "_granted", "_is_opening",
        "_is_working", "_kept_before", "_lag", "_rows", "_seconds", "budget", "error", "kept_characters",
        "kept_rows", "least_rows", "most_characters", "most_rows", "owe",
    )  # fmt: skip

    def __init__(self, budget: Budget, capture: Numbered) -> None:
        """Make the meter of a plan on a store whose commits have the numbers of `capture`."""
        # does nothing, until the engine has made the query whose plan it is
        self.owe: Callable[[], object] = int
        """Called when work is put off because the budget is exceeded, and for more than `least_rows`."""
        self.least_rows: float = inf
        """The smallest number of rows that some member may cause; infinite where all may cause the same."""
        self.error: BudgetError | None = None
        """Why the plan can go on no more."""
        self.kept_rows = 0
        self.kept_characters = 0
        self.most_rows: int
        """More rows than these are too many to be kept."""
        self.most_characters: int
        self._capture = capture
        self._granted = _NEVER
        """The commit that the rest of the budget is for."""
        self._is_opening = False
        self._allowed: Budget
        """The budget that the work is for."""
        self._kept_before = 0, 0
        """What the others keep of what is kept, rows and characters, while one subscription opens."""
        self._seconds = 0.0
        self._rows = 0
        self._characters = 0
        self._floor: float = 0
        """Below so many rows that are left, there is something to look at."""
        self._is_working = False
        self._deadline = inf
        """When the time of the present work is over, by the wall clock; `-inf` until that is looked at."""
        self._lag: float | None = None
        """What the wall clock was ahead of the thread's processor time; None if that was not asked yet."""
        self.allow(budget)

    def allow(self, budget: Budget) -> None:
        """Have the plan run under a budget from now on."""
        self.budget = self._allowed = budget
        self.most_rows, self.most_characters = budget.kept_rows, budget.kept_characters
        # what the present commit has cost is counted by what is left of the old one
        self._granted = _NEVER

    def begin(self) -> None:
        """Begin some work of the present commit; `end` must follow. Its time is charged from the first look
        at the clock on, so that little work needs none.
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
        """Do some work of the present commit; raises `BudgetError`."""
        if self._is_working:
            return work(*arguments)
        if self.error is not None:
            raise self.error
        try:
            # inside `try`: an interruption right behind it must not leave the meter at work for ever
            self.begin()
            return work(*arguments)
        finally:
            self.end()

    def guard(self, test: Callable[[Any], bool]) -> Callable[[Any], bool]:
        """Make a test work of the present commit, where an exception would stop others: it is false then.

        Inside other work of this plan the exception is raised as usual.
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
        """Take an error that would stop other queries; inside other work of this plan it is raised."""
        if self._is_working:
            raise error
        self.error = error
        self.owe()

    def open(
        self, work: Callable[..., Result], *arguments: Any, budget: Budget | None = None, joins: bool = False
    ) -> Result:
        """Compute a whole answer, that of one subscription with its `budget`; raises `BudgetError`.

        One that `joins` others is not charged what these keep.
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
            # the commit that comes next has a budget of its own
            self._is_opening, self._kept_before = False, (0, 0)
            self.allow(self.budget)

    def spend(self, rows: int = 1) -> None:
        """Count rows that are about to be made or looked at."""
        if self._capture.sequence != self._granted:
            self._grant()
        self._rows -= rows
        if self._rows < self._floor:
            self._check()

    def look(self) -> None:
        """Look at the clock, where a row may take long."""
        # the wall clock is cheap to ask; the thread's own time is asked for behind the deadline alone
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
            self._floor = inf  # the next `spend` raises, unless something has gone until then

    def renew(self, kept_rows: int) -> None:
        """Forget what was kept, but for some rows, and that a budget was exceeded: the plan starts again."""
        self.kept_rows, self.kept_characters = kept_rows, 0
        self.error = None

    def excess(self, budget: Budget) -> BudgetError | None:
        """Tell what a smaller budget does not allow for: of the commit's costs, or of what is kept."""
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
        """Grant what one commit may cost, however often the plan works for it."""
        budget = self.budget
        self._granted, self._lag = self._capture.sequence, None
        self._seconds, self._rows, self._characters = budget.seconds, budget.rows, budget.characters
        self._floor = max(0, budget.rows - min(_BETWEEN, self.least_rows))
        self.keep(0)

    def _check(self) -> None:
        """Raise if something is used up. Wall-clock time alone is no reason: other threads may have
        had the processor.
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
            # what passed until now is not charged, for it is not known who had the processor
            self._lag, self._seconds = now - thread_time(), allowed.seconds
            self._deadline = now + self._seconds
        elif self._lag is not None and now > self._deadline:
            lag = now - thread_time()
            self._deadline += lag - self._lag  # what others took is given back
            self._lag = lag
            if now > self._deadline:
                raise _too_long(allowed.opening_seconds if opening else allowed.seconds, opening=opening)

    def _over(self, budget: Budget, rows: int, characters: int, *, opening: bool) -> BudgetError | None:
        """Tell what of the counts is over a budget, of which so many rows and characters are left."""
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
