"""The end of a thread that accepts connections, on every system."""

from __future__ import annotations

import socket
from contextlib import suppress
from threading import Thread

__all__ = ["end_accepting"]


def end_accepting(listener: socket.socket, thread: Thread) -> None:
    """Have the thread's wait for a connection fail, and wait for the thread."""
    try:
        listener.shutdown(socket.SHUT_RDWR)
    except OSError:  # Linux alone shuts what only listens: a connection ends the wait, and the next fails
        listener.setblocking(False)
        with suppress(OSError):
            socket.create_connection(listener.getsockname()[:2]).close()
    thread.join()
