"""The queue of deliveries of a store: callbacks run after the store's lock is free, in commit order.

Say two threads commit, first A, then B. The deliveries of A run before those of B, whichever thread is ready
first: the thread of B waits, or leaves its own to the thread of A.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Final, TypeAlias

from rdflive.errors import is_interruption

__all__ = ["Action", "Deliveries", "Delivering"]

Action: TypeAlias = Callable[[], object]

_ident: Final = threading.get_ident

_ANYBODY: Final = 0
"""The owner of a delivery that whoever has the turn runs."""
_PATIENCE: Final = 1.0
"""Seconds to wait for a thread that committed but has not begun to deliver."""


class Delivering:
    """Runs steps. Run again after an interruption, it goes on with the step that was interrupted.

    So each step must do nothing if it was done before; so must `steps`, which lists them, and may do what is
    the only step itself. A step that raises by itself, or is interrupted twice, is skipped and `owe` is
    called, so that nobody behind it waits for ever.
    """

    # Values of the class until they change, which for most deliveries is never: each commit makes one.
    has_run = False
    owner = _ANYBODY
    """The thread that is to run it, once it is queued."""
    _left: list[Action] | None = None
    _tried: object = None

    def __init__(self, *steps: Action) -> None:
        self._given = steps

    def steps(self) -> list[Action]:
        """List what is to be done, in order."""
        return list(self._given)

    def owe(self) -> None:
        """Take note that a step was left out: whoever was to be told must be told everything again."""

    def go_on(self) -> None:
        """Do the steps that are left."""
        try:
            left = self._left
            if left is None:
                left = self._left = self.steps()
            for step in tuple(left):
                step()
                del left[0]
            self.has_run = True
        except BaseException as error:
            self._pass_over(error)
            raise

    def _pass_over(self, error: BaseException) -> None:
        """Leave out the step that raised, unless it was interrupted for the first time."""
        # before there are any, to list them is the step
        step: object = self._left[0] if self._left else self
        if step is self._tried or not is_interruption(error):
            self._left = [] if self._left is None else self._left
            del self._left[:1]
            self.owe()
        self._tried = step


_turns: Final[dict[int, int]] = {}
"""Queue, by its `id`, → the thread that delivers what is in it. A turn is taken by `setdefault`, which no
thread and no signal can come between, and ends with `pop`.
"""


class Deliveries(deque[Delivering]):
    """The queue of one store. A delivery leaves it when it has run.

    It is a deque, so that whoever writes learns without a call that there is nothing to deliver. There is no
    lock, for with nothing else queued, and nobody who delivers, one would cost as much as the rest: each step
    on the queue is one of Python's own, and only who has the turn takes something out.
    """

    __slots__ = ("_id", "_may_wait", "_waiting", "aside")

    def __init__(self, may_wait: Callable[[], bool] = lambda: True) -> None:
        super().__init__()
        self._id = id(self)
        self._may_wait = may_wait
        """Tells whether the thread that asks may wait for others."""
        self.aside: list[Delivering] | None = None
        """Takes what is queued while the changes of a commit are only tried, so that nobody is told."""
        self._waiting: list[threading.Lock] = []
        """What threads wait for that want to know of a change of the queue."""

    @property
    def is_mine(self) -> bool:
        """True inside of a delivery that this thread runs: those of later commits wait for it."""
        return _turns.get(self._id) == _ident()

    def put(self, delivery: Delivering) -> None:
        """Queue a delivery of this thread; under the store's lock."""
        if self.aside is not None:
            self.aside.append(delivery)
            return
        delivery.owner = _ident()
        self.append(delivery)

    def run(self) -> None:
        """Run this thread's deliveries, each in its turn; a call inside a delivery leaves them to that one.

        A thread waits while an earlier commit's delivery belongs to another one. Should that thread be gone,
        the waiting one delivers in its place. Inside a delivery of another store no thread waits: two stores
        whose callbacks write to each other would wait for each other. Where it may not wait, a thread leaves
        what is its own to whoever has the turn.

        What Ctrl-C interrupts stays in the queue, for whoever delivers next; other exceptions keep nobody
        else from its deltas, and the last one is raised in the end.
        """
        me, own = _ident(), self._id
        if _turns.get(own) == me:
            return
        failure: BaseException | None = None
        try:
            for delivery in iter(partial(self._next, me), None):
                try:
                    delivery.go_on()
                except BaseException as error:  # noqa: BLE001 - raised below, when nothing is left behind
                    failure = error
                finally:
                    if delivery.has_run:
                        self.popleft()
                    _turns.pop(own, None)
                    if self._waiting:
                        self._wake()
                if not self or (failure is not None and isinstance(failure, KeyboardInterrupt)):
                    break
        finally:
            if _turns.get(own) == me:
                _turns.pop(own)
                self._wake()  # with nobody else to let go, who waits would wait out its patience
        if failure is not None:
            self.give_away(me)
            raise failure

    def give_away(self, owner: int = _ANYBODY) -> None:
        """Leave the deliveries of a thread, or all of them, to whoever has the turn."""
        for delivery in tuple(self):
            if owner in (_ANYBODY, delivery.owner):
                delivery.owner = _ANYBODY

    def free_others(self) -> bool:
        """Let go of what other threads held, in a fork; true where one was inside a delivery."""
        self._waiting = []
        was_inside = self._id in _turns and not self.is_mine
        if was_inside:
            del _turns[self._id]
        self.give_away()
        return was_inside

    def _next(self, me: int) -> Delivering | None:
        """Take the turn for the next delivery that is this thread's or anybody's, and give that."""
        note: threading.Lock | None = None
        may_wait = False
        while True:
            try:
                first = self[0]
            except IndexError:
                return None
            is_ours = first.owner == me or first.owner == _ANYBODY or first.has_run
            if is_ours and _turns.setdefault(self._id, me) == me:
                # looked at again, for another thread may have had the turn since
                if self and self[0] is first and not first.has_run:
                    return first
                while self and self[0].has_run:
                    self.popleft()
                _turns.pop(self._id)
                self._wake()
            elif note is None:
                if not any(delivery.owner in (me, _ANYBODY) for delivery in tuple(self)):
                    return None
                # Who lets go of the turn meanwhile may not see this thread wait, nor what it gives away. So
                # it looks once more before it does either.
                note = threading.Lock()
                note.acquire()
                # inside a delivery of another store it does not: that one may come to wait for this
                may_wait = self._may_wait() and me not in _turns.values()
                if may_wait:
                    self._waiting.append(note)
                else:
                    self.give_away(me)
            elif not may_wait:
                return None
            else:
                # A thread that is delivering may take its time. One that has not begun may have ended.
                is_taken = self._id in _turns
                if not note.acquire(timeout=_PATIENCE) and not is_taken:
                    self.give_away(first.owner)
                note = None

    def _wake(self) -> None:
        """Wake who waits for a change of the queue."""
        waiting = self._waiting
        # taken out one by one: a thread may note itself meanwhile, and another may wake
        for _ in range(len(waiting)):
            with suppress(IndexError):
                waiting.pop().release()
