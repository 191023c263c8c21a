"""Deltas as HTTP requests to somebody else's server, each at least once."""

from __future__ import annotations

import hashlib
import hmac
import logging
import random
import ssl
import threading
import uuid
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC
from email.message import Message
from email.utils import parsedate_to_datetime
from http.client import HTTPException
from itertools import count
from time import monotonic, time
from typing import Final
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from rdflive.errors import RdfliveError
from rdflive.model import Delta
from rdflive.sinks.ndjson import to_ndjson

__all__ = ["WebhookError", "WebhookSink"]

log = logging.getLogger("rdflive")

_FIRST_PAUSE: Final = 0.5
_LONGEST_PAUSE: Final = 60.0
_PASSING: Final = frozenset({408, 425, 429})
"""The client errors that another try may mend."""
_SHOWN: Final = 200
"""Characters of a server's answer that are shown."""


class WebhookError(RdfliveError, OSError):
    """A delta could not be delivered: the server refused it, or did not take it in time."""


class WebhookSink:
    """Posts each delta to a URL as JSON (`to_ndjson`) and returns when the server has taken it (2xx).

    The header `Idempotency-Key` is the same whenever the same delta is sent: it is made of `name` and
    the delta's sequence. Give a `name` only to a subscription whose sequence goes on after a restart
    (`resume=`); by default it is new with each sink. With a `secret` the header `X-Rdflive-Signature` is
    `sha256=` and the hexadecimal HMAC-SHA-256 of the key, a dot and the body.

    What may pass (no connection, no answer within `timeout` seconds, 408, 425, 429, 5xx) is tried again,
    at first after half a second, then ever more seldom, or when `Retry-After` says, for up to `patience`
    seconds; the writer waits meanwhile. Then, and at once for any other answer, redirects included, it
    raises `WebhookError`. Raises ValueError for what is no URL of HTTP.

    >>> sink = WebhookSink("https://example.org/deltas", secret="a secret")
    >>> sink.close()
    """

    def __init__(
        self,
        url: str,
        *,
        name: str | None = None,
        secret: str | bytes | None = None,
        timeout: float = 10.0,
        patience: float = 600.0,
    ) -> None:
        self._url = _checked(url)
        self._name = uuid.uuid4().hex if name is None else name
        self._secret = secret.encode() if isinstance(secret, str) else secret
        self._timeout = timeout
        self._patience = patience
        self._opener = build_opener(_NoRedirects)
        self._closed = threading.Event()

    def __call__(self, delta: Delta) -> None:
        """Deliver one delta; blocks until the server has taken it."""
        request = self._request(delta)
        deadline = monotonic() + self._patience
        for attempt in count():
            fault = self._post(request)
            if fault is None:
                return
            pause = _pause(attempt) if fault.retry_after is None else fault.retry_after
            reason = fault.reason
            if fault.passes and monotonic() + pause > deadline:
                reason += f"; tried {attempt + 1} times in {self._patience:g} s"
            elif fault.passes:
                log.warning("%s: %s; trying again in %.1f s", self._url, reason, pause)
                if not self._closed.wait(pause):
                    continue
            raise WebhookError(f"{self._url}: delta {delta.sequence} was not delivered: {reason}")

    def close(self) -> None:
        """End the wait of a delivery that is not through yet; it fails."""
        self._closed.set()

    def _request(self, delta: Delta) -> Request:
        body = to_ndjson(delta).encode()
        key = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{self._name}\n{delta.sequence}"))
        headers = {"Content-Type": "application/json", "Idempotency-Key": key, "User-Agent": "rdflive"}
        if self._secret is not None:
            signature = hmac.new(self._secret, key.encode() + b"." + body, hashlib.sha256).hexdigest()
            headers["X-Rdflive-Signature"] = f"sha256={signature}"
        return Request(self._url, body, headers, method="POST")  # noqa: S310 - `_checked` has the scheme

    def _post(self, request: Request) -> _Fault | None:
        """Send the request once; say what went wrong."""
        try:
            self._opener.open(request, timeout=self._timeout).close()
        except HTTPError as error:
            with error:
                return _refusal(error)
        except (OSError, HTTPException) as error:
            reason = error.reason if isinstance(error, URLError) else error
            is_forged = isinstance(reason, ssl.SSLCertVerificationError)
            return _Fault(str(reason) or type(reason).__name__, passes=not is_forged)
        return None


@dataclass(frozen=True, slots=True)
class _Fault:
    """Why a request did not get through."""

    reason: str
    passes: bool
    """True where another try may succeed."""
    retry_after: float | None = None
    """Seconds that the server asks to wait."""


class _NoRedirects(HTTPRedirectHandler):
    """Follows no redirect: the standard library would turn the request into a GET without its body."""

    def redirect_request(self, *args: object) -> None:
        """Leave the answer as it is."""


def _refusal(error: HTTPError) -> _Fault:
    reason = f"{error.code} {error.reason}"
    if 300 <= error.code < 400:
        target = error.headers.get("Location", "nowhere")
        return _Fault(f"{reason}: it redirects to {_printable(target)}; give the URL itself", passes=False)
    with suppress(OSError, HTTPException):
        shown = _printable(error.read1(_SHOWN).decode(errors="replace"))
        reason += f": {shown}" if shown else ""
    passes = error.code >= 500 or error.code in _PASSING
    return _Fault(reason, passes, _retry_after(error.headers))


def _retry_after(headers: Message) -> float | None:
    """Read the header `Retry-After`: seconds, or a date."""
    text = headers.get("Retry-After", "").strip()
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        date = parsedate_to_datetime(text)
    except ValueError:
        return None
    return max(0.0, (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp() - time())


def _pause(attempt: int) -> float:
    """Give the seconds to wait: what doubles each time, less up to half, so that clients get out of step."""
    longest = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2.0 ** min(attempt, 10))
    return longest * random.uniform(0.5, 1.0)  # noqa: S311 - nobody gains by guessing it


def _printable(text: str) -> str:
    shown = "".join(char if char.isprintable() else " " for char in text[:_SHOWN])
    return " ".join(shown.split())


def _checked(url: str) -> str:
    try:
        parts = urlsplit(url)
        is_http = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_http = False
    if not is_http or not (url.isascii() and url.isprintable()) or " " in url:
        raise ValueError(
            f"a webhook needs the URL of a server, as https://example.org/path in ASCII, not {url!r}"
        )
    if parts.username is not None:
        raise ValueError(
            "the URL of a webhook must not hold a name and password; a secret signs the requests"
        )
    return url
