"""Requests and their answers, each on a connection of its own, which any thread can cut."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from typing import Any, Final, Self
from urllib.parse import SplitResult, unquote, urljoin, urlsplit
from urllib.request import getproxies, proxy_bypass

from urllib3 import HTTPHeaderDict, PoolManager, ProxyManager, Retry, make_headers
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import HTTPError, MaxRetryError
from urllib3.util import parse_url

from rdflive.http.answers import HttpFault, refusal, shown

__all__ = ["Exchange", "Http", "split_url"]

_PIECE: Final = 1 << 16
_CLOSED: Final = "it was closed on this side"


class Http:
    """Sends requests; what goes wrong is a `HttpFault`. `close` and `cut` may be called from any thread.

    `redirects` follows redirects to the same origin, `proxies` takes the proxies of the environment.
    A connection serves one request, so that a forked process shares none. Bodies are not unpacked.
    """

    def __init__(
        self, headers: Mapping[str, str] | None = None, *, redirects: bool = False, proxies: bool = False
    ) -> None:
        # its names are equal in any case: a User-Agent that is given takes the place of this one
        self._headers = HTTPHeaderDict({"User-Agent": "rdflive"})
        self._headers.update(headers or {})
        self._redirects = redirects
        self._proxies = getproxies if proxies else dict
        self._under_way: set[Exchange] = set()
        self.closed = threading.Event()
        """Set by `close`: a wait for it is one that ends then."""

    def send(
        self,
        method: str,
        url: str,
        *,
        timeout: float,
        total: float | None = None,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
    ) -> Exchange:
        """Send a request once, and wait for the headers of the answer, whatever its status.

        The server may be silent for `timeout` seconds, and after `total` seconds all is cut. Nothing can be
        cut before there is a connection: that takes `timeout` seconds at most for each address of the host.
        """
        given = self._headers.copy()
        given.update(headers or {})
        # http.client takes the characters of Latin-1 alone
        sent = {name: text.encode().decode("latin-1") for name, text in given.items()}
        exchange = Exchange(timeout, total)
        # before `closed` is looked at: a `close` in between finds the exchange here and cuts it
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
        """End the requests that are under way: whoever waits for them gets a `HttpFault` at once."""
        for exchange in tuple(self._under_way):
            exchange.cut()

    def close(self) -> None:
        """End all requests and waits, those to come as well."""
        self.closed.set()
        self.cut()


class Exchange(ExitStack):
    """A request and its answer, a context manager; the thread that reads closes it."""

    status: int
    headers: Mapping[str, str]
    line: socket.socket
    """Where it is read from."""

    def __init__(self, timeout: float, total: float | None) -> None:
        super().__init__()
        self._timeout = timeout
        self._lock = threading.Lock()
        self._watched: list[socket.socket] = []
        self._end = ""
        self.callback(self._release)
        if total is not None:
            # the timeouts of urllib3 are for each piece alone, and a server may send pieces without end
            timer = threading.Timer(min(total, threading.TIMEOUT_MAX), self.cut, [_timed_out(total)])
            timer.daemon = True
            # called in reverse: the timer is stopped, and then waited for, so that its thread does not stay
            self.callback(timer.join)
            self.callback(timer.cancel)
            timer.start()

    def open(self, proxies: Callable[[], dict[str, str]], method: str, url: str, **options: Any) -> None:
        """Connect, send, and take the headers of the answer."""
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
        """Read the body, or so many bytes of it."""
        with self._whole():
            return self._response.read(limit)

    def refusal(self) -> HttpFault:
        """Make a fault of an answer that is no success, by its status and the beginning of its body."""
        with self:
            return refusal(self.status, self.headers, shown(self.read(_PIECE)))

    def __iter__(self) -> Iterator[bytes]:
        """Give the body in pieces as it comes; each has one end of a line at most, at its own end."""
        while True:
            with self._whole():
                # `read` would wait until the piece is full, and an event is shorter
                piece = self._response.read1(_PIECE)
            if not piece:
                return
            yield from piece.splitlines(keepends=True)

    def wait_up_to(self, seconds: float) -> None:
        """Take longer silence than this for a lost connection from now on."""
        # for what a fault says; the socket of a connection that is there has a time of its own
        self._timeout = seconds
        with suppress(OSError):  # it has ended already
            self.line.settimeout(seconds)

    def watch(self, line: socket.socket) -> socket.socket:
        """Have `cut` end this new connection too, at once where it was called before."""
        with self._lock:
            self._watched.append(line.dup())  # TLS takes the descriptor out of the socket
        if self._end:
            self.cut()
        return line

    def cut(self, reason: str = _CLOSED) -> None:
        """End the connection at once, from any thread; who reads gets a `HttpFault`."""
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
        """Make a fault of what goes wrong, and of a cut: what was read until then may look whole."""
        failed: Exception | None = None
        try:
            yield
        except (HTTPError, ValueError, OverflowError) as error:  # a proxy may be named that cannot be
            failed = error
        if self._end:
            raise HttpFault(self._end) from failed
        if failed is not None:
            cause = _cause(failed)
            late = isinstance(cause, TimeoutError)
            reason = _timed_out(self._timeout) if late else shown(str(cause)) or type(cause).__name__
            # certificates that are not trusted are among the values that are wrong
            raise HttpFault(reason, passes=not isinstance(cause, ValueError | OverflowError)) from failed


def split_url(url: str) -> SplitResult | None:
    """Take a URL of HTTP apart; None for what no request can be sent to.

    >>> split_url("https://e:443/x").port, split_url("ftp://e/"), split_url("http://a..b/")
    (443, None, None)
    """
    try:
        parts = urlsplit(url)
        (parts.hostname or "").encode("idna")  # refuses empty and long parts of a name, as connecting does
        # reading `port` raises ValueError for what is no port, such as 70000
        is_http = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        return parts if is_http and url.isascii() and url.isprintable() and " " not in url else None
    except (ValueError, AttributeError, TypeError):
        return None


class _SameOrigin(Retry):
    """Follows redirects to the same origin: elsewhere the credentials would go to whoever is named.

    Other answers and errors are left to whoever sends: `Retry` sleeps where no thread can end the wait,
    and a try may also fail later, by an answer that is cut or of two states.
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
    """A connection that is watched from the moment it is there."""

    def __init__(self, exchange: Exchange, **options: Any) -> None:
        super().__init__(**options)
        self._exchange = exchange

    def _new_conn(self) -> socket.socket:
        # where urllib3.contrib.socks comes in, too: in front of the handshake, and of a proxy's tunnel
        return self._exchange.watch(super()._new_conn())

    def connect(self) -> None:
        super().connect()
        self._exchange.line = self.sock


class _TlsConnection(_Connection, HTTPSConnection):
    """The same by TLS."""


def _manager(url: str, proxies: Mapping[str, str]) -> PoolManager:
    """Make what connects to a URL, by way of the proxy for its scheme if there is one."""
    scheme, location, *_ = urlsplit(url)
    proxy = proxies.get(scheme)
    if not proxy or proxy_bypass(location):
        return PoolManager()
    proxy = proxy if "://" in proxy else f"http://{proxy}"
    auth = parse_url(proxy).auth
    return ProxyManager(proxy, proxy_headers=make_headers(proxy_basic_auth=unquote(auth)) if auth else None)


def _cause(error: BaseException) -> BaseException:
    """Give what made urllib3 raise, which says it in fewer words."""
    inner = error.__cause__ or next((arg for arg in error.args if isinstance(arg, Exception)), None)
    return _cause(inner) if isinstance(error, HTTPError) and inner is not None else error


def _timed_out(seconds: float) -> str:
    return f"timed out after {seconds:g} s"
