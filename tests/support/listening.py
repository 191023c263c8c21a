"""End a thread that accepts connections, on every system."""

from __future__ import annotations

import socket
from contextlib import suppress
from threading import Thread

__all__ = ["end_accepting"]


def end_accepting(listener: socket.socket, thread: Thread) -> None:
    """Make the thread's `accept` fail, and wait for the thread."""
    try:
        listener.shutdown(socket.SHUT_RDWR)
    except OSError:  # not Linux: a connection ends the wait, and the next `accept` fails
        listener.setblocking(False)
        with suppress(OSError):
            socket.create_connection(listener.getsockname()[:2]).close()
    thread.join()
