"""The costs that one subscription may cause, counted before rows and strings are made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from math import inf
from time import perf_counter, thread_time
from typing import Any, Final, TypeVar

from rdflive.errors import BudgetError

__all__ = ["Budget", "Meter"]

Result = TypeVar("Result")

_OPENING: Final = -1
"""In place of a commit's number: the whole answer is being computed."""


@dataclass(frozen=True, slots=True)
class Budget:
    """What a subscription may use for one commit, and keep. One that needs more ends with `BudgetError`.

    To compute its whole answer, as when it opens, it may use `opening_seconds`, and make as many rows and
    characters as it may keep.

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


class Meter:
    """Counts the costs of one subscription, and raises `BudgetError` before they exceed its budget.

    All methods run under the store's lock. Work is passed to `run`, `attempt` or `open`, which grant it a
    budget. Inside, code that is about to make rows or strings calls `spend` and `make`. `keep` counts what is
    kept and raises nothing, because a row must be kept or dropped completely.
    """

    __slots__ = (
        "_characters", "_commit", "_deadline", "_granted", "_is_full", "_rows", "_seconds", "_since",
        "budget", "error", "fail", "kept_characters", "kept_rows", "owe",
    )  # fmt: skip

    def __init__(
        self, budget: Budget, commit: Callable[[], int], fail: Callable[[BudgetError], object]
    ) -> None:
        """Make the meter of a subscription on a store whose commit has the number that `commit` gives.

        `fail` is called with the error that ends the subscription.
        """
        self.budget = budget
        self.fail = fail
        # does nothing, until the engine has made the query that is to be ended
        self.owe: Callable[[], object] = int
        """Called when `attempt` found the budget exceeded, so that the next commit ends the subscription."""
        self.error: BudgetError | None = None
        """Why the subscription ends."""
        self.kept_rows = 0
        self.kept_characters = 0
        self._commit = commit
        self._granted: int | None = None
        """The commit that the rest of the budget is for."""
        self._seconds = 0.0
        self._rows = 0
        self._characters = 0
        self._is_full = False
        self._since: float | None = None
        """The thread's processor time when the present work began; None outside any work."""
        self._deadline = inf

    def run(self, work: Callable[..., Result], *arguments: Any) -> Result:
        """Do some work of the present commit; raises `BudgetError`."""
        if self.error is not None:
            raise self.error
        commit = self._commit()
        # one budget per commit, however often the query works for it: per change, and when it drains
        if commit != self._granted:
            budget = self.budget
            self._grant(commit, budget.seconds, budget.rows, budget.characters)
        return self._time(work, *arguments)

    def attempt(self, work: Callable[..., Result], *arguments: Any) -> Result | None:
        """Do work as `run` does, where an exception would stop other queries: over budget, it gives None.

        Inside other work of this subscription the exception is raised as usual.
        """
        if self._since is not None:
            return work(*arguments)
        try:
            return self.run(work, *arguments)
        except BudgetError as error:
            self.error = error
            self.owe()
            return None

    def open(self, work: Callable[..., Result], *arguments: Any) -> Result:
        """Compute a whole answer; raises `BudgetError`."""
        if self.error is not None:
            raise self.error
        budget = self.budget
        self._grant(_OPENING, budget.opening_seconds, budget.kept_rows, budget.kept_characters)
        try:
            return self._time(work, *arguments)
        finally:
            # the commit that comes next has a budget of its own
            self._granted = None

    def spend(self, rows: int = 1) -> None:
        """Count rows that are about to be made or looked at."""
        self._rows -= rows
        # The wall clock is cheap to ask; `_check` asks for the thread's own time only behind the deadline.
        if self._rows < 0 or self._is_full or perf_counter() > self._deadline:
            self._check()

    def make(self, characters: int) -> None:
        """Count characters of a string that is about to be made."""
        self._characters -= characters
        if self._characters < 0 or perf_counter() > self._deadline:
            self._check()

    def keep(self, rows: int, characters: int = 0) -> None:
        """Count rows and characters that are kept from now on; negative numbers are no longer kept."""
        self.kept_rows += rows
        self.kept_characters += characters
        budget = self.budget
        # the next `spend` raises
        self._is_full = self.kept_rows > budget.kept_rows or self.kept_characters > budget.kept_characters

    def _grant(self, commit: int, seconds: float, rows: int, characters: int) -> None:
        self._granted, self._seconds, self._rows, self._characters = commit, seconds, rows, characters

    def _time(self, work: Callable[..., Result], *arguments: Any) -> Result:
        """Do work that is not inside other work, and count its time."""
        try:
            # inside `try`: an interruption right behind it must not leave the meter at work for ever
            self._since = thread_time()
            self._deadline = perf_counter() + self._seconds
            return work(*arguments)
        finally:
            if self._since is not None:
                self._seconds -= thread_time() - self._since
            self._since, self._deadline = None, inf

    def _check(self) -> None:
        """Raise if something is used up. Wall-clock time alone is no reason: other threads may have
        had the processor.
        """
        budget = self.budget
        is_opening = self._granted == _OPENING
        what = "to work out its answer" if is_opening else "for one commit"
        if self.kept_rows > budget.kept_rows:
            raise BudgetError(f"it would keep more than {budget.kept_rows:,} rows")
        if self.kept_characters > budget.kept_characters:
            raise BudgetError(f"it would keep strings of more than {budget.kept_characters:,} characters")
        if self._rows < 0:
            most = budget.kept_rows if is_opening else budget.rows
            raise BudgetError(f"it would make or compare more than {most:,} rows {what}")
        if self._characters < 0:
            most = budget.kept_characters if is_opening else budget.characters
            raise BudgetError(f"it would make strings of more than {most:,} characters {what}")
        if self._since is None:
            return
        left = self._seconds - (thread_time() - self._since)
        if left <= 0:
            seconds = budget.opening_seconds if is_opening else budget.seconds
            raise BudgetError(f"it takes longer than {seconds:g} s {what}")
        # others had the processor, so the clock is asked anew for what is left
        self._deadline = perf_counter() + left
