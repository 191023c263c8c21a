"""A delta on its way to all followers of a subscription, in steps that survive an interruption."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TypeAlias

from rdflive.errors import is_interruption

__all__ = ["Delivering"]

Action: TypeAlias = Callable[[], object]


class Delivering:
    """Runs steps. Called again after an interruption, it goes on with the step that was interrupted.

    So each step must do nothing if it was done before. A step that raises by itself, or is interrupted twice,
    is skipped and `owe` is called, so that nobody behind it waits for ever.
    """

    __slots__ = ("_left", "_owe", "_steps", "_tried", "has_run")

    def __init__(self, steps: Callable[[], list[Action]], owe: Callable[[], object] = lambda: None) -> None:
        self._steps = steps
        self._owe = owe
        self._left: deque[Action] | None = None
        self._tried: Action | None = None
        self.has_run = False

    def __call__(self) -> None:
        """Do the steps that are left."""
        try:
            if self._left is None:
                self._left = deque(self._steps())
            while self._left:
                self._left[0]()
                self._left.popleft()
            self.has_run = True
        except BaseException as error:
            self._pass_over(error)
            raise

    def _pass_over(self, error: BaseException) -> None:
        """Leave out the step that raised, unless it was interrupted for the first time."""
        step = self._left[0] if self._left else self._steps
        if step is self._tried or not is_interruption(error):
            self._left = deque() if self._left is None else self._left
            if self._left:
                self._left.popleft()
            self._owe()
        self._tried = step
