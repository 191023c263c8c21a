"""Failed HTTP responses, and the wait before the next try."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final

__all__ = [
    "HttpFault",
    "RetryPace",
    "may_pass",
    "media_type",
    "problem_of",
    "read_date",
    "refusal",
    "retry_after",
    "shown",
    "without_query",
]

_PASSING: Final = frozenset({408, 425, 429})
"""The client errors after which another try may succeed."""
_SHOWN: Final = 300


class HttpFault(Exception):  # noqa: N818 - the sender turns it into an error
    """No usable response came; the message gives the reason on one line."""

    def __init__(self, reason: str, *, passes: bool = True, retry_after: float = 0.0) -> None:
        super().__init__(reason)
        self.passes = passes
        """True if another try may succeed."""
        self.retry_after = retry_after
        """Seconds that the server requests as a wait; 0 without a `Retry-After`."""


@dataclass(frozen=True, slots=True)
class RetryPace:
    """The longest silence of a server, and the wait between two tries, in seconds.

    >>> 0.1 <= RetryPace().pause(1) <= 0.2, RetryPace().pause(1, asked=7.0)
    (True, 7.0)
    """

    silence: float = 45.0
    """The longest silence of a server; a server of rdflive sends a heartbeat every 15 seconds."""
    first: float = 0.2
    """The wait before the first try; each further wait is twice as long."""
    longest: float = 10.0

    def pause(self, tries: int, asked: float = 0.0) -> float:
        """Return the wait before a try, counted from 1; `asked` is the server's minimum.

        A random part, up to half, is left out, so that the clients of a server do not all return at once.
        """
        wait = min(self.longest, self.first * 2.0 ** min(tries - 1, 30))
        return max(asked, wait * random.uniform(0.5, 1.0))  # noqa: S311 - no secret


def refusal(status: int, headers: Mapping[str, str], text: str) -> HttpFault:
    """Return the fault of a response without a status of success; `text` is its body.

    >>> str(refusal(302, {"Location": "http://e/"}, ""))
    'HTTP 302: a redirect to http://e/; if you trust that server, give its URL'
    """
    if 300 <= status < 400:
        place = shown(without_query(headers.get("Location", "nowhere")))
        text = f"a redirect to {place}; if you trust that server, give its URL"
    reason = f"HTTP {status}" + (f": {text}" if text else "")
    return HttpFault(reason, passes=may_pass(status), retry_after=retry_after(headers))


def without_query(url: str) -> str:
    """Return a URL for a message: without its query, which may contain a key.

    >>> without_query("http://e/sparql?apikey=secret")
    'http://e/sparql'
    """
    return url.partition("?")[0]


def may_pass(status: int) -> bool:
    """Return True if the same request may get another status later."""
    return status >= 500 or status in _PASSING


def retry_after(headers: Mapping[str, str]) -> float:
    """Return the seconds of the header `Retry-After`, which has seconds or a date; 0 for anything else."""
    text = headers.get("Retry-After", "").strip()
    now = datetime.now(UTC)
    is_number = text.isascii() and text.isdigit()
    seconds = float(text) if is_number else ((read_date(text) or now) - now).total_seconds()
    # a wait beyond TIMEOUT_MAX is an OverflowError
    return min(max(0.0, seconds), threading.TIMEOUT_MAX)


def read_date(text: str) -> datetime | None:
    """Return an HTTP date; None if the text has another form."""
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)


def media_type(headers: Mapping[str, str]) -> str:
    """Return the media type of a body without its parameters; `text/plain` if the headers name none."""
    return headers.get("Content-Type", "text/plain").partition(";")[0].strip().lower()


def problem_of(headers: Mapping[str, str], body: bytes) -> Mapping[str, Any]:
    """Return the members of a problem document (RFC 9457); none for another or a malformed body.

    >>> problem_of({"Content-Type": "application/problem+json"}, b'{"detail": "no token"}')["detail"]
    'no token'
    """
    if media_type(headers) != "application/problem+json":
        return {}
    try:
        problem = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return problem if isinstance(problem, dict) else {}


def shown(text: str | bytes) -> str:
    """Return a server's text as one short line without control characters, for a message."""
    # a body may be long, so it is cut first; to four times the length, as joining white space shortens it
    start = text[: 4 * _SHOWN]
    start = start.decode(errors="replace") if isinstance(start, bytes) else start
    return " ".join("".join(char if char.isprintable() else " " for char in start).split())[:_SHOWN]
