"""What an answer means that was not asked for, and when to ask again."""

from __future__ import annotations

import random
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

__all__ = ["HttpFault", "RetryPace", "may_pass", "media_type", "read_date", "refusal", "retry_after", "shown"]

_PASSING: Final = frozenset({408, 425, 429})
"""The client errors that another try may mend."""
_SHOWN: Final = 300


class HttpFault(Exception):  # noqa: N818 - whoever sends makes an error of it
    """No answer came, or none that can be used: why, on one line."""

    def __init__(self, reason: str, *, passes: bool = True, retry_after: float = 0.0) -> None:
        super().__init__(reason)
        self.passes = passes
        """Whether another try may succeed."""
        self.retry_after = retry_after
        """Seconds that the server asks to wait; 0 where it does not say."""


@dataclass(frozen=True, slots=True)
class RetryPace:
    """How long a silent server is waited for, and how long between two tries, in seconds.

    >>> 0.1 <= RetryPace().pause(1) <= 0.2, RetryPace().pause(1, asked=7.0)
    (True, 7.0)
    """

    silence: float = 45.0
    """How long a server may say nothing; that of rdflive sends a heartbeat every 15 seconds."""
    first: float = 0.2
    """The wait before the first try, which then doubles."""
    longest: float = 10.0

    def pause(self, tries: int, asked: float = 0.0) -> float:
        """Give the wait before a try, counted from 1; `asked` is what the server wants at least.

        Up to half of it is left out at random, so that not all clients of a server come back at once.
        """
        wait = min(self.longest, self.first * 2.0 ** min(tries - 1, 30))
        return max(asked, wait * random.uniform(0.5, 1.0))  # noqa: S311 - no secret


def refusal(status: int, headers: Mapping[str, str], text: str) -> HttpFault:
    """Make the fault of an answer whose status is none of success; `text` is what it says.

    >>> str(refusal(302, {"Location": "http://e/"}, ""))
    'HTTP 302: a redirect to http://e/; if you trust that server, give its URL'
    """
    if 300 <= status < 400:
        place = shown(headers.get("Location", "nowhere"))
        text = f"a redirect to {place}; if you trust that server, give its URL"
    reason = f"HTTP {status}" + (f": {text}" if text else "")
    return HttpFault(reason, passes=may_pass(status), retry_after=retry_after(headers))


def may_pass(status: int) -> bool:
    """Tell whether a request that got this status may get another one later."""
    return status >= 500 or status in _PASSING


def retry_after(headers: Mapping[str, str]) -> float:
    """Read the header `Retry-After`, seconds or a date; 0 for what is neither."""
    text = headers.get("Retry-After", "").strip()
    now = datetime.now(UTC)
    is_number = text.isascii() and text.isdigit()
    seconds = float(text) if is_number else ((read_date(text) or now) - now).total_seconds()
    # a wait beyond TIMEOUT_MAX is an OverflowError
    return min(max(0.0, seconds), threading.TIMEOUT_MAX)


def read_date(text: str) -> datetime | None:
    """Read a date of HTTP; None for what is none."""
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)


def media_type(headers: Mapping[str, str]) -> str:
    """Give the media type of a body without its parameters; plain text where none is given."""
    return headers.get("Content-Type", "text/plain").partition(";")[0].strip().lower()


def shown(text: str | bytes) -> str:
    """Make a text of a server fit for a message: one line, not long, and nothing that moves a cursor."""
    # cut before it is cleaned: a body may be long; four times as much, as white space is joined
    start = text[: 4 * _SHOWN]
    start = start.decode(errors="replace") if isinstance(start, bytes) else start
    return " ".join("".join(char if char.isprintable() else " " for char in start).split())[:_SHOWN]
