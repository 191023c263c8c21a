"""Requests to an endpoint and its log: what may pass is tried again, what will not is said at once."""

from __future__ import annotations

import base64
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from email.message import Message
from email.utils import parsedate_to_datetime
from http.client import HTTPException, HTTPResponse
from itertools import count
from typing import Any, Final, NamedTuple, TypeVar
from urllib.error import HTTPError
from urllib.parse import parse_qsl, urlsplit, urlunsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from SPARQLWrapper import GET, POST, SPARQLWrapper

from rdflive.errors import RdfliveError

__all__ = ["Answer", "Closed", "EndpointError", "Http", "ServerFault", "check_url", "conditions"]

T = TypeVar("T")

_GET_LIMIT: Final = 1500
"""Characters of a query that still goes into a URL, which caches and ETags need."""
_WILL_PASS: Final = frozenset({408, 425, 429})
_SHOWN: Final = 300
_LONGEST_WAIT: Final = 60.0
_PATIENCE: Final = 600.0
"""Seconds that a Retry-After may ask for, at most."""


class EndpointError(RdfliveError, ConnectionError):
    """An endpoint cannot be read: it is down, refuses the request, or answers what cannot be used."""


class ServerFault(Exception):  # noqa: N818 - never leaves the adapter
    """An answer that another try may mend; `retry_after` is how many seconds the server asks to wait."""

    def __init__(self, reason: str, retry_after: float = 0.0) -> None:
        super().__init__(reason)
        self.retry_after = retry_after


class Closed(Exception):  # noqa: N818 - never leaves the adapter
    """The feed was closed while it waited."""


class Answer(NamedTuple):
    """A complete answer of a server."""

    status: int
    headers: Message
    body: bytes


class _Redirects(HTTPRedirectHandler):
    """Keeps method and body across a redirect, which urllib drops, and stays with the server that was named.

    Elsewhere the credentials would go to whoever the redirect names.
    """

    def redirect_request(
        self, req: Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> Request | None:
        if urlsplit(newurl)[:2] != urlsplit(req.full_url)[:2]:
            return None
        if code == 303:
            return super().redirect_request(req, fp, code, msg, headers, newurl)
        headers = dict(req.header_items())
        return Request(newurl, req.data, headers, unverifiable=True, method=req.get_method())  # noqa: S310 - http(s)


_opener: Final = build_opener(_Redirects)


class _Wrapper(SPARQLWrapper):
    """SPARQLWrapper with an opener of our own.

    SPARQLWrapper's follows redirects with the credentials, makes a GET without a query of a redirected
    POST, and reads the headers of an error away, with Retry-After in them.
    """

    wait = 0.0

    def _query(self) -> tuple[HTTPResponse, str]:
        return _opener.open(self._createRequest(), timeout=self.wait), self.returnFormat


class Http:
    """Sends requests, each up to `tries` times, with growing waits that `close` cuts short from any thread.

    `timeout` is how many seconds a server may be silent; `backoff` is the first wait, which then doubles.
    """

    def __init__(
        self,
        *,
        headers: Mapping[str, str],
        auth: tuple[str, str] | None,
        timeout: float,
        tries: int,
        backoff: float,
    ) -> None:
        # a cache in between must ask the server whether what it has is still right
        self._headers = {"Cache-Control": "no-cache", **headers}
        if auth is not None:
            credentials = base64.b64encode(":".join(auth).encode()).decode()
            self._headers["Authorization"] = f"Basic {credentials}"
        self.timeout = timeout
        self._tries = tries
        self._backoff = backoff
        self._stop = threading.Event()

    def close(self) -> None:
        """Let every wait, now and later, raise `Closed`."""
        self._stop.set()

    def wait(self, seconds: float) -> None:
        """Wait, unless closed: then raise `Closed` at once."""
        if self._stop.wait(seconds):
            raise Closed

    def attempt(self, url: str, once: Callable[[], T]) -> T:
        """Call until no `ServerFault` comes, then give up with an `EndpointError`."""
        begin = time.monotonic()
        for tried in count(1):
            self.wait(0)
            try:
                return once()
            except ServerFault as fault:
                pause = self.pause(url, tried, begin, fault)
            self.wait(pause)
        raise AssertionError  # pragma: no cover - a count has no end

    def pause(self, url: str, tried: int, begin: float, fault: ServerFault) -> float:
        """Give the seconds to wait after a failed try; raises `EndpointError` after the last.

        It is what the server asks, or more. `begin` is the monotonic time of the first try.
        """
        asked = fault.retry_after
        if tried >= self._tries or asked > _PATIENCE:
            waiting = f", and asks to wait {asked:.0f} s" if asked > _PATIENCE else ""
            raise EndpointError(
                f"{url}: {fault}{waiting}; given up after {tried} tries in {time.monotonic() - begin:.1f} s. "
                "See that the server is well and mirror again: it goes on where it stopped. More tries= wait "
                "longer"
            ) from fault
        longest = min(_LONGEST_WAIT, self._backoff * 2.0 ** min(tried - 1, 30))
        return max(asked, longest * random.uniform(0.5, 1.0))  # noqa: S311 - no secret

    def ask(self, url: str, query: str, accept: str, headers: Mapping[str, str]) -> Answer:
        """Send a query to an endpoint once; the answer has one of the statuses 200, 304 and 406."""
        scheme, host, path, parameters, _ = urlsplit(url)
        wrapper = _Wrapper(urlunsplit((scheme, host, path, "", "")))
        wrapper.wait = self.timeout
        for name, text in parse_qsl(parameters, keep_blank_values=True):
            wrapper.addParameter(name, text)
        wrapper.setOnlyConneg(True)
        wrapper.setMethod(GET if len(query) <= _GET_LIMIT else POST)
        for name, text in {**self._headers, "Accept": accept, **headers}.items():
            wrapper.addCustomHttpHeader(name, text)
        wrapper.setQuery(query)
        with _exchange(lambda: wrapper.query().response) as response:
            return _checked(url, _read(response), (200, 304, 406))

    def get(self, url: str, headers: Mapping[str, str], accepted: tuple[int, ...]) -> Answer:
        """Get a document once; the answer has one of the accepted statuses."""
        with self._open(url, headers) as response:
            return _checked(url, _read(response), accepted)

    @contextmanager
    def stream(
        self, url: str, headers: Mapping[str, str], accepted: tuple[int, ...]
    ) -> Iterator[HTTPResponse]:
        """Open a document that has no end; what goes wrong while it is read is a `ServerFault`."""
        with self._open(url, headers) as response:
            if response.status not in accepted:
                _checked(url, _read(response), accepted)
            yield response

    @contextmanager
    def _open(self, url: str, headers: Mapping[str, str]) -> Iterator[HTTPResponse]:
        request = Request(url, headers={**self._headers, **headers})  # noqa: S310 - check_url saw it
        with _exchange(lambda: _opener.open(request, timeout=self.timeout)) as response:
            yield response


def check_url(url: str, role: str) -> str:
    """Refuse what is no http(s) URL, or has credentials in it."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise EndpointError(f"the {role} {url!r} is no URL: {error}") from error
    if parts.scheme not in ("http", "https") or not parts.hostname or not url.isprintable() or " " in url:
        raise EndpointError(f"the {role} must be an http or https URL, got {url!r}")
    if "@" in parts.netloc:
        raise EndpointError(
            f"the {role} on {parts.hostname} holds credentials; give them as auth=(user, password)"
        )
    return url


def conditions(headers: Message) -> dict[str, str]:
    """Make the headers that ask for a document only if it is no longer the one that came with `headers`.

    A Last-Modified counts only where the answer was made a second later or more: within the same second
    the document may have changed again (RFC 9110, section 8.8.2.2).
    """
    if etag := headers.get("ETag"):
        return {"If-None-Match": etag}
    modified, date = _date(headers.get("Last-Modified")), _date(headers.get("Date"))
    if modified and date and (date - modified).total_seconds() >= 1:
        return {"If-Modified-Since": headers["Last-Modified"]}
    return {}


@contextmanager
def _exchange(send: Callable[[], HTTPResponse]) -> Iterator[HTTPResponse]:
    """Send a request and close the answer; trouble of the network is a `ServerFault`."""
    try:
        try:
            response: Any = send()
        except HTTPError as error:
            response = error  # an answer like any other: its status is looked at with it
        with response:
            yield response
    except (HTTPException, OSError) as error:
        if isinstance(error, EndpointError):
            raise
        raise ServerFault(f"no complete answer ({type(error).__name__}: {error})") from error


def _read(response: HTTPResponse) -> Answer:
    return Answer(response.status, response.headers, response.read())


def _checked(url: str, answer: Answer, accepted: tuple[int, ...]) -> Answer:
    """Sort what was not asked for into faults that may pass, and errors."""
    status, headers, body = answer
    if status in accepted:
        return answer
    text = " ".join(body[: 4 * _SHOWN].decode(errors="replace").split())[:_SHOWN]
    reason = f"HTTP {status}" + (f": {text!r}" if text else "")
    if status >= 500 or status in _WILL_PASS:
        raise ServerFault(reason, _retry_after(headers))
    if 300 <= status < 400:
        place = headers.get("Location", "nowhere")
        raise EndpointError(f"{url}: {reason}, a redirect to {place}; if you trust that server, give its URL")
    raise EndpointError(f"{url}: {reason}; {_ADVICE.get(status, _CHECK)}")


_LOGIN: Final = "give auth=(user, password), or headers="
_CHECK: Final = "the server refuses the request, and would again: check the URL and the options"
_ADVICE: Final = {401: _LOGIN, 403: _LOGIN, 404: "check the URL", 410: "it is gone for good: check the URL"}


def _retry_after(headers: Message) -> float:
    """Read Retry-After, in seconds or as a date; 0 without one that can be read."""
    text = headers.get("Retry-After", "").strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    date = _date(text)
    return 0.0 if date is None else max(0.0, (date - datetime.now(UTC)).total_seconds())


def _date(text: str | None) -> datetime | None:
    try:
        date = parsedate_to_datetime(text or "")
    except ValueError:
        return None
    return date.replace(tzinfo=UTC) if date.tzinfo is None else date
