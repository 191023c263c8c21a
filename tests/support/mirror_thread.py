"""A mirror that runs in a thread until the test closes it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import rdflive
from rdflive.feeds import Entry
from rdflive_stores.endpoint.feed import EndpointFeed

PATIENCE = 60.0


@dataclass
class MirrorThread:
    """The entries and the failure of a running mirror."""

    entries: list[Entry] = field(default_factory=list)
    failure: BaseException | None = None

    def until(self, holds: Callable[[], bool]) -> None:
        """Wait until `holds` returns True; fail after a minute, or if the mirror fails."""
        deadline = time.monotonic() + PATIENCE
        while not holds():
            if self.failure is not None:
                raise self.failure
            assert time.monotonic() < deadline, "the mirror did not get there"
            time.sleep(0.02)


@contextmanager
def following(graph: Any, feed: EndpointFeed) -> Iterator[MirrorThread]:
    """Mirror the feed into the graph in another thread."""
    following = MirrorThread()

    def run() -> None:
        try:
            rdflive.mirror(graph, feed, on_entry=following.entries.append)
        except BaseException as error:  # noqa: BLE001 - raised in the test's thread
            following.failure = error

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield following
        if following.failure is not None:
            raise following.failure
    finally:
        feed.close()
        thread.join(PATIENCE)
        assert not thread.is_alive(), "the mirror goes on after its feed was closed"
