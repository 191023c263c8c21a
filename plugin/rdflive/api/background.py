"""A mirror in a thread of its own, and its handle."""

from __future__ import annotations

import atexit
import contextvars
import logging
import os
import threading
import time
from concurrent.futures import Future
from contextlib import AbstractContextManager, suppress
from types import TracebackType
from typing import Final, Self

from rdflive.api.mirror_run import Mirrored, MirrorRun
from rdflive.errors import RdfliveError, WaitError
from rdflive.feeds.feed import is_number

__all__ = ["BackgroundMirror"]

log = logging.getLogger("rdflive")

_GRACE: Final = 1.0
"""Seconds until a stopped mirror that waits in its feed is abandoned."""
_AT_EXIT: Final = 5.0
"""Seconds that the end of the process waits for the current entry."""


class BackgroundMirror:
    """A mirror that runs in a thread of its own; `mirror(..., background=True)` makes it.

    As a context manager it stops the mirror at the end of the block, waits for it, and raises its error. The
    mirror goes on if its handle is dropped. An error that ends it is also logged.

    Ctrl-C only reaches the main thread. When the process ends, it waits up to 5 seconds for the current
    entry.

    >>> import io, rdflib, rdflive
    >>> graph = rdflib.Graph()
    >>> feed = io.BytesIO(b"+ <urn:s> <urn:p> <urn:o> .")
    >>> with rdflive.mirror(graph, feed, "nquads", background=True) as running:
    ...     done = running.wait(timeout=10)
    >>> done.entries, len(graph), running.error
    (1, 1, None)
    """

    def __init__(
        self, opened: AbstractContextManager[MirrorRun], cursor: str | None, *, logs: bool = True
    ) -> None:
        self._outcome: Future[Mirrored] = Future()
        # otherwise a waiting task could cancel it
        self._outcome.set_running_or_notify_cancel()
        self._opened = opened
        self._cursor = cursor
        self._logs = logs
        self._lock = threading.RLock()
        self._run: MirrorRun | None = None
        self._is_stopped = False
        self._timer: threading.Timer | None = None
        self._began = time.monotonic()
        # a daemon, because nothing can end a read of standard input
        self._thread = threading.Thread(
            target=contextvars.copy_context().run, args=[self._work], name="rdflive-mirror", daemon=True
        )
        _alive.add(self)
        try:
            self._thread.start()
        except BaseException as error:
            self._halt()
            self._end(error)
            raise

    def __repr__(self) -> str:
        run = self._run
        state = "running" if not self._outcome.done() else "ended" if self.error is None else "failed"
        done = "" if run is None else f" of {run.feed.source!r}, {run.done.entries:,} entries applied"
        return f"<{type(self).__name__}{done}, {state}>"

    def stop(self) -> None:
        """Apply no further entries, and close the feed. Returns at once; may be repeated.

        The current entry is finished, so the graph stays at a commit that includes its cursor; `wait` returns
        then. If the feed cannot be closed and does not return within a second, such as a read of standard
        input, the mirror ends without it.
        """
        self._halt()
        with self._lock:
            if self._timer is None and not self._outcome.done():
                self._timer = threading.Timer(_GRACE, self._leave)
                self._timer.daemon = True
                with suppress(RuntimeError):  # the process is ending and cannot start threads
                    self._timer.start()

    def wait(self, timeout: float | None = None) -> Mirrored:
        """Wait until the feed ends or the mirror is stopped, and return its result.

        Raises the error that has ended the mirror, such as `FeedError`; `TimeoutError` after `timeout`
        seconds; and `WaitError` in callbacks and in a batch of the store, because the mirror waits for the
        caller there.
        """
        if timeout is not None:
            if not is_number(timeout):
                raise TypeError(f"timeout must be a number of seconds or None, got {timeout!r}")
            timeout = min(timeout, threading.TIMEOUT_MAX)
        run = self._run
        if not self._outcome.done() and (
            threading.current_thread() is self._thread or (run is not None and run.target.waits_for_me)
        ):
            raise WaitError(
                "the mirror waits for this thread: call wait outside of callbacks and batches of the store; "
                "stop() can be called there"
            )
        try:
            return self._outcome.result(timeout)
        except TimeoutError:
            # the mirror's own error may be a TimeoutError too
            if self._outcome.done():
                raise
            raise TimeoutError(f"the mirror has not ended within {timeout} s") from None

    @property
    def error(self) -> BaseException | None:
        """The error that has ended the mirror; None while it runs, and after a normal end or `stop`."""
        return self._outcome.exception() if self._outcome.done() else None

    @property
    def lag(self) -> float | None:
        """Seconds since the graph was last known to be up to date with the feed.

        For a followed file, a polled endpoint, or a log of RDF Patch behind an endpoint, this is the time
        since the last check of the source whose entries have all been applied. A mirror that keeps up has a
        lag of at most `follow` or `every` plus the time of a request. For any other file, pipe or stream it
        is the time since its end was read. None before the first check, and for feeds without `seen_until`,
        such as server-sent events.
        """
        seen: float | None = None if self._run is None else getattr(self._run.feed, "seen_until", None)
        # the feed may have been mirrored into another graph before
        return None if seen is None or seen < self._began else time.monotonic() - seen

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()
        # an exception of the block takes precedence over the mirror's error, which is logged
        with suppress(*([] if kind is None else [Exception])):
            self.wait()

    def _work(self) -> None:
        failure: BaseException | None = None
        try:
            with self._opened as run:
                self._run = run
                # `stop` may have been called before that line
                if self._is_stopped:
                    run.stop()
                run.run(self._cursor)
        except BaseException as error:  # raised by `wait`
            failure = error
            if self._logs:
                trace = None if isinstance(error, RdfliveError | OSError) else error
                source = "a feed" if self._run is None else self._run.feed.source
                log.error("the mirror of %s has ended: %s", source, error, exc_info=trace)
        self._end(failure)

    def _halt(self) -> None:
        self._is_stopped = True
        if self._run is not None:
            try:
                self._run.stop()
            except Exception:
                log.exception("the feed of a stopped mirror cannot be closed")

    def _leave(self) -> None:
        """End without the thread once it is not applying an entry."""
        if self._run is not None:
            with self._run.step:
                # otherwise a step has failed, and the thread is about to report it
                if not self._run.is_applying:
                    self._end(None)
        else:
            self._end(None)

    def _end(self, error: BaseException | None) -> None:
        run = self._run
        with self._lock:
            if self._outcome.done():
                return
            _alive.discard(self)
            if self._timer is not None:
                self._timer.cancel()
            if error is not None:
                self._outcome.set_exception(error)
            else:
                self._outcome.set_result(Mirrored() if run is None else run.done)

    def _settle(self, deadline: float) -> None:
        """Wait until no entry is being applied; called when the process ends."""
        self._thread.join(min(_GRACE, max(0.0, deadline - time.monotonic())))
        if self._run is not None and self._thread.is_alive():
            # not released, so that no further step starts
            self._run.step.acquire(timeout=max(0.0, deadline - time.monotonic()))


_alive: Final[set[BackgroundMirror]] = set()


@atexit.register
def _stop_all() -> None:
    """Stop all mirrors at a commit: a thread that ends inside a store's native code may crash the process."""
    running = tuple(_alive)
    for mirror in running:
        mirror._halt()
    deadline = time.monotonic() + _AT_EXIT
    for mirror in running:
        mirror._settle(deadline)


def _forked() -> None:
    """End the mirrors in a forked child, which does not have their threads."""
    for mirror in tuple(_alive):
        # without its feed: to shut a socket down here would end the parent's stream
        mirror._run = None
        mirror._lock = threading.RLock()
        mirror._outcome = Future()
        mirror._outcome.set_exception(RdfliveError("the mirror runs in the process that started it"))
    _alive.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
