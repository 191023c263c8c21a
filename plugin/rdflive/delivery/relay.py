"""Delivery of deltas to a callback in an executor, in an event loop, or after a delay."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self

from rdflive.delivery.calling import (
    Callback,
    Called,
    call,
    call_async,
    check_callback,
    failed,
    interrupted,
    is_async,
)
from rdflive.delivery.mailbox import QUEUED_ROWS, Mailbox
from rdflive.errors import RdfliveError
from rdflive.model import Delta
from rdflive.time.instants import SECOND, DurationLike, to_duration

if TYPE_CHECKING:
    import asyncio

__all__ = ["Elsewhere", "Inbox", "Receiver", "Relay", "elsewhere"]


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """The place of a callback outside the writing thread, and the time for which deltas are merged."""

    loop: asyncio.AbstractEventLoop | None
    """The event loop of an async callback; None for a plain function."""
    executor: Executor | None
    throttle: float
    """Seconds."""


def elsewhere(
    callback: Callable[..., Any] | None, throttle: DurationLike | None, executor: Executor | None
) -> Elsewhere | None:
    """Return the place of a callback; None for the writing thread.

    Raises TypeError or ValueError for invalid arguments, and RuntimeError for a coroutine function without a
    running event loop.

    >>> elsewhere(print, "250 ms", None).throttle
    0.25
    """
    if executor is not None:
        # imported here, because it loads multiprocessing
        from concurrent.futures import ProcessPoolExecutor

        if not isinstance(executor, Executor) or isinstance(executor, ProcessPoolExecutor):
            raise TypeError(
                f"executor must run functions in this process, as a concurrent.futures.ThreadPoolExecutor "
                f"does, got {executor!r}"
            )
    try:
        seconds = 0.0 if throttle is None else to_duration(throttle) / SECOND
    except (TypeError, ValueError) as error:
        raise type(error)(f"throttle: {error}") from None
    if seconds > threading.TIMEOUT_MAX:
        raise ValueError(f"throttle must be {threading.TIMEOUT_MAX:.0f} seconds or less, got {throttle!r}")
    if callback is None:
        if throttle is not None or executor is not None:
            raise ValueError(
                "throttle= and executor= need a callback. An iterator takes deltas at its own pace, and "
                "a + b merges two"
            )
        return None
    if not is_async(callback):
        return None if throttle is None and executor is None else Elsewhere(None, executor, seconds)
    if executor is not None:
        raise ValueError("executor= calls plain functions; an async callback runs in the event loop")
    import asyncio  # here, because it is large and most callbacks are plain functions

    try:
        return Elsewhere(asyncio.get_running_loop(), None, seconds)
    except RuntimeError as error:
        raise RuntimeError(
            f"the async callback {callback!r} needs a running event loop: call subscribe in a coroutine, or "
            "give a plain function"
        ) from error


class Inbox(Protocol):
    """The source of a relay's deltas."""

    @property
    def waits(self) -> bool:
        """True while there is a delta to take."""

    def take_now(self, wake: Callable[[], None]) -> tuple[Delta | None, bool]:
        """Take a delta without blocking; see `DeltaSource`."""
        ...

    def done(self) -> None:
        """Record that the callback has returned."""

    def again(self) -> None:
        """Record that the callback was interrupted."""


class _Relayed(Called, Protocol):
    @property
    def closed(self) -> bool: ...

    def close(self) -> None: ...

    def is_overtaken(self, delta: Delta) -> bool: ...


class Relay:
    """Passes deltas to a callback in order, one call at a time.

    At most one call is scheduled. It has a ticket, and only the newest ticket is valid. So after an
    interruption, when it is unknown if a call was scheduled, another call can be scheduled safely.
    """

    def __init__(self, subscription: _Relayed, callback: Callback | None, place: Elsewhere) -> None:
        self.mailbox = Mailbox(limit=0 if place.throttle else QUEUED_ROWS)
        """The deltas that wait for the callback, unless a journal keeps them."""
        self.inbox: Inbox = self.mailbox
        self._subscription = subscription
        self._callback: Any = callback
        self._place = place
        # an async callback runs in the context of `subscribe`, not in that of the writer
        self._context = contextvars.copy_context()
        self._lock = threading.RLock()
        self._ticket: object = None
        """The ticket of the scheduled call."""
        self._is_arranged = False
        """True when that call is certain to run."""
        self._running: object = None
        """The ticket of the running call."""
        self._timer: threading.Timer | None = None
        self._task: asyncio.Task[None] | None = None
        """A reference, because the loop keeps none."""
        self._is_lost = False

    def begin(self) -> None:
        """Schedule a call if a delta waits and no call is scheduled. May be repeated."""
        if self._place.loop is not None and self._place.loop.is_closed() and self.inbox.waits:
            self._lose("its event loop is closed")
            return
        with self._lock:
            if self._running or self._is_arranged or not self.inbox.waits or self._subscription.closed:
                return
            ticket = self._ticket = object()
        if self._place.throttle:
            timer = threading.Timer(self._place.throttle, self._send, [ticket])
            timer.daemon = True
            self._timer = timer
            try:
                timer.start()
            except RuntimeError as error:  # no thread can be started now; the next delta tries again
                self._withdraw(ticket)
                failed(self._subscription, error)
                return
        else:
            self._send(ticket)
        with self._lock:
            if self._ticket is ticket:
                self._is_arranged = True

    def close(self) -> None:
        """Start no more calls; a running call goes on to its end."""
        self.mailbox.stop()
        timer = self._timer
        if timer is not None:
            timer.cancel()

    def _send(self, ticket: object) -> None:
        """Start the call in the loop, in the executor, or in this thread, which is the timer's."""
        place = self._place
        try:
            if place.loop is not None:
                place.loop.call_soon_threadsafe(self._start_task, place.loop, ticket, context=self._context)
            elif place.executor is not None:
                future = place.executor.submit(self._work, ticket)
                future.add_done_callback(self._future_ended)
            else:
                self._work(ticket)
        except RecursionError:
            self._withdraw(ticket)
            raise
        except RuntimeError as error:  # the loop is closed, or the executor shut down
            self._lose(f"it cannot be called any more: {error}", error)
        except BaseException:
            self._withdraw(ticket)
            raise

    def _future_ended(self, future: Future[None]) -> None:
        if future.cancelled():
            self._lose("its executor has cancelled it")
        elif (error := future.exception()) is not None:
            self._lose(f"its executor failed: {error!r}", error)

    def _start_task(self, loop: asyncio.AbstractEventLoop, ticket: object) -> None:
        self._task = loop.create_task(self._work_async(ticket))
        # a task that is cancelled before its start runs none of its code
        self._task.add_done_callback(lambda _: self._end_task(ticket))

    def _end_task(self, ticket: object) -> None:
        if self._ticket is ticket:
            self._withdraw(ticket)
            why = "was cancelled before it started, as by the end of its event loop; its delta waits"
            failed(self._subscription, RdfliveError(f"{self._named} {why} for the next one"))

    def _work(self, ticket: object) -> None:
        try:
            delta = self._take(ticket)
            has_taken = True
            if delta is not None:
                has_taken = call(self._subscription, self._callback, delta)
                self.inbox.done()
        except BaseException as error:  # noqa: BLE001 - the executor or the timer would swallow it
            self._fail(ticket, error)
        else:
            self._go_on(ticket, has_taken=has_taken)

    async def _work_async(self, ticket: object) -> None:
        try:
            delta = self._take(ticket)
            has_taken = True
            if delta is not None:
                has_taken = await call_async(self._subscription, self._callback, delta)
                self.inbox.done()
        except BaseException as error:
            # no new call here, because the loop may be ending; the next delta schedules one
            self._fail(ticket, error)
            if not isinstance(error, Exception):
                raise
        else:
            self._go_on(ticket, has_taken=has_taken)

    def _take(self, ticket: object) -> Delta | None:
        """Start the call of a ticket, and return its delta; None if another call has replaced it."""
        with self._lock:
            if ticket is not self._ticket or self._subscription.closed:
                return None
            self._running, self._ticket, self._is_arranged = ticket, None, False
        while True:
            delta = self.inbox.take_now(_ignore)[0]
            # a journal repeats an interrupted delta itself, and has its own numbers
            if delta is None or self.inbox is not self.mailbox or not self._subscription.is_overtaken(delta):
                return delta

    def _go_on(self, ticket: object, *, has_taken: bool) -> None:
        """End a call, and start the next if a delta waits."""
        self._leave(ticket)
        # a journal would repeat the failed delta at once, again and again
        if has_taken or self.inbox is self.mailbox:
            self.begin()

    def _leave(self, ticket: object) -> None:
        with self._lock:
            if self._running is ticket:
                self._running = None

    def _withdraw(self, ticket: object) -> None:
        """Cancel the call of a ticket, so that another can be scheduled."""
        with self._lock:
            if self._ticket is ticket:
                self._ticket, self._is_arranged = None, False

    def _fail(self, ticket: object, error: BaseException) -> None:
        """End an interrupted call; the subscriber gets the full answer next."""
        # another call must not start before `doubt`, and must not be missed when the answer arrives
        with self._lock:
            try:
                self.inbox.again()
                self._subscription.doubt()
            finally:
                self._leave(ticket)
        interrupted(self._subscription, error)

    def _lose(self, why: str, cause: BaseException | None = None) -> None:
        """Close the subscription, because its callback cannot be called any more."""
        with self._lock:
            if self._is_lost or self._subscription.closed:
                return
            self._is_lost = True
        error = RdfliveError(f"{self._named} gets no more deltas, because {why}; subscribe again")
        error.__cause__ = cause
        self._subscription.close()
        failed(self._subscription, error, "subscription %r has ended")

    @property
    def _named(self) -> str:
        return f"the callback of subscription {self._subscription.name or self._subscription.query!r}"


def _ignore() -> None:
    """Do nothing: `begin` is called after each new delta."""


@dataclass(frozen=True, slots=True)
class Receiver:
    """The options of `subscribe` about the subscriber. The subscriptions of one call share them."""

    callback: Callback | None
    initial: bool
    """True if the first delta is the full answer at the start of the subscription."""
    name: str | None
    on_error: Literal["log", "ignore"] | Callable[[Any, Exception], object]
    """The treatment of exceptions of the callback; a function gets the subscription and the exception."""
    elsewhere: Elsewhere | None
    """The place of the callback; None for the writing thread."""

    @classmethod
    def checked(
        cls,
        callback: Callback | None,
        *,
        initial: bool,
        name: str | None,
        on_error: Literal["log", "ignore"] | Callable[[Any, Exception], object],
        throttle: DurationLike | None = None,
        executor: Executor | None = None,
    ) -> Self:
        """Return the receiver for arguments of `subscribe`.

        Raises TypeError, ValueError or RuntimeError for invalid ones.
        """
        check_callback(callback, on_error)
        return cls(callback, initial, name, on_error, elsewhere(callback, throttle, executor))
