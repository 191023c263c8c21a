"""Deltas as HTTP requests to somebody else's server, each at least once."""

from __future__ import annotations

import hashlib
import hmac
import logging
import os
import uuid
from itertools import count
from time import monotonic
from typing import Final

from rdflive.delivery.resume import subscriber_token
from rdflive.errors import RdfliveError
from rdflive.http import Http, HttpFault, RetryPace, split_url
from rdflive.model import Delta
from rdflive.sinks.ndjson import to_ndjson

__all__ = ["WebhookError", "WebhookSink"]

log = logging.getLogger("rdflive")

_PACE: Final = RetryPace(first=0.5, longest=60.0)


class WebhookError(RdfliveError, OSError):
    """A delta could not be delivered: the server refused it, or did not take it in time."""


class WebhookSink:
    """Posts each delta to a URL as JSON (`to_ndjson`) and returns when the server has taken it (2xx).

    The header `Idempotency-Key` is the same whenever the same delta is sent, and never that of another
    one. It lasts beyond this sink when the subscription is resumed: then give `name` and `resume`, both
    as to `subscribe`. With a `secret` the header `X-Rdflive-Signature` is `sha256=` and the hexadecimal
    HMAC-SHA-256 of the key, a dot and the body.

    What may pass (no connection, no whole answer within `timeout` seconds, 408, 425, 429, 5xx) is tried
    again, at first after half a second, then ever more seldom, and not before `Retry-After` says, for up
    to `patience` seconds; the writer waits meanwhile. Then, and at once for any other answer, redirects
    included, it raises `WebhookError`; `ResumeError` where it cannot read the file of `resume`. Raises
    ValueError for what is no URL of HTTP.

    >>> sink = WebhookSink("https://example.org/deltas", secret="a secret")
    >>> sink.close()
    """

    def __init__(
        self,
        url: str,
        *,
        name: str | None = None,
        resume: str | os.PathLike[str] | None = None,
        secret: str | bytes | None = None,
        timeout: float = 10.0,
        patience: float = 600.0,
    ) -> None:
        self._url = _checked(url)
        self._keys = _keys(name, resume)
        self._secret = secret.encode() if isinstance(secret, str) else secret
        self._timeout = timeout
        self._patience = patience
        self._http = Http({"Content-Type": "application/json"}, proxies=True)

    def __call__(self, delta: Delta) -> None:
        """Deliver one delta; blocks until the server has taken it."""
        body = to_ndjson(delta).encode()
        headers = self._headers(delta, body)
        begun, most = monotonic(), self._timeout
        for tried in count(1):
            try:
                # `total` too: a server that sends a byte now and then is never silent for `timeout`
                with self._http.send(
                    "POST", self._url, timeout=most, total=most, headers=headers, body=body
                ) as answer:
                    if 200 <= answer.status < 300:
                        return
                    raise answer.refusal()
            except HttpFault as fault:
                if reason := self._wait(fault, tried, monotonic() - begun):
                    raise WebhookError(
                        f"{self._url}: delta {delta.sequence} was not delivered: {reason}"
                    ) from fault

    def close(self) -> None:
        """End a delivery that is not through yet, from any thread: it fails, and so does any later one."""
        self._http.close()

    def _wait(self, fault: HttpFault, tried: int, spent: float) -> str:
        """Wait before another try, or say why there is none."""
        if self._http.closed.is_set() or not fault.passes:
            return str(fault)
        pause = _PACE.pause(tried, fault.retry_after)
        # refused before the wait, behind which no time would be left
        if spent + pause > self._patience:
            return (
                f"{fault}; tried {tried} times in {spent:.1f} s; the next time would be in {pause:.1f} s, "
                f"past the patience of {self._patience:g} s"
            )
        log.warning("%s: %s; trying again in %.1f s", self._url, fault, pause)
        return str(fault) if self._http.closed.wait(pause) else ""

    def _headers(self, delta: Delta, body: bytes) -> dict[str, str]:
        key = self._keys.key(delta.sequence, body)
        headers = {"Idempotency-Key": key}
        if self._secret is not None:
            # of the key as well: else a body could be sent again under another key, as another delta
            signature = hmac.new(self._secret, key.encode() + b"." + body, hashlib.sha256).hexdigest()
            headers["X-Rdflive-Signature"] = f"sha256={signature}"
        return headers


class _ResumedKeys:
    """The keys of a resumed subscriber, made of its word in the file and the number of the delta.

    The text of the delta is left out: its rows may come in another order after a restart.
    """

    def __init__(self, name: str, resume: str | os.PathLike[str]) -> None:
        self._name = name
        # the process may change its folder before the first delta
        self._path = os.path.abspath(os.fsdecode(resume))
        self._word = ""

    def key(self, sequence: int, _: bytes) -> str:
        if sequence == 1 or not self._word:  # in a new file it counts from 1 again, and has a new word
            self._word = subscriber_token(self._path, self._name)
        return _key(self._word, str(sequence))


class _OwnKeys:
    """The keys of one sink, made of the text too: after a resync the same number is that of two deltas."""

    def __init__(self) -> None:
        self._word = uuid.uuid4().hex

    def key(self, sequence: int, body: bytes) -> str:
        return _key(self._word, str(sequence), hashlib.sha256(body).hexdigest())


def _keys(name: str | None, resume: str | os.PathLike[str] | None) -> _ResumedKeys | _OwnKeys:
    if name and resume is not None:
        return _ResumedKeys(name, resume)
    if name is None and resume is None:
        return _OwnKeys()
    raise ValueError(
        f"a webhook takes name and resume, both those of the subscription, together or not at all: got "
        f"name={name!r} and resume={resume!r}"
    )


def _key(*parts: str) -> str:
    # receivers remember keys, also those of earlier versions: this must stay as it is
    return str(uuid.uuid5(uuid.NAMESPACE_URL, "\n".join(parts)))


def _checked(url: str) -> str:
    parts = split_url(url)
    if parts is None:
        raise ValueError(
            f"a webhook needs the URL of a server, as https://example.org/path in ASCII, not {url!r}"
        )
    if parts.username is not None:
        raise ValueError(
            "the URL of a webhook must not hold a name and password; a secret signs the requests"
        )
    return url
