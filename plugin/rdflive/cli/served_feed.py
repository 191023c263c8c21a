"""The feed of `rdflive serve --changes`, which the dataset follows in a thread."""

from __future__ import annotations

import argparse
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import rdflive
from rdflive.api.mirror import mirror  # not rdflive.mirror, which the thread of the feed would import
from rdflive.errors import RdfliveError
from rdflive.feeds import Entry

if TYPE_CHECKING:
    from rdflive.server.service import Service

__all__ = ["fed"]

_LOOKS: Final = 0.5
"""Seconds between two checks of a file for more content."""
_GRACE: Final = 10.0
"""Seconds for an entry of the feed to complete at shutdown."""


@contextmanager
def fed(service: Service, form: Any, args: argparse.Namespace, name: str | None) -> Iterator[None]:
    """Let the dataset follow the feed in a thread while the block runs."""
    if form is None:
        yield
        return
    # imports the store's adapter here: a signal during an import can leave Python's import lock held, and an
    # import in the thread would then wait for ever
    lock, is_over = service.capture.lock, threading.Event()
    thread = threading.Thread(
        target=_follow, args=(service, form, args, name, is_over), name="rdflive-feed", daemon=True
    )
    service.feed = "following"
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        # waits for a running entry; between two entries the lock is free
        if lock.acquire(timeout=_GRACE):
            lock.release()


class _Over(Exception):  # noqa: N818 - not an error
    """The server is ending."""


def _follow(
    service: Service, form: Any, args: argparse.Namespace, name: str | None, is_over: threading.Event
) -> None:
    def applied(entry: Entry) -> None:
        service.metrics.feed_entries.inc()
        if args.follow and entry.frame:
            service.feed_lag = partial(_unread, args.changes, entry.frame[-1].end)
        if is_over.wait(args.pace):
            # between two entries, so that none is applied in part
            raise _Over

    try:
        done = mirror(
            service.dataset,
            args.changes,
            form,
            name=name,
            snapshot=args.snapshot,
            on_bad=args.on_bad,
            dead_letters=args.dead_letters,
            follow=_LOOKS if args.follow else None,
            on_entry=applied,
        )
    except _Over:
        return
    except BaseException as error:
        service.feed = "stopped"
        if not isinstance(error, RdfliveError | OSError):
            raise  # the thread prints the traceback
        if not is_over.is_set():
            # the applied entries are still served
            print(f"rdflive: error: the feed has stopped: {error}", file=sys.stderr, flush=True)
    else:
        service.feed = "ended"
        print(f"the feed has ended: {_summary(done, args.dead_letters)}", file=sys.stderr, flush=True)


def _unread(path: str, position: int) -> int:
    """Return the bytes of a file behind a position."""
    try:
        return max(0, os.path.getsize(path) - position)
    except OSError:  # it is being replaced
        return 0


def _summary(done: rdflive.Mirrored, dead_letters: str | None) -> str:
    changes = "1 change" if done.changes == 1 else f"{done.changes:,} changes"
    if not done.skipped:
        return changes
    records = "1 bad record" if done.skipped == 1 else f"{done.skipped:,} bad records"
    return f"{changes}, {records} skipped into {dead_letters}"
