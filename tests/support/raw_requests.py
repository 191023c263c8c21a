"""Requests sent as they are written, well formed or not."""

from __future__ import annotations

import http.client
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager

from support.serving import Serving

__all__ = ["HOST", "begun", "raw", "status"]

HOST = b"Host: 127.0.0.1\r\n"


def status(served: Serving, method: str, path: str, body: bytes | None = None, **headers: str) -> int:
    """Send a request as it is written, and return the status, or 0 without a valid response."""
    with closing(http.client.HTTPConnection("127.0.0.1", served.port, timeout=30)) as connection:
        connection.putrequest(method, path, skip_accept_encoding=True)
        for name, value in headers.items():
            connection.putheader(name.replace("_", "-"), value)
        if body is not None:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        try:
            return connection.getresponse().status
        except (http.client.HTTPException, OSError):
            return 0


def raw(served: Serving, sent: bytes) -> bytes:
    """Send bytes, and return the response until the server closes or 30 seconds without data pass."""
    with socket.create_connection(("127.0.0.1", served.port), timeout=30) as connection:
        answer = b""
        try:
            connection.sendall(sent)
            connection.shutdown(socket.SHUT_WR)
            while piece := connection.recv(1 << 16):
                answer += piece
        except OSError:
            pass
        return answer


@contextmanager
def begun(served: Serving, sent: bytes, part: bytes) -> Iterator[socket.socket]:
    """Send bytes, and run the block with the open connection when a part of the answer has come."""
    with socket.create_connection(("127.0.0.1", served.port), timeout=30) as connection:
        connection.sendall(sent)
        answer = b""
        while part not in answer:
            piece = connection.recv(1 << 16)
            assert piece, answer
            answer += piece
        yield connection
