"""Requests to an endpoint and its log; temporary failures are retried, others raised at once."""

from __future__ import annotations

import base64
import logging
import time
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, TypeVar
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from SPARQLWrapper import GET, POST, SPARQLWrapper

from rdflive.errors import RdfliveError
from rdflive.http import Exchange, Http, HttpFault, RetryPace, read_date, split_url, without_query

__all__ = ["EndpointAnswer", "EndpointError", "FeedClosed", "Requests", "check_url", "conditions"]

T = TypeVar("T")

log = logging.getLogger("rdflive.endpoint")

_GET_LIMIT: Final = 1500
"""Maximum length of a query in the URL, which caches and ETags need; longer queries use POST."""
_PATIENCE: Final = 600.0
"""Maximum seconds of a Retry-After."""
_LOGIN: Final = "give auth=(user, password), or headers="
_CHECK: Final = "the server refuses the request: check the URL and the options"
_ADVICE: Final = {
    401: _LOGIN,
    403: _LOGIN,
    404: "check the URL",
    410: "it is gone permanently: check the URL",
}


class EndpointError(RdfliveError, ConnectionError):
    """An endpoint is down, refuses the request, or returns an unusable answer."""


class FeedClosed(Exception):  # noqa: N818 - never leaves the adapter
    """The feed was closed during a request or a wait."""


class EndpointAnswer(NamedTuple):
    """A complete answer of a server."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Requests:
    """Sends requests, each up to `tries` times, at the given pace; `close`, from any thread, ends them."""

    def __init__(
        self, headers: Mapping[str, str], auth: tuple[str, str] | None, pace: RetryPace, tries: int
    ) -> None:
        # caches in between must revalidate their copies
        given = {"Cache-Control": "no-cache", **headers}
        if auth is not None:
            given["Authorization"] = f"Basic {base64.b64encode(':'.join(auth).encode()).decode()}"
        self._http = Http(given, redirects=True, proxies=True)
        self._tries = tries
        self._pace = pace
        self._is_away = False
        """True after a failed request, until one succeeds; said only once."""

    def close(self) -> None:
        """Make every current and later request and wait raise `FeedClosed`."""
        self._http.close()

    def wait(self, seconds: float) -> None:
        """Wait for some seconds; `close` raises `FeedClosed` at once."""
        if self._http.closed.wait(seconds):
            raise FeedClosed

    def attempt(self, url: str, once: Callable[[], T]) -> T:
        """Call a function again after each `HttpFault`; raises `EndpointError` after the last attempt."""
        begin = time.monotonic()
        tried = 0
        while True:
            try:
                answer = once()
            except HttpFault as fault:
                tried += 1
                pause = self.pause(url, tried, begin, fault)
            else:
                self.succeeded()
                return answer
            self.wait(pause)

    def succeeded(self) -> None:
        """Let the next failure be logged again."""
        self._is_away = False

    def pause(self, url: str, tried: int, begin: float, fault: HttpFault) -> float:
        """Return the seconds to wait after a failed attempt; raises `EndpointError` after the last one.

        The wait is at least that of the server's Retry-After. `begin` is the monotonic time of the first
        attempt.
        """
        self.wait(0)  # a request that `close` aborted is no failure
        requested = fault.retry_after
        if tried >= self._tries or requested > _PATIENCE:
            waiting = f", and requests a wait of {requested:.0f} s" if requested > _PATIENCE else ""
            raise EndpointError(
                f"{without_query(url)}: {fault}{waiting}; given up after {tried} tries in "
                f"{time.monotonic() - begin:.1f} s. Check the server and mirror again, which continues "
                "from the last cursor, or set more tries="
            ) from fault
        if tried == 1 and not self._is_away:
            log.warning("%s: %s; trying again (try 1 of %d)", without_query(url), fault, self._tries)
        self._is_away = True
        return self._pace.pause(tried, requested)

    def ask(self, url: str, query: str, accept: str, headers: Mapping[str, str]) -> EndpointAnswer:
        """Send a query to an endpoint once; the status of the answer is 200, 304 or 406."""
        scheme, host, path, parameters, _ = urlsplit(url)
        wrapper = SPARQLWrapper(urlunsplit((scheme, host, path, "", "")))
        for name, text in parse_qsl(parameters, keep_blank_values=True):
            wrapper.addParameter(name, text)
        wrapper.setOnlyConneg(True)
        wrapper.setMethod(GET if len(query) <= _GET_LIMIT else POST)
        wrapper.setQuery(query)
        # SPARQLWrapper itself would follow redirects with the credentials and without the query of a POST
        made = wrapper._createRequest()
        headers = {**dict(made.header_items()), "Accept": accept, **headers}
        del headers["User-agent"]  # only headers= sets it
        return self.get(made.full_url, headers, (200, 304, 406), made.get_method(), made.data)

    def get(
        self, url: str, headers: Mapping[str, str], accepted: tuple[int, ...], *given: Any
    ) -> EndpointAnswer:
        """Read a document once; the answer has an accepted status."""
        with self.stream(url, headers, accepted, *given) as exchange:
            return EndpointAnswer(exchange.status, exchange.headers, exchange.read())

    def stream(
        self,
        url: str,
        headers: Mapping[str, str],
        accepted: tuple[int, ...],
        method: str = "GET",
        body: bytes | None = None,
    ) -> Exchange:
        """Open a possibly endless document once; the answer has an accepted status."""
        exchange = self._http.send(method, url, timeout=self._pace.silence, headers=headers, body=body)
        if exchange.status in accepted:
            return exchange
        fault = exchange.refusal()
        if fault.passes:
            raise fault
        advice = "" if exchange.status < 400 else f"; {_ADVICE.get(exchange.status, _CHECK)}"
        raise EndpointError(f"{without_query(url)}: {fault}{advice}")


def check_url(url: str, role: str) -> str:
    """Return an http(s) URL; raises `EndpointError` for other texts and for URLs with credentials."""
    parts = split_url(url)
    if parts is None:
        raise EndpointError(f"the {role} must be an http or https URL in ASCII, got {without_query(url)!r}")
    if "@" in parts.netloc:
        raise EndpointError(
            f"the {role} on {parts.hostname} contains credentials; pass them as auth=(user, password)"
        )
    return url


def conditions(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers of a conditional request for a document whose last answer had `headers`.

    Last-Modified is used only if the answer is at least one second younger: within the same second the
    document may have changed again (RFC 9110, section 8.8.2.2).
    """
    if etag := headers.get("ETag"):
        return {"If-None-Match": etag}
    modified, date = (read_date(headers.get(name, "")) for name in ("Last-Modified", "Date"))
    if modified and date and (date - modified).total_seconds() >= 1:
        return {"If-Modified-Since": headers["Last-Modified"]}
    return {}
