"""A delta on its way to all who follow a subscription, in steps that an interruption cannot lose."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

from rdflive.model import Delta

__all__ = ["Delivering", "Ending"]

Step = Callable[[], object]


class Delivering:
    """Hands a delta on, step by step; called again after an interruption it goes on with the step it was at.

    So a step must do nothing where it has been done before.
    """

    __slots__ = ("_delta", "_left", "_steps", "has_run")

    def __init__(self, steps: Callable[[Delta], Iterable[Step]], delta: Delta) -> None:
        self._steps = steps
        self._delta = delta
        self._left: deque[Step] | None = None
        self.has_run = False

    def __call__(self) -> None:
        """Do the steps that are left."""
        if self._left is None:
            self._left = deque(self._steps(self._delta))
        while self._left:
            self._left[0]()
            self._left.popleft()
        self.has_run = True


class Ending:
    """The end of a subscription, in its turn behind the deltas."""

    __slots__ = ("_end", "has_run")

    def __init__(self, end: Callable[[], object]) -> None:
        self._end = end
        self.has_run = False

    def __call__(self) -> None:
        """Bring it about; again after an interruption."""
        self._end()
        self.has_run = True
