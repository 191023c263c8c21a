"""The end of a process that does not come to end itself."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

__all__ = ["ending_within"]


@contextmanager
def ending_within(seconds: float) -> Iterator[None]:
    """End this process if the block still runs some seconds after SIGINT or SIGTERM. In the main thread.

    Python calls the handler of a signal between two instructions of the main thread, so none is called while
    Oxigraph loads a file or evaluates an update. A store on disk is as after a kill: it has all commits that
    were acknowledged, and no other in part.
    """
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    is_over = threading.Event()
    threading.Thread(
        target=_watch, args=(reader, is_over, seconds), name="rdflive-ending", daemon=True
    ).start()
    # the system's handler writes the number of each signal there at once, whatever Python does
    before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    try:
        yield
    finally:
        is_over.set()
        signal.set_wakeup_fd(before)
        os.close(writer)


def _watch(reader: int, is_over: threading.Event, seconds: float) -> None:
    with open(reader, "rb", buffering=0) as numbers:
        for number in iter(partial(numbers.read, 1), b""):
            if number[0] in (signal.SIGINT, signal.SIGTERM) and not is_over.wait(seconds):
                message = (
                    f"rdflive: the process ends in the middle of its work, {seconds:g} s after the signal"
                )
                print(message, file=sys.stderr, flush=True)
                os._exit(128 + number[0])
