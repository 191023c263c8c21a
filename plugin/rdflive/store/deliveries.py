"""The queue of deliveries of a store: callbacks run after the store's lock is free, in commit order.

For example, two threads commit, first A, then B. The deliveries of A run before those of B, whichever thread
is ready first: the thread of B waits, or leaves its deliveries to the thread of A.
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

_ANY: Final = 0
"""Owner value of a delivery that any delivering thread may run."""
_PATIENCE: Final = 1.0
"""Seconds to wait for a thread that has committed but has not started to deliver."""


class Delivering:
    """Runs a list of steps. The run after an interruption repeats the interrupted step.

    So a step must do nothing if it was done before. The same holds for `steps`, which makes the list, and may
    do a lone step itself instead. A step that raises, or is interrupted twice, is skipped and
    `owe` is called, so that it cannot block the queue for ever.
    """

    # values of the class until they change, because each commit makes a delivery and most never change them
    has_run = False
    owner = _ANY
    """The thread that runs it, once it is queued."""
    _left: list[Action] | None = None
    _tried: object = None

    def __init__(self, *steps: Action) -> None:
        self._given = steps

    def steps(self) -> list[Action]:
        """List the steps in order."""
        return list(self._given)

    def owe(self) -> None:
        """Record that a step was skipped: its subscriber must get the full answer."""

    def go_on(self) -> None:
        """Run the remaining steps."""
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
        """Skip the step that raised, unless it was interrupted for the first time."""
        # before `steps` has returned, listing the steps counts as the step
        step: object = self._left[0] if self._left else self
        if step is self._tried or not is_interruption(error):
            self._left = [] if self._left is None else self._left
            del self._left[:1]
            self.owe()
        self._tried = step


_turns: Final[dict[int, int]] = {}
"""The `id` of a queue → the thread that has the turn to deliver from it. `setdefault` takes a turn
atomically, and `pop` ends it.
"""


class Deliveries(deque[Delivering]):
    """The queue of one store. A delivery leaves it after its run.

    It is a deque, so that a writing thread can test without a call that there is nothing to deliver. It has
    no lock, which would double the cost of the common case, a single delivery. Instead each operation on the
    queue is atomic in Python, and only the thread that has the turn removes deliveries.
    """

    __slots__ = ("_id", "_may_wait", "_waiting", "aside")

    def __init__(self, may_wait: Callable[[], bool] = lambda: True) -> None:
        super().__init__()
        self._id = id(self)
        self._may_wait = may_wait
        """Returns true if the calling thread may wait for others."""
        self.aside: list[Delivering] | None = None
        """If not None, takes the new deliveries, which then never run: the commit is only tried."""
        self._waiting: list[threading.Lock] = []
        """The locks of threads that wait for a change of the queue."""

    @property
    def is_mine(self) -> bool:
        """True inside a delivery that this thread runs: the deliveries of later commits wait for it."""
        return _turns.get(self._id) == _ident()

    def put(self, delivery: Delivering) -> None:
        """Queue a delivery of this thread. Called under the store's lock."""
        if self.aside is not None:
            self.aside.append(delivery)
            return
        delivery.owner = _ident()
        self.append(delivery)

    def run(self) -> None:
        """Run this thread's deliveries in commit order. Inside a delivery, leave them to the outer `run`.

        A thread waits while an earlier commit's delivery belongs to another thread. If that thread is gone,
        the waiting thread runs its deliveries. Inside a delivery of another store a thread does not wait,
        because two stores whose callbacks write to each other would wait for each other. A thread that may
        not wait leaves its deliveries to the thread that has the turn.

        A delivery that Ctrl-C interrupts stays in the queue for the next delivering thread. After any other
        exception the remaining deliveries run, and the last exception is raised at the end.
        """
        me, own = _ident(), self._id
        if _turns.get(own) == me:
            return
        failure: BaseException | None = None
        try:
            for delivery in iter(partial(self._next, me), None):
                try:
                    delivery.go_on()
                except BaseException as error:  # noqa: BLE001 - raised below, after the remaining deliveries
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
                self._wake()  # otherwise waiting threads would wait for `_PATIENCE`
        if failure is not None:
            self.give_away(me)
            raise failure

    def give_away(self, owner: int = _ANY) -> None:
        """Let any delivering thread run the deliveries of a thread, by default all deliveries."""
        for delivery in tuple(self):
            if owner in (_ANY, delivery.owner):
                delivery.owner = _ANY

    def free_others(self) -> bool:
        """Release the turns of other threads in a fork. Returns true if one was inside a delivery."""
        self._waiting = []
        was_inside = self._id in _turns and not self.is_mine
        if was_inside:
            del _turns[self._id]
        self.give_away()
        return was_inside

    def _next(self, me: int) -> Delivering | None:
        """Take the turn for the next delivery that this thread may run, and return that delivery."""
        note: threading.Lock | None = None
        may_wait = False
        while True:
            try:
                first = self[0]
            except IndexError:
                return None
            is_ours = first.owner == me or first.owner == _ANY or first.has_run
            if is_ours and _turns.setdefault(self._id, me) == me:
                # checked again, because another thread may have had the turn meanwhile
                if self and self[0] is first and not first.has_run:
                    return first
                while self and self[0].has_run:
                    self.popleft()
                _turns.pop(self._id)
                self._wake()
            elif note is None:
                if not any(delivery.owner in (me, _ANY) for delivery in tuple(self)):
                    return None
                # A thread that ends its turn now may miss this waiting thread, and the deliveries that it
                # gives away. So the loop checks the queue once more before it waits or returns.
                note = threading.Lock()
                note.acquire()
                # no wait inside a delivery of another store, which may come to wait for this one
                may_wait = self._may_wait() and me not in _turns.values()
                if may_wait:
                    self._waiting.append(note)
                else:
                    self.give_away(me)
            elif not may_wait:
                return None
            else:
                # a delivering thread may take any time, but a thread without the turn may have ended
                is_taken = self._id in _turns
                if not note.acquire(timeout=_PATIENCE) and not is_taken:
                    self.give_away(first.owner)
                note = None

    def _wake(self) -> None:
        """Wake the threads that wait for a change of the queue."""
        waiting = self._waiting
        # removed one by one, because other threads may add or wake meanwhile
        for _ in range(len(waiting)):
            with suppress(IndexError):
                waiting.pop().release()
