"""Frames from a child to its parent on a socket: the answer with its type, or a problem."""

from __future__ import annotations

import json
import signal
import socket
import struct
from typing import Final

from rdflive.server.failures import Problem

__all__ = ["FRAME", "PIECE", "Frames"]

FRAME: Final = struct.Struct(">cI")
"""The head of a frame: its kind (T, A, E or P) and the number of bytes that follow."""
PIECE: Final = 65_536
"""Bytes of a piece of an answer."""


class Frames:
    """The output of a child, an `AnswerWriter`.

    Nothing is sent before a piece is full, so that an early error can replace the answer.
    """

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._content_type = ""
        self._waiting = bytearray()
        self._has_begun = False
        self.piece_seconds = 0.0
        """The time limit for each piece; with 0 the child's time limit is for the whole answer."""

    def begin(self, content_type: str) -> None:
        """Set the type of the answer."""
        self._content_type = content_type

    def write(self, piece: bytes) -> int:
        """Buffer a piece of the answer, and send full pieces."""
        self._waiting += piece
        if len(self._waiting) >= PIECE:
            self._flush()
        return len(piece)

    def flush(self) -> None:
        """Do nothing; writers expect the method of a file."""

    def end(self) -> None:
        """Send the rest, and the end mark."""
        self._flush()
        self._send(b"E", b"")

    def fail(self, problem: Problem) -> None:
        """Send a problem in place of an answer; leave a started answer without its end."""
        if not self._has_begun:
            members = {
                "line": problem.line,
                "column": problem.column,
                "construct": problem.construct,
                "headers": problem.headers,
            }
            self._send(b"P", json.dumps([problem.status, problem.detail, members]).encode())

    def _flush(self) -> None:
        if not self._has_begun:
            self._has_begun = True
            self._send(b"T", self._content_type.encode())
        waiting, self._waiting = self._waiting, bytearray()
        # a single write may be much larger
        for at in range(0, len(waiting), PIECE):
            self._send(b"A", bytes(waiting[at : at + PIECE]))

    def _send(self, kind: bytes, content: bytes) -> None:
        if self.piece_seconds:
            signal.setitimer(signal.ITIMER_REAL, self.piece_seconds)
        self._channel.sendall(FRAME.pack(kind, len(content)) + content)
