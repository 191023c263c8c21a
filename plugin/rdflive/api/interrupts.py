"""Delays Ctrl-C until the end of a block that must not be interrupted."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["interrupt_later"]


@contextmanager
def interrupt_later() -> Iterator[None]:
    """Raise the KeyboardInterrupt of a Ctrl-C in the block after the block; that of a second one at once.

    Only Python's own handler in the main thread is delayed.
    """
    if (
        threading.current_thread() is not threading.main_thread()
        or signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    ):
        yield
        return
    waiting = 0

    def handle(number: int, frame: FrameType | None) -> None:
        nonlocal waiting
        waiting += 1
        if waiting > 1:
            signal.default_int_handler(number, frame)

    try:
        # inside `try`, so that nothing can come between this line and the `finally`
        signal.signal(signal.SIGINT, handle)
        yield
    finally:
        try:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        except BaseException:
            # an interruption of the line above must not leave a handler that swallows the next Ctrl-C
            signal.signal(signal.SIGINT, signal.default_int_handler)
            raise
    if waiting:
        raise KeyboardInterrupt
