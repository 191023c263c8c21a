"""The queue of deliveries of a store: callbacks run after the store's lock is free, in commit order.

Say two threads commit, first A, then B. The deliveries of A run before those of B, whichever thread is ready
first: the thread of B waits, or leaves its own to the thread of A.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Final, TypeAlias

from rdflive.errors import is_interruption

__all__ = ["Deliveries", "Delivering"]

Action: TypeAlias = Callable[[], object]

_ident: Final = threading.get_ident

_ANYBODY: Final = 0
"""The owner of a delivery that whoever has the turn runs."""
_PATIENCE: Final = 1.0
"""Seconds to wait for a thread that committed but has not begun to deliver."""


class Delivering:
    """Runs steps. Called again after an interruption, it goes on with the step that was interrupted.

    So each step must do nothing if it was done before; so must `steps`, which lists them, and may do what is
    the only step itself. A step that raises by itself, or is interrupted twice,
    is skipped and `owe` is called, so that nobody behind it waits for ever.
    """

    # Values of the class until they change, which for most deliveries is never: each commit makes one.
    has_run = False
    owner = _ANYBODY
    """The thread that is to run it, once it is queued."""
    _left: list[Action] | None = None
    _tried: Action | None = None

    def __init__(self, steps: Callable[[], list[Action]], owe: Callable[[], object] = lambda: None) -> None:
        self._steps = steps
        self._owe = owe

    def __call__(self) -> None:
        """Do the steps that are left."""
        try:
            left = self._left
            if left is None:
                left = self._left = self._steps()
            while left:
                left[0]()
                del left[0]
            self.has_run = True
        except BaseException as error:
            self._pass_over(error)
            raise

    def _pass_over(self, error: BaseException) -> None:
        """Leave out the step that raised, unless it was interrupted for the first time."""
        step = self._left[0] if self._left else self._steps
        if step is self._tried or not is_interruption(error):
            self._left = [] if self._left is None else self._left
            del self._left[:1]
            self._owe()
        self._tried = step


class _Thread(threading.local):
    depth = 0
    """How many deliveries the thread is inside of, one within the other."""


_thread: Final = _Thread()


class Deliveries(deque[Delivering]):
    """The queue of one store. A delivery leaves it when it has run.

    It is a deque, so that whoever writes learns without a call that there is nothing to deliver.
    """

    __slots__ = ("_delivering", "_mutex", "_waiting")

    def __init__(self) -> None:
        super().__init__()
        self._delivering = 0
        """The thread whose turn it is."""
        self._mutex = threading.RLock()
        """Held for a moment by who looks at the queue, never while waiting."""
        self._waiting: list[threading.Lock] = []
        """What threads wait for that want to know of a change of the queue."""

    @property
    def is_mine(self) -> bool:
        """True inside of a delivery that this thread runs: those of later commits wait for it."""
        return self._delivering == _ident()

    def put(self, delivery: Delivering) -> None:
        """Queue a delivery of this thread."""
        delivery.owner = _ident()
        self.append(delivery)  # without the mutex: it is one step

    def run(self, may_wait: bool) -> None:
        """Run this thread's deliveries, each in its turn; a call inside a delivery leaves them to that one.

        A thread waits while an earlier commit's delivery belongs to another one. Should that thread be gone,
        the waiting one delivers in its place. Inside a delivery of another store no thread waits: two stores
        whose callbacks write to each other would wait for each other. Where it may not wait, a thread leaves
        what is its own to whoever has the turn.

        What Ctrl-C interrupts stays in the queue, for whoever delivers next; other exceptions keep nobody
        else from its deltas, and the last one is raised in the end.
        """
        me = _ident()
        # inside of a delivery, or in the middle of a look at the queue
        if me == self._delivering or self._mutex._is_owned():  # type: ignore[attr-defined]
            return
        depth = _thread.depth
        failure: BaseException | None = None
        try:
            _thread.depth = depth + 1
            while self and (delivery := self._next(me, may_wait and not depth)):
                try:
                    delivery()
                except BaseException as error:  # noqa: BLE001 - raised below, when nothing is left behind
                    failure = error
                finally:  # no call before the assignment, for there a signal could come
                    self._delivering = 0
                    with self._mutex:
                        self._let_go()
                if failure is not None and isinstance(failure, KeyboardInterrupt):
                    break
        finally:
            if self._delivering == me:
                self._delivering = 0
            _thread.depth = depth
        if failure is not None:
            self.give_away(me)
            raise failure

    def give_away(self, owner: int = _ANYBODY) -> None:
        """Leave the deliveries of a thread, or all of them, to whoever has the turn."""
        with self._mutex:
            for delivery in tuple(self):
                if owner in (_ANYBODY, delivery.owner):
                    delivery.owner = _ANYBODY

    def free_others(self) -> bool:
        """Let go of what other threads held, in a fork; true where one was inside a delivery."""
        self._mutex, self._waiting = threading.RLock(), []
        was_inside = self._delivering not in (0, _ident())
        if was_inside:
            self._delivering = 0
        self.give_away()
        return was_inside

    def _next(self, me: int, may_wait: bool) -> Delivering | None:
        """Give the next delivery that is this thread's or anybody's, when it is its turn."""
        while True:
            with self._mutex:
                while self and self[0].has_run:  # where an interruption kept it from leaving
                    self.popleft()
                if not self:
                    return None
                first, delivering = self[0], self._delivering
                if first.owner == me or first.owner == _ANYBODY:
                    if not delivering:
                        self._delivering = me
                        return first
                elif not any(delivery.owner in (me, _ANYBODY) for delivery in tuple(self)):
                    return None
                if may_wait:
                    turn = threading.Lock()
                    turn.acquire()
                    self._waiting.append(turn)
            if not may_wait:
                self.give_away(me)
                return None
            # A thread that is delivering may take its time. One that has not begun may have ended.
            if not turn.acquire(timeout=_PATIENCE) and not delivering:
                self.give_away(first.owner)

    def _let_go(self) -> None:
        """Have what has run leave the queue, and wake who waits; called with the mutex held."""
        if self and self[0].has_run:
            self.popleft()
        if self._waiting:
            waiting, self._waiting = self._waiting, []
            for turn in waiting:
                turn.release()
