"""A run of `rdflive watch`: sending of deltas, and a summary."""

from __future__ import annotations

import time
from collections.abc import Callable

from rdflive.delivery.subscription import Subscription
from rdflive.feeds import Entry
from rdflive.model import Delta

__all__ = ["Progress"]


class Progress:
    """Sends the deltas of a subscription, and counts them and the entries of the feed.

    It uses the subscription's iterator, as errors of a callback would not end the run. The iterator
    acknowledges a delta when the next one is taken, so a resumed subscription repeats a delta whose sending
    failed.
    """

    def __init__(self, subscription: Subscription, send: Callable[[Delta], object], *, pace: float) -> None:
        self._subscription = subscription
        # no wait: the deltas of an entry are delivered when its commit returns
        self._deltas = subscription.deltas(timeout=0)
        self._send = send
        self._pace = pace
        self._entries = self._changes = self._skipped = self._sent = 0
        self._start = time.perf_counter()

    def __str__(self) -> str:
        seconds = time.perf_counter() - self._start
        skipped = [f"{_count(self._skipped, 'bad record')} skipped"] if self._skipped else []
        applied = [_count(self._entries, "entry", "entries"), _count(self._changes, "change")]
        return f"{', '.join([*applied, *skipped, _count(self._sent, 'delta')])} in {seconds:.2f} s"

    def begin(self) -> None:
        """Send the deltas from before the feed, and pause."""
        self._send_all()
        self._start = time.perf_counter()
        time.sleep(self._pace)

    def take(self, entry: Entry) -> None:
        """Count an entry of the feed, send its deltas, and pause."""
        if entry.error is None:
            self._entries += 1
            self._changes += len(entry.batch.changes)
        else:
            self._skipped += 1
        self._send_all()
        time.sleep(self._pace)

    def resynced(self) -> None:
        """Send the deltas of a snapshot, or of an edit."""
        self._send_all()

    def _send_all(self) -> None:
        while (delta := self._next()) is not None:
            self._send(delta)
            self._sent += not delta.initial

    def _next(self) -> Delta | None:
        try:
            return next(self._deltas)
        except TimeoutError:  # no delta is pending
            return None
        except StopIteration:  # the subscription stopped itself
            if self._subscription.last_error is not None:
                raise self._subscription.last_error from None
            return None


def _count(number: int, singular: str, plural: str = "") -> str:
    return f"{number} {singular if number == 1 else plural or singular + 's'}"
