"""Waits for another thread or process."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import rdflive
from rdflive.delivery.mailbox import MailboxReader

PATIENCE = 30.0  # for slow machines


def until(condition: Callable[[], Any]) -> Any:
    """Wait until the condition returns a true value, and return it."""
    deadline = time.monotonic() + PATIENCE
    while not (found := condition()):
        assert time.monotonic() < deadline, "it does not happen"
        time.sleep(0.005)
    return found


@contextmanager
def waiting(deltas: Any) -> Iterator[list[rdflive.Delta]]:
    """Follow the iterator in a thread that waits at the start of the block and ends with it."""
    told: list[rdflive.Delta] = []
    source = deltas._source
    waiters = (
        source._mailbox if isinstance(source, MailboxReader) else source._outbox.mailbox
    )._changed._waiters
    thread = threading.Thread(target=lambda: told.extend(deltas), daemon=True)
    thread.start()
    deadline = time.monotonic() + PATIENCE
    while not waiters:
        assert time.monotonic() < deadline, "the thread does not wait"
        time.sleep(0.005)
    yield told
    thread.join(PATIENCE)
    assert not thread.is_alive(), "the thread waits for ever"
