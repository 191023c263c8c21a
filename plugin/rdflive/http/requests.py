"""Requests and their responses, each on its own connection, which any thread can cut."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from typing import IO, Any, Final, Self
from urllib.parse import SplitResult, unquote, urljoin, urlsplit
from urllib.request import getproxies, proxy_bypass

from urllib3 import HTTPHeaderDict, PoolManager, ProxyManager, Retry, make_headers
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import HTTPError, MaxRetryError
from urllib3.util import parse_url

from rdflive.http.answers import HttpFault, problem_of, refusal, shown

__all__ = ["Exchange", "Http", "split_url"]

_PIECE: Final = 1 << 16
_CLOSED: Final = "it was closed on this side"


class Http:
    """Sends requests; failures raise `HttpFault`. Any thread may call `close` and `cut`.

    `redirects` follows redirects to the same origin, `proxies` uses the proxies of the environment.
    A connection serves one request, so a forked process shares none. Bodies are not decompressed.
    """

    def __init__(
        self, headers: Mapping[str, str] | None = None, *, redirects: bool = False, proxies: bool = False
    ) -> None:
        # header names ignore case, so a User-Agent of the caller replaces this one
        self._headers = HTTPHeaderDict({"User-Agent": "rdflive"})
        self._headers.update(headers or {})
        self._redirects = redirects
        self._proxies = getproxies if proxies else dict
        self._under_way: set[Exchange] = set()
        self.closed = threading.Event()
        """Set by `close`, which so ends all waits for it."""

    def send(
        self,
        method: str,
        url: str,
        *,
        timeout: float,
        total: float | None = None,
        headers: Mapping[str, str] | None = None,
        body: bytes | IO[bytes] | None = None,
    ) -> Exchange:
        """Send a request once, and wait for the headers of the response, of any status.

        The server may be silent for `timeout` seconds; after `total` seconds the exchange is cut. Nothing can
        cut it while it connects, for up to `timeout` seconds for each address of the host. A file as `body`
        is sent in pieces, and needs the header Content-Length.
        """
        given = self._headers.copy()
        given.update(headers or {})
        # http.client accepts only Latin-1 characters
        sent = {name: text.encode().decode("latin-1") for name, text in given.items()}
        exchange = Exchange(timeout, total)
        # before the check of `closed`: a `close` in between finds the exchange here and cuts it
        self._under_way.add(exchange)
        exchange.callback(self._under_way.discard, exchange)
        try:
            if self.closed.is_set():
                raise HttpFault(_CLOSED)
            exchange.open(self._proxies, method, url, headers=sent, body=body, redirect=self._redirects)
        except BaseException:
            exchange.close()
            raise
        return exchange

    def cut(self) -> None:
        """End the running requests: threads that wait for them get a `HttpFault` at once."""
        for exchange in tuple(self._under_way):
            exchange.cut()

    def close(self) -> None:
        """End all requests and waits, including later ones."""
        self.closed.set()
        self.cut()


class Exchange(ExitStack):
    """A request and its response, a context manager; the reading thread closes it."""

    status: int
    headers: Mapping[str, str]
    line: socket.socket
    """The socket that the response is read from."""

    def __init__(self, timeout: float, total: float | None) -> None:
        super().__init__()
        self._timeout = timeout
        self._lock = threading.Lock()
        self._watched: list[socket.socket] = []
        self._end = ""
        self.callback(self._release)
        if total is not None:
            # the timeouts of urllib3 apply to each piece, and a server may send pieces without end
            timer = threading.Timer(min(total, threading.TIMEOUT_MAX), self.cut, [_timed_out(total)])
            timer.daemon = True
            # callbacks run in reverse: cancel the timer, then join it, so that its thread ends
            self.callback(timer.join)
            self.callback(timer.cancel)
            timer.start()

    def open(self, proxies: Callable[[], dict[str, str]], method: str, url: str, **options: Any) -> None:
        """Connect, send, and read the headers of the response."""
        with self._whole():
            manager = _manager(url, proxies())
            pool = manager.connection_from_url(url)
            kind = _TlsConnection if pool.scheme == "https" else _Connection
            pool.ConnectionCls = partial(kind, self)  # type: ignore[assignment]  # it is only called
            self.callback(pool.close)
            options |= {"retries": _REDIRECTS, "preload_content": False, "decode_content": False}
            self._response = manager.urlopen(method, url, timeout=self._timeout, **options)
            self.callback(self._response.close)
            self.callback(self.cut)
            self.status, self.headers = self._response.status, self._response.headers

    def read(self, limit: int | None = None) -> bytes:
        """Return the body, or its first `limit` bytes."""
        with self._whole():
            return self._response.read(limit)

    def refusal(self) -> HttpFault:
        """Return the fault of an unsuccessful response, from its status and the beginning of its body."""
        with self:
            body = self.read(_PIECE)
            detail = problem_of(self.headers, body).get("detail")
            return refusal(self.status, self.headers, shown(str(detail) if detail else body))

    def __iter__(self) -> Iterator[bytes]:
        """Yield the body in pieces as they arrive; a line break is always the end of a piece."""
        while True:
            with self._whole():
                # `read` would wait until the piece is full, and an event may be shorter
                piece = self._response.read1(_PIECE)
            if not piece:
                return
            yield from piece.splitlines(keepends=True)

    def wait_up_to(self, seconds: float) -> None:
        """Treat a longer silence as a lost connection from now on."""
        # for the message of a fault; an open connection needs the timeout on its socket
        self._timeout = seconds
        with suppress(OSError):  # it has ended already
            self.line.settimeout(seconds)

    def watch(self, line: socket.socket) -> socket.socket:
        """Let `cut` end this new connection too; end it at once after an earlier `cut`."""
        with self._lock:
            self._watched.append(line.dup())  # TLS takes the descriptor out of the socket
        if self._end:
            self.cut()
        return line

    def cut(self, reason: str = _CLOSED) -> None:
        """End the connection at once, from any thread; the reader gets a `HttpFault`."""
        with self._lock:
            self._end = self._end or reason
            for line in self._watched:
                with suppress(OSError):  # it has ended already
                    line.shutdown(socket.SHUT_RDWR)

    def _release(self) -> None:
        with self._lock:
            for line in self._watched:
                line.close()
            self._watched.clear()

    @contextmanager
    def _whole(self) -> Iterator[None]:
        """Raise `HttpFault` for errors, and for a cut: a body that was cut may look complete."""
        failed: Exception | None = None
        try:
            yield
        except (HTTPError, ValueError, OverflowError) as error:  # ValueError for an invalid proxy
            failed = error
        if self._end:
            raise HttpFault(self._end) from failed
        if failed is not None:
            cause = _cause(failed)
            late = isinstance(cause, TimeoutError)
            reason = _timed_out(self._timeout) if late else shown(str(cause)) or type(cause).__name__
            # an untrusted certificate is a ValueError too
            raise HttpFault(reason, passes=not isinstance(cause, ValueError | OverflowError)) from failed


def split_url(url: str) -> SplitResult | None:
    """Return the parts of an HTTP URL; None for any other text.

    >>> split_url("https://e:443/x").port, split_url("ftp://e/"), split_url("http://a..b/")
    (443, None, None)
    """
    try:
        parts = urlsplit(url)
        (parts.hostname or "").encode("idna")  # refuses empty and long labels, as connecting does
        # `port` raises ValueError for an invalid port, such as 70000
        is_http = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        return parts if is_http and url.isascii() and url.isprintable() and " " not in url else None
    except (ValueError, AttributeError, TypeError):
        return None


class _SameOrigin(Retry):
    """Follows redirects to the same origin only: another origin would receive the credentials.

    Other responses and errors are left to the sender: `Retry` sleeps in a way that no thread can end, and a
    try may also fail later, for example when the response is cut.
    """

    def increment(self, *args: Any, **given: Any) -> Self:
        if "error" in given:
            raise given["error"]
        _, url = args
        if urlsplit(urljoin(url, given["response"].get_redirect_location()))[:2] != urlsplit(url)[:2]:
            raise MaxRetryError(given["_pool"], url)
        return super().increment(*args, **given)


_REDIRECTS: Final = _SameOrigin(None, redirect=10, raise_on_redirect=False, respect_retry_after_header=False)


class _Connection(HTTPConnection):
    """A connection that its exchange can cut as soon as it exists."""

    def __init__(self, exchange: Exchange, **options: Any) -> None:
        super().__init__(**options)
        self._exchange = exchange

    def _new_conn(self) -> socket.socket:
        # before the TLS handshake and a proxy's tunnel; urllib3.contrib.socks overrides the same method
        return self._exchange.watch(super()._new_conn())

    def connect(self) -> None:
        super().connect()
        self._exchange.line = self.sock


class _TlsConnection(_Connection, HTTPSConnection):
    """The same over TLS."""


def _manager(url: str, proxies: Mapping[str, str]) -> PoolManager:
    """Return the connection pool for a URL, through the proxy of its scheme if there is one."""
    scheme, location, *_ = urlsplit(url)
    proxy = proxies.get(scheme)
    if not proxy or proxy_bypass(location):
        return PoolManager()
    proxy = proxy if "://" in proxy else f"http://{proxy}"
    auth = parse_url(proxy).auth
    return ProxyManager(proxy, proxy_headers=make_headers(proxy_basic_auth=unquote(auth)) if auth else None)


def _cause(error: BaseException) -> BaseException:
    """Return the cause of urllib3's error, whose message is shorter."""
    inner = error.__cause__ or next((arg for arg in error.args if isinstance(arg, Exception)), None)
    return _cause(inner) if isinstance(error, HTTPError) and inner is not None else error


def _timed_out(seconds: float) -> str:
    return f"timed out after {seconds:g} s"
