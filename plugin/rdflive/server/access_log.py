"""The access log of a server: a line of JSON for each request, at its end."""

from __future__ import annotations

import json
import logging
import os
import queue
import sys
import threading
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final

from starlette.types import Scope

from rdflive.asgi.connections import OUTLET
from rdflive.errors import RdfliveError
from rdflive.server.admission import UnderWay

__all__ = ["AccessLog"]

log = logging.getLogger("rdflive")

STDOUT: Final = "-"
_WAITING: Final = 10_000
"""The most lines that wait for a slow disk; later ones are counted."""
_LONGEST: Final = 1000
"""Characters of the longest path and name of a client in a line."""
_CLOSING: Final = 5.0
"""Seconds for the last lines to be written."""


class AccessLog:
    """Writes lines to a file, or to standard output (`-`), in a thread of its own.

    A line has the time of the end (RFC 3339, UTC), the client (a name of the token file, else an address),
    its address, method, path, status, bytes of the response's body, seconds, and for streams the events. It
    has no query of the URL, no header and no body: there are tokens and data in them. Raises `RdfliveError`
    for a file that cannot be opened.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._descriptor = self._open()
        self._lines: queue.Queue[str | None] = queue.Queue(_WAITING)
        self._dropped = 0
        self._has_failed = False
        self._is_to_reopen = False
        self._thread = threading.Thread(target=self._write, name="rdflive-access-log", daemon=True)
        self._thread.start()

    def add(self, scope: Scope, under_way: UnderWay, path: str, seconds: float) -> None:
        """Add the line of a request that has ended; never waits."""
        address, outlet = scope.get("client"), scope.get(OUTLET)
        line: dict[str, Any] = {
            "time": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "client": under_way.key[:_LONGEST],
            "address": address[0] if address else None,
            "method": scope.get("method", "GET"),
            "path": path[:_LONGEST],
            "status": under_way.status or None,
            "bytes": under_way.bytes + (outlet.written if outlet is not None else 0),
            "seconds": round(seconds, 6),
        }
        if under_way.events:
            line["events"] = under_way.events
        if self._dropped:
            line["lines_lost"] = self._dropped
        try:
            self._lines.put_nowait(json.dumps(line) + "\n")
            self._dropped = 0
        except queue.Full:
            self._dropped += 1

    def reopen(self) -> None:
        """Open the file again, which a rotation of logs has moved away."""
        self._is_to_reopen = True

    def close(self) -> None:
        """Write the waiting lines, and end."""
        with suppress(queue.Full):
            self._lines.put(None, timeout=_CLOSING)
        self._thread.join(_CLOSING)

    def _open(self) -> int:
        if self._path == STDOUT:
            return os.dup(sys.stdout.fileno())
        try:
            return os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o640)
        except OSError as error:
            raise RdfliveError(f"--access-log {self._path}: {error.strerror}") from error

    def _write(self) -> None:
        while (line := self._lines.get()) is not None:
            try:
                self._put(line.encode())
            except (RdfliveError, OSError) as error:
                # once, as a full disk would fill the log of errors too
                if not self._has_failed:
                    log.error("the access log cannot be written: %s", error)
                self._has_failed = True
            else:
                self._has_failed = False
        os.close(self._descriptor)

    def _put(self, line: bytes) -> None:
        if self._is_to_reopen:
            self._is_to_reopen = False
            fresh = self._open()
            os.close(self._descriptor)
            self._descriptor = fresh
        while line:
            line = line[os.write(self._descriptor, line) :]
