"""One POST: through, or what was wrong with it, after a given time at the latest."""

from __future__ import annotations

import socket
import ssl
import threading
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC
from email.message import Message
from email.utils import parsedate_to_datetime
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from time import time
from typing import Any, Final
from urllib.error import HTTPError, URLError
from urllib.request import (
    HTTPDefaultErrorHandler,
    HTTPErrorProcessor,
    HTTPHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
    UnknownHandler,
)

__all__ = ["Fault", "post"]

_PASSING: Final = frozenset({408, 425, 429})
"""The client errors that another try may mend."""
_SHOWN: Final = 200
"""Characters of a server's answer that are shown."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a request did not get through: text that is safe to print."""

    reason: str
    passes: bool
    """True where another try may succeed."""
    retry_after: float = 0.0
    """Seconds that the server asks to wait."""


def post(url: str, body: bytes, headers: dict[str, str], *, timeout: float) -> Fault | None:
    """Send a request once and say what went wrong, within `timeout` seconds for all of it.

    The URL must be one of HTTP. The resolver of names may take longer, and a proxy that is asked for a
    tunnel.
    """
    # made for each try: what finds the proxy changes it
    request = Request(url, body, headers, method="POST")  # noqa: S310 - the caller has looked at the scheme
    with _Deadline(timeout) as deadline:
        fault = _send(request, timeout, deadline)
    # what was cut off may look like a whole answer
    return Fault(f"timed out after {timeout:g} s", passes=True) if deadline.passed else fault


def _send(request: Request, timeout: float, deadline: _Deadline) -> Fault | None:
    try:
        _opener(deadline).open(request, timeout=timeout).close()
    except HTTPError as error:
        with error:
            return _refusal(error)
    except (OSError, HTTPException) as error:
        reason = error.reason if isinstance(error, URLError) else error
        if isinstance(reason, TimeoutError):  # of one piece, which may come a moment before the deadline
            return Fault(f"timed out after {timeout:g} s", passes=True)
        # a text is about the URL of a proxy
        is_final = isinstance(reason, ssl.SSLCertVerificationError | str)
        return Fault(_printable(str(reason)) or type(reason).__name__, passes=not is_final)
    except (ValueError, OverflowError) as error:  # so is what is raised for it
        return Fault(_printable(str(error)), passes=False)
    return None


class _Deadline:
    """Cuts the connections of one request off when its time is over.

    The timeout of a socket is for each piece alone, and a server may send pieces without end.
    """

    def __init__(self, seconds: float) -> None:
        self._lock = threading.Lock()
        self._connections: list[socket.socket] = []
        self._timer = threading.Timer(min(seconds, threading.TIMEOUT_MAX), self._pass)
        self._timer.daemon = True
        self.passed = False

    def __enter__(self) -> _Deadline:
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        self._timer.join()
        for connection in self._connections:
            connection.close()

    def watch(self, connection: socket.socket) -> None:
        """Cut a connection off too, now if it is too late already."""
        with self._lock:
            self._connections.append(connection.dup())  # TLS takes the descriptor out of the socket
            if self.passed:
                _cut(self._connections[-1])

    def _pass(self) -> None:
        with self._lock:
            self.passed = True
            for connection in self._connections:
                _cut(connection)


def _cut(connection: socket.socket) -> None:
    with suppress(OSError):  # it has ended already
        connection.shutdown(socket.SHUT_RDWR)


def _opener(deadline: _Deadline) -> OpenerDirector:
    """Give what opens URLs of HTTP, and follows no redirect: it would lose the body."""
    opener = OpenerDirector()
    for handler in (ProxyHandler(), UnknownHandler(), HTTPDefaultErrorHandler(), HTTPErrorProcessor()):
        opener.add_handler(handler)
    opener.add_handler(_Handler(deadline))
    return opener


class _Handler(HTTPHandler):
    """Opens connections that the deadline watches."""

    https_request = HTTPHandler.http_request

    def __init__(self, deadline: _Deadline) -> None:
        super().__init__()
        self._deadline = deadline

    def http_open(self, req: Request) -> HTTPResponse:
        """Send a request in the clear."""
        return self.do_open(self._watched(_Connection), req)

    def https_open(self, req: Request) -> HTTPResponse:
        """Send a request by TLS."""
        return self.do_open(self._watched(_TlsConnection), req)

    def _watched(self, kind: type[_Connection]) -> Any:
        def connection(host: str, **options: Any) -> _Connection:
            made = kind(host, **options)
            made.deadline = self._deadline
            return made

        return connection


class _Connection(HTTPConnection):
    """A connection that is watched as soon as it is there."""

    deadline: _Deadline

    def connect(self) -> None:
        """Connect."""
        super().connect()
        self.deadline.watch(self.sock)


class _TlsConnection(HTTPSConnection, _Connection):
    """The same; by the order of its bases it is watched before the handshake."""


def _refusal(error: HTTPError) -> Fault:
    reason = f"{error.code} {_printable(error.reason)}"
    if 300 <= error.code < 400:
        target = error.headers.get("Location", "nowhere")
        return Fault(f"{reason}: it redirects to {_printable(target)}; give the URL itself", passes=False)
    with suppress(OSError, HTTPException):
        shown = _printable(error.read1(_SHOWN).decode(errors="replace"))
        reason += f": {shown}" if shown else ""
    passes = error.code >= 500 or error.code in _PASSING
    return Fault(reason, passes, _retry_after(error.headers))


def _retry_after(headers: Message) -> float:
    """Read the header `Retry-After`, seconds or a date; 0 for what is neither."""
    text = headers.get("Retry-After", "").strip()
    if text.isascii() and text.isdigit():
        return min(float(text), threading.TIMEOUT_MAX)
    try:
        date = parsedate_to_datetime(text)
        seconds = (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp() - time()
    except (ValueError, OverflowError):
        return 0.0
    return min(max(0.0, seconds), threading.TIMEOUT_MAX)


def _printable(text: str) -> str:
    shown = "".join(char if char.isprintable() else " " for char in text[:_SHOWN])
    return " ".join(shown.split())
